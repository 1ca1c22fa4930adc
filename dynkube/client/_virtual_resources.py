"""Virtual resources: names in RBAC rules that no server serves.

They are used for impersonation and for signing.

API docs, "User impersonation" and "Certificate signing requests"; KEP-5284 for constrained impersonation.
With these verbs the names always mean the virtual resources, even if a resource of the same name is served.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from dynkube.discovery import APIResource
from dynkube.errors import NoMatch
from dynkube.meta import GVR

CONSTRAINED: Final = ("impersonate:", "impersonate-on:")
"""Prefixes of verbs, since Kubernetes 1.35; the second applies to served resources."""

_IDENTITIES: Final = "authentication.k8s.io"
_ACCOUNTS: Final = "serviceaccounts"


@dataclass(frozen=True, slots=True)
class VirtualResources:
    """The resources that a verb applies to.

    Attributes:
        verb: the verb.
        groups: the API group of each virtual resource.
        served: resources it applies to that are served.
        only: whether it applies to nothing else.
    """

    verb: str
    groups: Mapping[str, str]
    served: tuple[str, ...] = ()
    only: bool = False

    def find(self, resource: str) -> APIResource | None:
        """Return the virtual resource.

        ``None`` if the name has to be resolved by discovery.

        Raises:
            NoMatch: it is similar to a virtual resource, or the verb applies to nothing else.
        """
        name, _, group = resource.partition(".")
        if name in self.groups and group in ("", self.groups[name]):
            gvr = GVR(self.groups[name], "v1", name)
            return APIResource(gvr=gvr, kind="", singular=name, namespaced=name == _ACCOUNTS)
        # A singular or a kind may also be that of a CRD: some are called User.
        is_almost = name.lower() in self.groups or f"{name.lower()}s" in self.groups
        if name != "*" and "/" not in name and self._may_be(group) and (is_almost or (self.only and not group)):
            raise self.no_match(resource)
        return None

    def no_match(self, resource: str, cause: NoMatch | None = None) -> NoMatch:
        """Return the error for a resource the verb does not apply to.

        ``cause`` is the error of discovery.
        """
        name, _, group = resource.partition(".")
        if cause is not None and not self._may_be(group):
            return cause
        names = [*self.groups, *self.served]
        *first, last = names
        purpose = f"the verb {self.verb!r} applies to {', '.join(first)}{' and ' if first else ''}{last}"
        if near := get_close_matches(name.lower(), names, n=1):
            return NoMatch(f"{purpose}, not to {resource!r}: did you mean {near[0]!r}?")
        return NoMatch(f"{cause}; {purpose}" if cause else f"{purpose}, not to {resource!r}")

    def _may_be(self, group: str) -> bool:
        return group in ("", *self.groups.values())


_ACTED_AS: Final = {"users": "", "groups": "", "uids": _IDENTITIES, "userextras": _IDENTITIES}
_ACTED_AS_CONSTRAINED: Final = dict.fromkeys((*_ACTED_AS, _ACCOUNTS, "nodes"), _IDENTITIES)
_SIGNED_FOR: Final = {"signers": "certificates.k8s.io"}


def virtual_resources(verb: str) -> VirtualResources | None:
    """Return the virtual resources of a verb, if it has any."""
    if verb == "impersonate":
        return VirtualResources(verb, _ACTED_AS, (_ACCOUNTS,))
    if verb.startswith(CONSTRAINED[0]):
        return VirtualResources(verb, _ACTED_AS_CONSTRAINED, only=True)
    return VirtualResources(verb, _SIGNED_FOR) if verb in ("approve", "sign", "attest") else None
