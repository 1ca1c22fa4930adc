"""The kind of object and the verbs of each subresource.

Which subresources a resource has is in the table of built-in kinds, or in the CRD. This module describes a subresource
by its name, since ``status``, for example, has the same verbs for all resources.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dynkube.meta import GVK

_EDIT = ("get", "patch", "update")
_CONNECT = ("create", "delete", "get", "patch", "update")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """One subresource of a kind.

    Attributes:
        name: The name in the URL path (``status``).
        gvk: The group, version and kind of its objects, as in discovery.
        verbs: Its verbs, sorted.
        foreign: Whether ``gvk`` has a group and version of its own, like the Scale of ``autoscaling/v1``.
    """

    name: str
    gvk: GVK
    verbs: tuple[str, ...] = _EDIT
    foreign: bool = False

    @property
    def connects(self) -> bool:
        """Whether requests are proxied, for example to a container (``exec``, ``log``).

        The body of such a request is not decoded.
        """
        return self.name in _CONNECTING


_CONNECTING = {"attach", "exec", "log", "portforward", "proxy"}
_SCALE = Subresource(name="scale", gvk=GVK("autoscaling", "v1", "Scale"), foreign=True)
_EVICTION = Subresource(name="eviction", gvk=GVK("policy", "v1", "Eviction"), verbs=("create",), foreign=True)
_TOKEN = Subresource(
    name="token", gvk=GVK("authentication.k8s.io", "v1", "TokenRequest"), verbs=("create",), foreign=True
)
_FOREIGN: Mapping[str, Subresource] = {each.name: each for each in (_SCALE, _EVICTION, _TOKEN)}

_VERBS: Mapping[str, tuple[str, ...]] = {
    "attach": ("create", "get"),
    "binding": ("create",),
    "exec": ("create", "get"),
    "finalize": ("update",),
    "log": ("get",),
    "portforward": ("create", "get"),
    "proxy": _CONNECT,
}
_KINDS: Mapping[str, str] = {
    "attach": "{}AttachOptions",
    "binding": "Binding",
    "exec": "{}ExecOptions",
    "portforward": "{}PortForwardOptions",
    "proxy": "{}ProxyOptions",
}


def subresource_of(parent: GVK, name: str) -> Subresource:
    """Return the subresource ``name`` of the kind ``parent``.

    An unknown name is treated like ``status``: its objects are of the kind ``parent``.
    """
    if name in _FOREIGN:
        return _FOREIGN[name]
    kind = _KINDS.get(name, "{}").format(parent.kind)
    return Subresource(name=name, gvk=GVK(parent.group, parent.version, kind), verbs=_VERBS.get(name, _EDIT))
