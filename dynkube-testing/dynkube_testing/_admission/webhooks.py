"""Webhooks: which ones are called for a request, and what is sent to them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from dynkube_testing._admission.expressions import Expressions, Failed, Scope, requested_resource
from dynkube_testing._admission.matching import GROUP, Matcher, as_kind, is_exempt
from dynkube_testing._admission.requests import admission_request
from dynkube_testing._admission.rounds import Rounds
from dynkube_testing._admission.webhook_responses import CallFailed, Rejected, read_response
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.webhook_calls import WebhookAnswer, WebhookCall, webhook_call
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._patching.jsonpatch import NotApplicable, TooMuchWork, json_patched
from dynkube_testing._schemas.cel.errors import CannotEvaluate
from dynkube_testing._verbs.admission import Attributes

MUTATING = f"mutatingwebhookconfigurations.{GROUP}"
VALIDATING = f"validatingwebhookconfigurations.{GROUP}"
_VERSIONS = ("v1", "v1beta1")


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

    def mutating(self, attributes: Attributes) -> Rounds[JSONObject] | None:
        """Return the calls of mutating webhooks, one after the other; ``None`` if there are none.

        They raise :class:`AnswersNeeded` if a webhook must be called, and :class:`APIError` if one rejects the request,
        or cannot be called.
        """
        hooks = list(enumerate(self._configured(attributes, MUTATING)))
        return Rounds(lambda _: hooks, self._mutated, _is_reinvoked) if hooks else None

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

    def _mutated(self, hook: JSONObject, attributes: Attributes) -> Attributes | None:
        """Call one webhook, and return the request with the changed object; ``None`` if it does not match."""
        found = self.invocation(attributes, hook)
        if found is None:
            return None
        if not _allows_dry_run(attributes, found):
            raise _dry_run_unsupported(found)
        (answer,) = _answers(attributes, _call(attributes, found))
        try:
            patch = read_response(found.name, answer, mutating=True, warnings=attributes.call.warnings)
        except Rejected as rejection:
            raise rejection.error from None
        except CallFailed as failure:
            if found.ignores_failures:
                return attributes
            raise refuse.internal(str(failure)) from None
        if not patch:
            return attributes
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
        return replace(attributes, obj=obj)

    def _conditions_met(self, attributes: Attributes, found: _Invocation, conditions: list[JSONObject]) -> bool:
        request = admission_request(attributes, found.kind)
        variables = {
            "object": attributes.obj and as_kind(attributes.obj, attributes.kind, found.kind),
            "oldObject": attributes.old and as_kind(attributes.old, attributes.kind, found.kind),
            "request": request,
            "params": None,
        }
        scope = Scope(variables, attributes.call.user, requested_resource(request)).bare()
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


def _is_reinvoked(webhook: JSONObject) -> bool:
    return bool(webhook.get("reinvocationPolicy") == "IfNeeded")


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
