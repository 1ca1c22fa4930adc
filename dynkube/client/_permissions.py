"""``whoami`` and ``auth_can_i``: self-subject reviews."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

from dynkube._displayable import Displayable
from dynkube._text.tables import printable
from dynkube.client._client import APIClient
from dynkube.client._deadline import Deadline
from dynkube.client._objects import namespace_of_many, namespace_of_one
from dynkube.client._options import check_timeout
from dynkube.client._virtual_resources import CONSTRAINED, virtual_resources
from dynkube.discovery import APIResource, ResourceLike
from dynkube.errors import InvalidInput, InvalidObject, NoMatch, ProtocolError, WrongScope
from dynkube.meta import GVR, ResourceArg, Unstructured
from dynkube.meta._path import resource_path

_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_WHO: Final = "selfsubjectreviews.authentication.k8s.io"
_VERBS: Final = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection")
# Verbs known only to authorization: roles, certificates, impersonation, policies (API docs, "Request verbs").
_SPECIAL: Final = ("use", "bind", "escalate", "impersonate", "approve", "sign", "attest", "*")
_OF_PATHS: Final = ("get", "put", "post", "head", "options", "delete", "patch", "*")
_OTHER_WORDS: Final = {"apply": "patch", "edit": "update", "read": "get", "write": "update", "remove": "delete"}
_EVERYWHERE: Final = frozenset({"list", "watch"})  # without a namespace these mean all namespaces


@dataclass(frozen=True, slots=True, kw_only=True)
class UserInfo(Displayable):
    """The user as whom the server authenticates the client.

    With impersonation, this is the impersonated user.

    Attributes:
        username: the user name, as in RBAC rules. ``str()`` returns it.
        uid: distinguishes users of the same name over time; often empty.
        groups: the groups of the user, as in RBAC rules.
        extra: further attributes set by the authenticator.
    """

    username: str
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.username


@dataclass(frozen=True, slots=True, kw_only=True)
class Permission(Displayable):
    """Whether the user is allowed to do something: true or false, with the reason.

    Attributes:
        allowed: the result. ``bool()`` returns it.
        action: what was checked: ``"list pods in namespace shop"``.
        reason: the server's reason, such as the role binding that allows it; often empty if it is denied.
        evaluation_error: an error that prevented the server from evaluating all rules, so that ``allowed`` may be
            wrongly false; ``""`` if there was none.
    """

    allowed: bool
    action: str
    reason: str = ""
    evaluation_error: str = ""

    def __bool__(self) -> bool:
        return self.allowed

    def __str__(self) -> str:
        because = "; ".join(filter(None, (self.reason, self.evaluation_error)))
        return printable(f"{'yes' if self.allowed else 'no'}: {self.action}" + (f" ({because})" if because else ""))


async def whoami(api: APIClient, timeout: float | None) -> UserInfo:
    """Send a SelfSubjectReview.

    Raises:
        NoMatch: the server is too old to support it.
    """
    check_timeout(timeout)
    deadline = Deadline.after(timeout)
    try:
        found = await api.resource(_WHO).resolve(timeout=timeout)
    except NoMatch as exc:
        version = await api.server_version(timeout=deadline.left())
        raise NoMatch(
            f"the server ({version}) does not serve SelfSubjectReview: whoami() requires Kubernetes 1.28 or later"
        ) from exc
    answer = await _review(
        api, resource_path(found.gvr), found.gvr.api_version, "SelfSubjectReview", {}, deadline.left()
    )
    user = _mapping(_mapping(answer.get("status")).get("userInfo"))
    return UserInfo(
        username=str(user.get("username", "")),
        uid=str(user.get("uid", "")),
        groups=tuple(user.get("groups") or ()),
        extra={key: tuple(values) for key, values in _mapping(user.get("extra")).items()},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The arguments of one ``auth_can_i`` call."""

    verb: str
    resource: ResourceLike
    namespace: str | None = None
    name: str | None = None
    subresource: str | None = None

    def __post_init__(self) -> None:
        for what, text in (("verb", self.verb), ("name", self.name), ("subresource", self.subresource)):
            if not (isinstance(text, str) and text) and (text is not None or what == "verb"):
                raise InvalidInput(f"{what} is {text!r}: pass a string that is not empty")


async def can(api: APIClient, question: Question, timeout: float | None) -> Permission:
    """Send a SelfSubjectAccessReview."""
    check_timeout(timeout)
    deadline = Deadline.after(timeout)
    if isinstance(question.resource, str) and question.resource.startswith("/"):
        attributes, action = _about_path(question, question.resource)
        spec = {"nonResourceAttributes": attributes}
    else:
        attributes, action = await _about_resource(api, question, timeout)
        spec = {"resourceAttributes": attributes}
    kind, left = "SelfSubjectAccessReview", deadline.left()
    answer = await _review(api, _REVIEWS, "authorization.k8s.io/v1", kind, {"spec": spec}, left)
    status = _mapping(answer.get("status"))
    return Permission(
        allowed=status.get("allowed") is True,
        action=action,
        reason=str(status.get("reason", "")),
        evaluation_error=str(status.get("evaluationError", "")),
    )


