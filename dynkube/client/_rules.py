"""What rules of access name and no server serves: whom one may act as, and for whom one may sign.

API docs, "User impersonation" and "Certificate signing requests"; KEP-5284 for impersonation that is constrained.
Whoever asks for these verbs means these names, whatever else is served under them.
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
"""Beginnings of verbs, since Kubernetes 1.35; those of the second are about what is served."""

_IDENTITIES: Final = "authentication.k8s.io"
_ACCOUNTS: Final = "serviceaccounts"


@dataclass(frozen=True, slots=True)
class VirtualResources:
    """What a verb is for.

    Attributes:
        verb: the verb.
        groups: the API group of each name.
        served: what else it is for, which servers serve.
        only: whether it is for nothing else.
    """

    verb: str
    groups: Mapping[str, str]
    served: tuple[str, ...] = ()
    only: bool = False

    def find(self, resource: str) -> APIResource | None:
        """What is meant; ``None`` where that is for the server to know.

        Raises:
            NoMatch: it is almost one of these, or can be nothing else.
        """
        name, _, group = resource.partition(".")
        if name in self.groups and group in ("", self.groups[name]):
            gvr = GVR(self.groups[name], "v1", name)
            return APIResource(gvr=gvr, kind="", singular=name, namespaced=name == _ACCOUNTS)
        # A singular or a kind may be that of a definition as well: there are some called User.
        is_almost = name.lower() in self.groups or f"{name.lower()}s" in self.groups
        if name != "*" and "/" not in name and self._may_be(group) and (is_almost or (self.only and not group)):
            raise self.no_match(resource)
        return None

    def no_match(self, resource: str, cause: NoMatch | None = None) -> NoMatch:
        """Why this is none of them; ``cause`` is what else is wrong with it."""
        name, _, group = resource.partition(".")
        if cause is not None and not self._may_be(group):
            return cause
        names = [*self.groups, *self.served]
        *first, last = names
        purpose = f"the verb {self.verb!r} is for {', '.join(first)}{' and ' if first else ''}{last}"
        if near := get_close_matches(name.lower(), names, n=1):
            return NoMatch(f"{purpose}, and not for {resource!r}: did you mean {near[0]!r}?")
        return NoMatch(f"{cause}; {purpose}" if cause else f"{purpose}, and not for {resource!r}")

    def _may_be(self, group: str) -> bool:
        return group in ("", *self.groups.values())


_ACTED_AS: Final = {"users": "", "groups": "", "uids": _IDENTITIES, "userextras": _IDENTITIES}
_ACTED_AS_CONSTRAINED: Final = dict.fromkeys((*_ACTED_AS, _ACCOUNTS, "nodes"), _IDENTITIES)
_SIGNED_FOR: Final = {"signers": "certificates.k8s.io"}


def virtual_resources(verb: str) -> VirtualResources | None:
    """What a verb is for, if that is something no server serves."""
    if verb == "impersonate":
        return VirtualResources(verb, _ACTED_AS, (_ACCOUNTS,))
    if verb.startswith(CONSTRAINED[0]):
        return VirtualResources(verb, _ACTED_AS_CONSTRAINED, only=True)
    return VirtualResources(verb, _SIGNED_FOR) if verb in ("approve", "sign", "attest") else None
