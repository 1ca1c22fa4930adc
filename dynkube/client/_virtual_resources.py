"""Virtual resources: resource names in RBAC rules that no server serves.

Examples are ``users`` and ``signers``, with the verbs for impersonation and signing. With these verbs the names mean
the virtual resources, even if a resource of the same name is served. See API docs, "User impersonation" and
"Certificate signing requests", and KEP-5284 for constrained impersonation.
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
"""Prefixes of the verbs for constrained impersonation, since Kubernetes 1.35: ``impersonate:`` applies to virtual
resources, ``impersonate-on:`` to served ones."""

_IDENTITIES: Final = "authentication.k8s.io"
_ACCOUNTS: Final = "serviceaccounts"


@dataclass(frozen=True, slots=True)
class VirtualResources:
    """The resources that a verb applies to.

    Attributes:
        verb: the verb.
        groups: the API group of each virtual resource, by name.
        served: names of served resources that the verb applies to as well.
        only: whether the verb applies to no other resources.
    """

    verb: str
    groups: Mapping[str, str]
    served: tuple[str, ...] = ()
    only: bool = False

    def find(self, resource: str) -> APIResource | None:
        """Return the virtual resource; ``None`` to resolve the name by discovery.

        Raises:
            NoMatch: the name is a singular or a kind of a virtual resource, or the verb does not apply to other
                resources.
        """
        name, _, group = resource.partition(".")
        if name in self.groups and group in ("", self.groups[name]):
            gvr = GVR(self.groups[name], "v1", name)
            return APIResource(gvr=gvr, kind="", singular=name, namespaced=name == _ACCOUNTS)
        # Reject a singular or a kind: it could also mean a CRD, as some are called User.
        is_almost = name.lower() in self.groups or f"{name.lower()}s" in self.groups
        if name != "*" and "/" not in name and self._may_be(group) and (is_almost or (self.only and not group)):
            raise self.no_match(resource)
        return None

    def no_match(self, resource: str, cause: NoMatch | None = None) -> NoMatch:
        """Return the error for a resource that the verb does not apply to.

        Args:
            resource: the name as given.
            cause: the error of discovery, if the name was looked up.
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
    """Return the virtual resources of a verb; ``None`` if it has none."""
    if verb == "impersonate":
        return VirtualResources(verb, _ACTED_AS, (_ACCOUNTS,))
    if verb.startswith(CONSTRAINED[0]):
        return VirtualResources(verb, _ACTED_AS_CONSTRAINED, only=True)
    return VirtualResources(verb, _SIGNED_FOR) if verb in ("approve", "sign", "attest") else None
