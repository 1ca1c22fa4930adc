"""Access and identity reviews: objects that are answered and never stored.

The embedded server lets everybody do everything, so the answers are short. They are here because clients ask:
``kubectl auth can-i``, ``kubectl auth whoami``, and operators at start.
"""

from __future__ import annotations

from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import Call, JSONObject
from dynkube.testing._kinds.kinds import Kind

_GROUPS = {"authentication.k8s.io", "authorization.k8s.io"}
_ALLOWED = {"allowed": True, "reason": "the embedded API server allows everything"}
_RULES = {
    "resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
    "incomplete": False,
}


def is_review(kind: Kind) -> bool:
    """Whether objects of ``kind`` are questions rather than things."""
    return kind.gvr.group in _GROUPS and kind.crd_uid is None


def answer_review(call: Call) -> JSONObject:
    """The review of ``call`` with its status filled in.

    Raises:
        APIError: 400, the body is an object of some other kind.
    """
    body = dict(call.body) if isinstance(call.body, dict) else {}
    wanted = {"apiVersion": call.kind.api_version, "kind": call.kind.kind}
    for name, value in wanted.items():
        if body.get(name, value) != value:
            raise refuse.bad_request(f"{name} in the body is {body[name]!r}, and this path takes {value!r}")
    metadata = {"creationTimestamp": None, **(body.get("metadata") or {})}
    return {**body, **wanted, "metadata": metadata, "status": _status(call, body)}


def _status(call: Call, body: JSONObject) -> JSONObject:
    user = {"username": call.user, "groups": ["system:masters", "system:authenticated"]}
    match call.kind.kind:
        case "SelfSubjectReview":
            return {"userInfo": user}
        case "TokenReview":
            spec = body.get("spec")
            token = spec.get("token") if isinstance(spec, dict) else None
            return {"authenticated": True, "user": user} if token else {"error": "spec.token is empty"}
        case "SelfSubjectRulesReview":
            return dict(_RULES)
        case _:
            return dict(_ALLOWED)