def _about_path(question: Question, path: str) -> tuple[dict[str, str], str]:
    for what in ("namespace", "name", "subresource"):
        if getattr(question, what) is not None:
            raise InvalidInput(f"{path!r} is a path, not a resource: leave {what} out")
    _check_verb(question.verb, _OF_PATHS, path)
    return {"path": path, "verb": question.verb}, f"{question.verb} {path}"


async def _about_resource(api: APIClient, question: Question, timeout: float | None) -> tuple[dict[str, str], str]:
    text = question.resource if isinstance(question.resource, str) else ""
    virtual = virtual_resources(question.verb) if text else None
    if virtual is not None and (known := virtual.find(text)) is not None:
        gvr = known.gvr  # names of virtual resources are arbitrary strings
        namespace = _namespace(api, question, known)
    else:
        try:
            known, gvr = await _named(api, question.resource, timeout)
        except NoMatch as exc:
            if virtual is None:
                raise
            raise virtual.no_match(text, exc) from None
        _check_served(question, known, gvr)
        namespace = await _confirmed_namespace(api, question, known, timeout)
    resource_path(gvr, namespace=namespace)  # rejects invalid namespaces, as the request itself would
    attributes = {
        "verb": question.verb,
        "group": gvr.group,
        "version": gvr.version,
        "resource": gvr.resource,
        "subresource": question.subresource or "",
        "namespace": namespace,
        "name": question.name or "",
    }
    return {key: text for key, text in attributes.items() if text}, _action(attributes, known)


def _check_served(question: Question, known: APIResource | None, gvr: GVR) -> None:
    """Reject invalid names, and verbs and subresources that the resource lacks."""
    verbs = (*_VERBS, *_SPECIAL, *(sorted(known.verbs.difference(_VERBS)) if known else ()))
    if not question.verb.startswith(CONSTRAINED):
        _check_verb(question.verb, verbs, str(gvr.resource))
    if known and question.subresource not in (None, "*", *known.subresources):
        served = f"only {', '.join(sorted(known.subresources))}" if known.subresources else "no subresources"
        raise InvalidInput(f"subresource {question.subresource!r}: {gvr} have {served}")
    resource_path(gvr, name=question.name)


async def _named(api: APIClient, resource: ResourceLike, timeout: float | None) -> tuple[APIResource | None, GVR]:
    """Return the resource from discovery and its GVR.

    The first is ``None`` for ``"*"``, and for a resource that is not served but was given with group and version.
    """
    if resource == "*":
        return None, GVR("*", "*", "*")
    if isinstance(resource, APIResource):
        resource = resource.gvr  # resolve it again: it may no longer be served
    try:
        known = await api.resource(resource).resolve(timeout=timeout)
    except NoMatch:
        if isinstance(resource, GVR):
            return None, resource
        arg = ResourceArg.parse(resource) if isinstance(resource, str) else resource
        if isinstance(arg, ResourceArg) and arg.group and arg.version:
            return None, GVR(arg.group, arg.version, arg.name)
        raise
    return known, known.gvr


async def _confirmed_namespace(
    api: APIClient, question: Question, known: APIResource | None, timeout: float | None
) -> str:
    """Return the result of :func:`_namespace`.

    If the scope does not fit, the resource is discovered again before an error is raised, as the CRD may have changed.
    """
    try:
        return _namespace(api, question, known)
    except WrongScope:
        if known is None:
            raise
        api.mapper.recheck(known.gvr)
    known, _ = await _named(api, question.resource, timeout)
    return _namespace(api, question, known)


def _namespace(api: APIClient, question: Question, known: APIResource | None) -> str:
    """Return the namespace to check; ``""`` for all, and for cluster-scoped resources."""
    if question.namespace == "*" and (known is None or known.namespaced):
        return ""
    if known is None:
        return question.namespace or ""
    if question.verb in _EVERYWHERE and question.name is None:
        return namespace_of_many(known, question.namespace) or ""
    return namespace_of_one(known, question.namespace, default=api.namespace) or ""


def _action(attributes: Mapping[str, str], known: APIResource | None) -> str:
    what = "/".join(filter(None, (attributes["resource"], attributes["subresource"])))
    if attributes["group"] not in ("", "*"):
        what += f" of {attributes['group']}"
    if attributes["name"]:
        what += f" named {attributes['name']}"
    if attributes["namespace"]:
        where = f" in namespace {attributes['namespace']}"
    else:
        where = "" if known is not None and not known.namespaced else " in all namespaces"
    return f"{attributes['verb']} {what}{where}"


def _check_verb(verb: str, verbs: tuple[str, ...], what: str) -> None:
    if verb in verbs:
        return
    plain = verb.lower().replace("_", "").replace("-", "")
    near = [_OTHER_WORDS[plain]] if plain in _OTHER_WORDS else get_close_matches(plain, verbs, n=1)
    hint = f"did you mean {near[0]!r}?" if near and near[0] in verbs else f"use one of {', '.join(verbs)}"
    raise InvalidInput(f"unknown verb {verb!r} for {what}: {hint}")


async def _review(
    api: APIClient, path: str, api_version: str, kind: str, body: Mapping[str, Any], timeout: float | None
) -> Unstructured:
    document = {"apiVersion": api_version, "kind": kind, **body}
    answer = await api.raw("POST", path, body=document, accept="application/json", timeout=timeout)
    try:
        return Unstructured(answer.body)
    except InvalidObject as exc:
        raise ProtocolError(f"{answer.request}: the response is not a {kind}: {exc}") from exc


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
