"""Access reviews and token reviews (SubjectAccessReview, TokenReview and so on).

They are evaluated on creation and never stored. ``kubectl auth can-i`` and ``kubectl auth whoami`` use them, as do
operators at startup and aggregated API servers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dynkube.errors import StatusCause
from dynkube_testing._access.attributes import Attributes, Authorizer
from dynkube_testing._access.authentication import Authenticator
from dynkube_testing._access.rules import write_rule
from dynkube_testing._access.tokens import InvalidToken
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, JSONObject
from dynkube_testing._calls.causes import bad_value
from dynkube_testing._calls.users import User

_ATTRIBUTES = ("resourceAttributes", "nonResourceAttributes")


class Reviews:
    """Evaluates reviews with the authenticator and authorizer of the server.

    Args:
        authenticator: Verifies tokens.
        authorizer: Decides on access.
        timestamp: Returns the current time in the format of ``creationTimestamp``.
    """

    def __init__(self, authenticator: Authenticator, authorizer: Authorizer, timestamp: Callable[[], str]) -> None:
        self._authenticator = authenticator
        self._authorizer = authorizer
        self._timestamp = timestamp
        self._answers: Mapping[str, Callable[[Call, JSONObject], JSONObject]] = {
            "selfsubjectreviews.authentication.k8s.io": self._who_am_i,
            "tokenreviews.authentication.k8s.io": self._token,
            "selfsubjectaccessreviews.authorization.k8s.io": self._own_access,
            "subjectaccessreviews.authorization.k8s.io": self._access,
            "localsubjectaccessreviews.authorization.k8s.io": self._local_access,
            "selfsubjectrulesreviews.authorization.k8s.io": self._rules,
        }

    @property
    def storage_groups(self) -> tuple[str, ...]:
        """The storage groups of the review resources."""
        return tuple(self._answers)

    def answer(self, call: Call) -> JSONObject:
        """Evaluate the review in the body of ``call``, and return it with its status.

        Raises:
            BadRequest: The body has another kind, or lacks a required field.
            Invalid: The spec is invalid, for example contradictory.
        """
        body = dict(call.body) if isinstance(call.body, dict) else {}
        kind = call.kind
        for field, expected in (("apiVersion", kind.api_version), ("kind", kind.kind)):
            if (given := body.get(field) or expected) != expected:
                raise refuse.other_kind(kind, field, given)
        spec = body.get("spec") or {}
        if not isinstance(spec, dict):
            raise refuse.bad_request(f"the spec of a {kind.kind} is an object, and the body has {spec!r}")
        answered = self._answers[kind.storage_group](call, spec)
        metadata = answered.pop("metadata", body.get("metadata") or {})
        typed = {"kind": kind.kind, "apiVersion": kind.api_version, "metadata": metadata}
        return {**typed, **({"spec": spec} if spec else {}), **answered}

    # ── authentication ────────────────────────────────────────────────────────────────────

    def _who_am_i(self, call: Call, spec: JSONObject) -> JSONObject:
        return {"metadata": {"creationTimestamp": self._timestamp()}, "status": {"userInfo": call.user.info}}

    def _token(self, call: Call, spec: JSONObject) -> JSONObject:
        token, audiences = spec.get("token"), spec.get("audiences") or ()
        if not isinstance(token, str) or not token:
            raise refuse.bad_request("token is required for TokenReview in authentication")
        try:
            verified = self._authenticator.verify(token, audiences)
        except InvalidToken as error:
            wrong = "invalid bearer token"
            message = wrong if str(error) == wrong else f"[{wrong}, {error}]"
            return {"status": {"user": {}, "error": message}}
        status = {"authenticated": True, "user": verified.user.info, "audiences": list(verified.audiences)}
        return {"status": status}

    # ── authorization ─────────────────────────────────────────────────────────────────────

    def _own_access(self, call: Call, spec: JSONObject) -> JSONObject:
        return self._decide(call.user, spec)

    def _access(self, call: Call, spec: JSONObject) -> JSONObject:
        user = _subject(spec)
        if not user.name and not user.groups:
            raise _invalid(bad_value("spec.user", "", "at least one of user or group must be specified"))
        return self._decide(user, spec)

    def _local_access(self, call: Call, spec: JSONObject) -> JSONObject:
        if other := spec.get("nonResourceAttributes"):
            shown = {"Path": other.get("path", ""), "Verb": other.get("verb", "")}
            raise _invalid(bad_value("spec.nonResourceAttributes", shown, "disallowed on this kind of request"))
        namespace = (spec.get("resourceAttributes") or {}).get("namespace", "")
        if namespace != call.namespace:
            field = "spec.resourceAttributes.namespace"
            raise _invalid(bad_value(field, namespace, "must match metadata.namespace"))
        return self._access(call, spec)

    def _decide(self, user: User, spec: JSONObject) -> JSONObject:
        about, other = (spec.get(field) for field in _ATTRIBUTES)
        if about and other:
            shown = {"Path": other.get("path", ""), "Verb": other.get("verb", "")}
            detail = "cannot be specified in combination with resourceAttributes"
            raise _invalid(bad_value("spec.nonResourceAttributes", shown, detail))
        if not isinstance(about, dict) and not isinstance(other, dict):
            detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified"
            raise _invalid(bad_value("spec.resourceAttributes", None, detail))
        decision = self._authorizer.decide(_attributes(user, about, other or {}))
        reason = {"reason": decision.reason} if decision.reason else {}
        return {"status": {"allowed": decision.allowed, **reason}}

    def _rules(self, call: Call, spec: JSONObject) -> JSONObject:
        namespace = spec.get("namespace")
        if not namespace:
            raise refuse.bad_request("no namespace on request")
        rules, error = self._authorizer.rules_for(call.user, namespace)
        status: JSONObject = {
            "resourceRules": [write_rule(rule) for rule in rules if rule.resources],
            "nonResourceRules": [write_rule(rule) for rule in rules if rule.urls],
            "incomplete": bool(error),
        }
        if error:
            status["evaluationError"] = error
        return {"spec": {}, "status": status}


def _subject(spec: JSONObject) -> User:
    extra = {key: tuple(values) for key, values in (spec.get("extra") or {}).items()}
    return User(spec.get("user") or "", tuple(spec.get("groups") or ()), spec.get("uid") or "", extra)


def _attributes(user: User, about: JSONObject | None, other: JSONObject) -> Attributes:
    if not about:
        return Attributes(user=user, verb=other.get("verb") or "", path=other.get("path") or "")
    return Attributes(
        user=user,
        verb=about.get("verb") or "",
        group=about.get("group") or "",
        # A review without a resource is about all resources.
        resource=about.get("resource") or "*",
        subresource=about.get("subresource") or "",
        name=about.get("name") or "",
        namespace=about.get("namespace") or "",
    )


def _invalid(cause: StatusCause) -> Exception:
    # As in a real server, it has no kind.
    return refuse.invalid_object("authorization.k8s.io", "", "", [cause])
