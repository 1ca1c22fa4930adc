"""Who may do what on an embedded server, said in Python."""

from __future__ import annotations

from collections.abc import Iterable

from dynkube.errors import InvalidInput, NoMatch
from dynkube.meta import GVR, ResourceArg
from dynkube.testing._access.access import Access
from dynkube.testing._access.attributes import PolicyRule
from dynkube.testing._access.grants import check_verbs
from dynkube.testing._direct import DirectAccess


class Rights(DirectAccess):
    """Grants, as the stored roles and bindings of ``_access``; resources have the names that plain verbs know."""

    _access: Access

    def grant(
        self,
        user: str,
        *,
        verbs: Iterable[str],
        resource: str | GVR,
        namespace: str | None = None,
        names: Iterable[str] = (),
    ) -> None:
        """Let ``user`` do something from the next request on, by a role and a binding as an administrator writes them.

        Grants for one resource add up. Needs ``rbac=True``.

        Args:
            user: A user name, also of a service account (``"system:serviceaccount:NAMESPACE:NAME"``).
            verbs: Like ``["get", "list", "watch"]``, or ``["*"]``.
            resource: As kubectl names it (``"pods"``, ``"deployments.apps"``), with a subresource where it is about one
                (``"pods/log"``), a GVR, or ``"*"`` for all of every group.
            namespace: Where; ``None`` for everywhere.
            names: Only these objects; all unless given.

        Raises:
            InvalidInput: The server runs without RBAC, or an argument is malformed.
            NoMatch: The resource is not served, and named without its group.
            NotFound: There is no such namespace.
        """
        group, plural = self._granted(resource)
        rule = PolicyRule(check_verbs(verbs), (group,), (plural,), tuple(names))
        self._access.grants.grant(user, rule, namespace or "")

    def revoke(self, user: str, resource: str | GVR | None = None, namespace: str | None = None) -> int:
        """Take back what :meth:`grant` gave; how many roles went. Open watches go on, as in a real server.

        Args:
            user: From whom.
            resource: For which resource, as it was granted; all of them unless given.
            namespace: Where, as it was granted.

        Raises:
            InvalidInput: The server runs without RBAC, or an argument is malformed.
            NoMatch: The resource is not served, and named without its group.
        """
        group, plural = self._granted(resource) if resource is not None else ("", "")
        return self._access.grants.revoke(user, plural, group, namespace or "")

    def _granted(self, resource: str | GVR) -> tuple[str, str]:
        """Group and plural (with subresource) of what a grant is about."""
        if not self._access.rbac:
            raise InvalidInput("this server allows everybody everything; grants need APIServer(rbac=True)")
        if resource == "*":
            return "*", "*"
        base, slash, subresource = str(resource).partition("/") if isinstance(resource, str) else (resource, "", "")
        try:
            gvr = self.kind(base).gvr
        except NoMatch:
            # Rules may be about what is not served yet, as long as it is clear what they mean.
            arg = ResourceArg.parse(base) if isinstance(base, str) else ResourceArg(base.resource, None, base.group)
            if arg.group is None:
                raise
            return arg.group, f"{arg.name}{slash}{subresource}"
        return gvr.group, f"{gvr.resource}{slash}{subresource}"
