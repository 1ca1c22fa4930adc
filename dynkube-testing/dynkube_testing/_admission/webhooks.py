"""Webhooks: which ones are called for a request, and what is sent to them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from dynkube_testing._admission.expressions import Expressions, Failed, Scope, requested_resource
from dynkube_testing._admission.matching import GROUP, Matcher, as_kind, is_exempt
from dynkube_testing._admission.requests import admission_request
from dynkube_testing._admission.webhook_responses import CallFailed, Rejected, read_response
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.webhook_calls import WebhookAnswer, WebhookCall, webhook_call
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._patching.jsonpatch import NotApplicable, TooMuchWork, json_patched
from dynkube_testing._schemas.cel.errors import CannotEvaluate
from dynkube_testing._schemas.correlation import same_json
from dynkube_testing._verbs.admission import Attributes

MUTATING = f"mutatingwebhookconfigurations.{GROUP}"
VALIDATING = f"validatingwebhookconfigurations.{GROUP}"
_VERSIONS = ("v1", "v1beta1")
# What a real server sets only after the mutating webhooks were called.
_SET_LATER = ("uid", "creationTimestamp", "generation")


@dataclass(frozen=True, slots=True)
class _Invocation:
    """A webhook that is called for a request, which it sees as ``kind``."""

    webhook: JSONObject
    kind: Kind

    @property
    def name(self) -> str:
        return str(self.webhook["name"])

    @property
    def ignores_failures(self) -> bool:
        return bool(self.webhook.get("failurePolicy") == "Ignore")


@dataclass(frozen=True, slots=True)
class Webhooks:
    """Selects and calls webhooks.

    Calls without ``webhooks``, those of the server's synchronous methods, call none.
    """

    matcher: Matcher
    expressions: Expressions

    def mutate(self, attributes: Attributes, mutate_again: Callable[[Attributes], None]) -> JSONObject | None:
        """Call the mutating webhooks one after the other, and apply their patches.

        If one has changed the object, ``mutate_again`` lets the other plugins change it once more, and those webhooks
        are called again that ask for it (``reinvocationPolicy``).

        Returns:
            The changed object; ``None`` if nothing has changed.

        Raises:
            AnswersNeeded: A webhook must be called.
            APIError: A webhook rejects the request, or cannot be called.
        """
        hooks = list(self._configured(attributes, MUTATING))
        if not hooks:
            return None
        rounds = _Rounds(self, _as_sent(attributes))
        rounds.call(hooks)
        if rounds.changed:
            mutate_again(rounds.attributes)
            rounds.call_again(hooks)
        if not rounds.changed or attributes.obj is None:
            return None
        return _with_system_fields(rounds.attributes.new, attributes.obj)

    def validate(self, attributes: Attributes) -> None:
        """Call all validating webhooks that match.

        Raises:
            AnswersNeeded: Webhooks must be called.
            APIError: A webhook rejects the request, or cannot be called; the first one's error.
        """
        hooks = list(self._configured(attributes, VALIDATING))
        invocations = [found for hook in hooks if (found := self.invocation(attributes, hook)) is not None]
        if not invocations:
            return
        problems = []
        calls: list[tuple[_Invocation, WebhookCall]] = []
        for each in invocations:
            if not _allows_dry_run(attributes, each):
                problems.append(_dry_run_unsupported(each))
            else:
                calls.append((each, _call(attributes, each)))
        for (each, _), answer in zip(calls, _answers(attributes, *(call for _, call in calls)), strict=True):
            try:
                read_response(each.name, answer, mutating=False, warnings=attributes.call.warnings)
            except Rejected as rejection:
                problems.append(rejection.error)
            except CallFailed as failure:
                problems += [] if each.ignores_failures else [refuse.internal(str(failure))]
        if problems:
            raise problems[0]

    def _configured(self, attributes: Attributes, group: str) -> Iterator[JSONObject]:
        if attributes.call.webhooks is None or is_exempt(attributes):
            return
        for configuration in self.matcher.objects.all(attributes.storage, group):
            yield from configuration.get("webhooks") or ()

    def invocation(self, attributes: Attributes, webhook: JSONObject) -> _Invocation | None:
        """Return the call of a webhook for a request; ``None`` if it does not match.

        Raises:
            Forbidden: A match condition results in an error, and the webhook's failure policy is ``Fail``.
        """
        if not self.matcher.selects(attributes, webhook):
            return None
        equivalent = webhook.get("matchPolicy", "Equivalent") == "Equivalent"
        kind = self.matcher.ruled(attributes, webhook.get("rules") or (), equivalent=equivalent)
        if kind is None:
            return None
        found = _Invocation(webhook, kind)
        conditions = webhook.get("matchConditions")
        return found if not conditions or self._conditions_met(attributes, found, conditions) else None

    def _conditions_met(self, attributes: Attributes, found: _Invocation, conditions: list[JSONObject]) -> bool:
        request = admission_request(attributes, found.kind)
        variables = {
            "object": attributes.obj and as_kind(attributes.obj, attributes.kind, found.kind),
            "oldObject": attributes.old and as_kind(attributes.old, attributes.kind, found.kind),
            "request": request,
            "namespaceObject": None,
            "params": None,
        }
        scope = Scope(variables, attributes.call.user, requested_resource(request))
        try:
            return self.expressions.conditions_met(conditions, scope)
        except Failed as problem:
            if found.ignores_failures:
                return False
            raise refuse.forbidden(attributes.kind, attributes.name, str(problem)) from None
        except CannotEvaluate as problem:
            attributes.call.warnings.append(
                f'match conditions of the webhook "{found.name}" were not checked: {problem}'
            )
            return True


class _Rounds:
    """The object while mutating webhooks are called, in one round or two."""

    def __init__(self, webhooks: Webhooks, attributes: Attributes) -> None:
        self._webhooks = webhooks
        self.attributes = attributes
        self.changed = False
        self._last = attributes.obj
        self._eligible: list[int] = []  # called, and to be called again if the object changes afterwards
        self._again: set[int] = set()

    def call(self, hooks: list[JSONObject], *, only: set[int] | None = None) -> None:
        for index, hook in enumerate(hooks):
            found = self._webhooks.invocation(self.attributes, hook)
            if found is None or (only is not None and index not in only):
                continue
            if self._call(found):
                self.changed = True
                self._again |= set(self._eligible)
                self._eligible.clear()
            if hook.get("reinvocationPolicy") == "IfNeeded":
                self._eligible.append(index)
        self._last = self.attributes.obj

    def call_again(self, hooks: list[JSONObject]) -> None:
        if not same_json(self._last, self.attributes.obj):
            self._again |= set(self._eligible)
        self.call(hooks, only=set(self._again))

    def _call(self, found: _Invocation) -> bool:
        """Call one webhook; return whether it has changed the object."""
        attributes = self.attributes
        if not _allows_dry_run(attributes, found):
            raise _dry_run_unsupported(found)
        (answer,) = _answers(attributes, _call(attributes, found))
        try:
            patch = read_response(found.name, answer, mutating=True, warnings=attributes.call.warnings)
        except Rejected as rejection:
            raise rejection.error from None
        except CallFailed as failure:
            if found.ignores_failures:
                return False
            raise refuse.internal(str(failure)) from None
        if not patch:
            return False
        if attributes.obj is None:
            what = "attempted to modify the object, which is not supported for this operation"
            raise refuse.internal(f'admission webhook "{found.name}" {what}')
        shown = as_kind(attributes.obj, attributes.kind, found.kind)
        try:
            patched = json_patched(shown, patch)
        except (NotApplicable, TooMuchWork) as problem:
            raise refuse.internal(str(problem)) from None
        if not isinstance(patched, dict):
            raise refuse.internal("Object 'Kind' is missing in 'null'")
        obj = attributes.read_again(as_kind(patched, found.kind, attributes.kind))
        self.attributes = replace(attributes, obj=obj)
        return not same_json(attributes.obj, obj)


def _answers(attributes: Attributes, *calls: WebhookCall) -> list[WebhookAnswer]:
    known = attributes.call.webhooks
    return known.all(*calls) if known is not None and calls else []


def _allows_dry_run(attributes: Attributes, found: _Invocation) -> bool:
    return not attributes.dry_run or found.webhook.get("sideEffects") in {"None", "NoneOnDryRun"}


def _dry_run_unsupported(found: _Invocation) -> Exception:
    return refuse.bad_request(f'admission webhook "{found.name}" does not support dry run')


def _call(attributes: Attributes, found: _Invocation) -> WebhookCall:
    """Return the request to a webhook."""
    webhook, kind = found.webhook, found.kind
    version = next((each for each in webhook.get("admissionReviewVersions") or () if each in _VERSIONS), "v1")
    request = admission_request(attributes, kind)
    objects = {
        "object": attributes.obj and as_kind(attributes.obj, attributes.kind, kind),
        "oldObject": attributes.old and as_kind(attributes.old, attributes.kind, kind),
    }
    review = {
        "kind": "AdmissionReview",
        "apiVersion": f"admission.k8s.io/{version}",
        "request": {"uid": "", **request, **objects},
    }
    return webhook_call(webhook.get("clientConfig") or {}, webhook.get("timeoutSeconds") or 10, review)


def _as_sent(attributes: Attributes) -> Attributes:
    """Return the attributes without what a real server sets only after the mutating webhooks."""
    if attributes.obj is None or attributes.operation != "CREATE" or attributes.subresource:
        return attributes
    obj = attributes.obj
    hidden = {*_SET_LATER, *(("name",) if attributes.unnamed else ())}
    metadata = {name: value for name, value in obj["metadata"].items() if name not in hidden}
    return replace(attributes, obj={**obj, "metadata": metadata})


def _with_system_fields(changed: JSONObject, obj: JSONObject) -> JSONObject:
    """Return a changed object with the fields that webhooks do not see or cannot change."""
    before = obj["metadata"]
    kept = {name: before[name] for name in (*_SET_LATER, "managedFields") if name in before}
    named = {} if changed["metadata"].get("name") else {"name": before.get("name", "")}
    metadata = {name: value for name, value in changed["metadata"].items() if name != "managedFields"}
    return {**changed, "metadata": {**metadata, **named, **kept}}
