"""Grant and revoke RBAC permissions on an embedded server from Python."""

from __future__ import annotations

from collections.abc import Iterable

from dynkube.errors import InvalidInput, NoMatch
from dynkube.meta import GVR, ResourceArg
from dynkube_testing._access.access import Access
from dynkube_testing._access.attributes import PolicyRule
from dynkube_testing._access.grants import check_verbs
from dynkube_testing._direct import DirectAccess


class Rights(DirectAccess):
    """Methods to grant and revoke permissions.

    Permissions are stored as roles and bindings, through ``_access``. Resources are named as in :class:`DirectAccess`.
    """

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
        """Grant permissions to ``user`` by creating a role and a binding.

        The permissions apply from the next request on. Grants for the same resource accumulate. The server must have
        been created with ``rbac=True``.

        Args:
            user: A user name; that of a service account is ``"system:serviceaccount:NAMESPACE:NAME"``.
            verbs: Like ``["get", "list", "watch"]``, or ``["*"]``.
            resource: A name as in kubectl (``"pods"``, ``"deployments.apps"``), optionally with a subresource
                (``"pods/log"``); a GVR; or ``"*"`` for all resources of all API groups.
            namespace: Grant in this namespace by a RoleBinding; ``None`` grants cluster-wide.
            names: Restrict the grant to objects with these names; default: all objects.

        Raises:
            InvalidInput: The server runs without RBAC, or an argument is malformed.
            NoMatch: The resource is not served, and is given without its group.
            NotFound: The namespace does not exist.
        """
        group, plural = self._granted(resource)
        rule = PolicyRule(check_verbs(verbs), (group,), (plural,), tuple(names))
        self._access.grants.grant(user, rule, namespace or "")

    def revoke(self, user: str, resource: str | GVR | None = None, namespace: str | None = None) -> int:
        """Remove grants made by :meth:`grant`, and return the number of removed roles.

        Open watches continue, as with a real server, because a request is authorized only when it starts.

        Args:
            user: The user name given to :meth:`grant`.
            resource: The resource given to :meth:`grant`; default: all resources.
            namespace: The namespace given to :meth:`grant`.

        Raises:
            InvalidInput: The server runs without RBAC, or an argument is malformed.
            NoMatch: The resource is not served, and is given without its group.
        """
        group, plural = self._granted(resource) if resource is not None else ("", "")
        return self._access.grants.revoke(user, plural, group, namespace or "")

    def _granted(self, resource: str | GVR) -> tuple[str, str]:
        """Return the API group and the plural resource name, as an RBAC rule has them.

        The plural name includes the subresource (``"pods/log"``), if there is one.
        """
        if not self._access.rbac:
            raise InvalidInput("this server allows all requests; grants require APIServer(rbac=True)")
        if resource == "*":
            return "*", "*"
        base, slash, subresource = str(resource).partition("/") if isinstance(resource, str) else (resource, "", "")
        try:
            gvr = self.kind(base).gvr
        except NoMatch:
            # RBAC rules may name resources that are not served yet, if their group is given.
            arg = ResourceArg.parse(base) if isinstance(base, str) else ResourceArg(base.resource, None, base.group)
            if arg.group is None:
                raise
            return arg.group, f"{arg.name}{slash}{subresource}"
        return gvr.group, f"{gvr.resource}{slash}{subresource}"
