"""User impersonation.

As in kube-apiserver since 1.36, either of two kinds of permission allows it (KEP-5284). One is the verb
``impersonate``. The other is constrained impersonation: the verb ``impersonate:MODE`` on the impersonated user, and
``impersonate-on:MODE:VERB`` on the requested resource. The modes for nodes are not supported, since an embedded server
has no nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import unquote

from dynkube.errors import APIError
from dynkube_testing._access.attributes import Attributes, Authorizer, denied
from dynkube_testing._calls import refuse
from dynkube_testing._calls.users import MASTERS, User, account_groups, split_account

_USER, _UID, _GROUP, _EXTRA = "impersonate-user", "impersonate-uid", "impersonate-group", "impersonate-extra-"
_IDENTITIES = "authentication.k8s.io"


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedUser:
    """The impersonated user given by a request's headers."""

    name: str = ""
    uid: str = ""
    groups: tuple[str, ...] = ()
    extra: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, headers: Mapping[str, tuple[str, ...]]) -> WantedUser | None:
        """Read the headers (lower-case names, all values of each).

        Returns ``None`` if there are no impersonation headers.

        Raises:
            BadRequest: Groups, a UID or extra fields are given without a user.
        """
        first = {name: next(iter(headers.get(name, ())), "") for name in (_USER, _UID)}
        extra = {
            unquote(name.removeprefix(_EXTRA)): values for name, values in headers.items() if name.startswith(_EXTRA)
        }
        wanted = cls(name=first[_USER], uid=first[_UID], groups=headers.get(_GROUP, ()), extra=extra)
        if wanted.name:
            return wanted
        if wanted.uid or wanted.groups or wanted.extra:
            raise refuse.bad_request(f"requested {wanted._shown()} without impersonating a user name")
        return None

    def _shown(self) -> str:
        # Formatted like kube-apiserver, which prints its Go struct here.
        groups = ", ".join(f'"{group}"' for group in self.groups)
        extra = ", ".join(
            f'"{key}":[]string{{{", ".join(chr(34) + value + chr(34) for value in values)}}}'
            for key, values in sorted(self.extra.items())
        )
        return (
            f'&user.DefaultInfo{{Name:"", UID:"{self.uid}", '
            f"Groups:[]string{f'{{{groups}}}' if self.groups else '(nil)'}, "
            f"Extra:map[string][]string{f'{{{extra}}}' if self.extra else '(nil)'}}}"
        )


def impersonate(wanted: WantedUser, request: Attributes, authorizer: Authorizer) -> User:
    """Check the permission to impersonate, and return the impersonated user.

    Args:
        wanted: The user to impersonate.
        request: The attributes of the request, with its sender as the user.
        authorizer: Decides whether impersonation is allowed.

    Raises:
        Forbidden: The sender has neither kind of permission. The message is about constrained impersonation, unless
            that is impossible for the user to impersonate.
    """
    account = split_account(wanted.name)
    constrained = not (account and (wanted.groups or wanted.uid or wanted.extra))
    refusal: APIError | None = None
    if constrained:
        mode = "serviceaccount" if account else "user-info"
        onward = replace(request, verb=f"impersonate-on:{mode}:{request.verb}")
        refusal = _refusal(onward, authorizer) or _check(wanted, request.user, f"impersonate:{mode}", authorizer)
    if not constrained or refusal is not None:
        legacy = _check(wanted, request.user, "impersonate", authorizer)
        if legacy is not None:
            raise refusal or legacy
    groups = account_groups(account[0]) if account and not wanted.groups else wanted.groups
    return User(wanted.name, groups, wanted.uid, wanted.extra).authenticated()


def _check(wanted: WantedUser, sender: User, verb: str, authorizer: Authorizer) -> APIError | None:
    """Return the 403 if ``sender`` lacks a permission to impersonate by ``verb``.

    ``None`` if it has all permissions that are needed.
    """
    constrained = verb != "impersonate"
    for attributes in _steps(wanted, sender, verb):
        if constrained and attributes.resource == "groups" and MASTERS in wanted.groups:
            refused = replace(attributes, name=MASTERS)
            return denied(refused, "impersonating the system:masters group is not allowed")
        if refusal := _refusal(attributes, authorizer):
            return refusal
    return None


def _steps(wanted: WantedUser, sender: User, verb: str) -> Iterator[Attributes]:
    """Yield each permission that ``sender`` needs, as attributes to authorize."""
    group = "" if verb == "impersonate" else _IDENTITIES
    if account := split_account(wanted.name):
        namespace, name = account
        yield Attributes(
            user=sender, verb=verb, group=group, resource="serviceaccounts", namespace=namespace, name=name
        )
    else:
        yield Attributes(user=sender, verb=verb, group=group, resource="users", name=wanted.name)
    if wanted.uid:
        yield Attributes(user=sender, verb=verb, group=_IDENTITIES, resource="uids", name=wanted.uid)
    for name in wanted.groups:
        yield Attributes(user=sender, verb=verb, group=group, resource="groups", name=name)
    for key, values in wanted.extra.items():
        for value in values:
            yield Attributes(
                user=sender, verb=verb, group=_IDENTITIES, resource="userextras", subresource=key, name=value
            )


def _refusal(attributes: Attributes, authorizer: Authorizer) -> APIError | None:
    decision = authorizer.decide(attributes)
    return None if decision.allowed else denied(attributes, decision.reason)
