"""CAs, keys and user credentials of a control plane."""

from __future__ import annotations

import ssl
from collections.abc import Iterable
from datetime import datetime

from dynkube.errors import InvalidInput
from dynkube_testing._control_plane.folder import Folder
from dynkube_testing._control_plane.ports import LOOPBACK
from dynkube_testing._wire.endpoint import Endpoint

ADMIN = "admin"
COMPONENTS = {
    "kube-controller-manager": "system:kube-controller-manager",
    "kube-scheduler": "system:kube-scheduler",
}
"""The users of the other servers, which have default roles."""
ADMINISTRATORS = "system:masters"  # this group has full access, independent of the stored roles


class Credentials:
    """The CAs and keys of one run.

    Those that the servers need are written to files.

    Args:
        folder: The folder for the files.
        now: The current time, from which the certificates are valid for a week.

    Raises:
        ImportError: The ``control-plane`` extra is not installed.
    """

    def __init__(self, folder: Folder, now: datetime) -> None:
        try:
            from dynkube_testing._control_plane.certificates import Authority, signing_key
        except ImportError as error:
            raise ImportError(
                "a control plane requires the 'control-plane' extra: pip install 'dynkube-testing[control-plane]'"
            ) from error
        # Two CAs, so that a server certificate cannot be used to authenticate as a client.
        serving = Authority("dynkube control plane: servers", now)
        self._clients = Authority("dynkube control plane: clients", now)
        self.ca_pem = serving.certificate
        server, (private, public) = serving.server(LOOPBACK), signing_key()
        folder.write("kube-apiserver.crt", server.certificate)
        folder.write("kube-apiserver.key", server.key)
        folder.write("ca.crt", serving.certificate)
        folder.write("client-ca.crt", self._clients.certificate)
        folder.write("service-account.key", private)
        folder.write("service-account.pub", public)
        admin = self._clients.client(ADMIN, [ADMINISTRATORS])
        self._folder = folder
        self._admin_files = folder.write("admin.crt", admin.certificate), folder.write("admin.key", admin.key)

    def tls(self) -> ssl.SSLContext:
        """Return a TLS client context with the administrator's certificate."""
        context = ssl.create_default_context(cadata=self.ca_pem.decode("ascii"))
        context.load_cert_chain(*self._admin_files)
        return context

    def write_for(self, component: str, port: int) -> None:
        """Write what kube-controller-manager or kube-scheduler needs to connect to kube-apiserver on ``port``.

        kube-controller-manager signs certificates of clients, so the key of their CA is written for it.
        """
        endpoint = self.endpoint(port, COMPONENTS[component], ())
        endpoint.write_kubeconfig(self._folder.path / "certificates" / f"{component}.kubeconfig")
        if component == "kube-controller-manager":
            self._folder.write("client-ca.key", self._clients.key)

    def endpoint(self, port: int, user: str = ADMIN, groups: Iterable[str] = (ADMINISTRATORS,)) -> Endpoint:
        """Return an endpoint with a new client certificate for ``user`` in ``groups``.

        Raises:
            InvalidInput: The user or a group is empty or too long for a certificate, or ``groups`` is a string.
        """
        if isinstance(groups, str):
            raise InvalidInput(f"groups must be a list of names, not the string {groups!r}; pass groups=[{groups!r}]")
        named = tuple(groups)
        for what, name in (("the user", user), *(("a group", group) for group in named)):
            if not name:
                raise InvalidInput(f"the name of {what} is empty")
            if len(name) > 64:  # limit of RFC 5280 for both fields
                raise InvalidInput(f"the name of {what} must have at most 64 characters, not {len(name)}: {name!r}")
        pair = self._clients.client(user, named)
        return Endpoint(
            url=f"https://{LOOPBACK}:{port}", ca_pem=self.ca_pem, certificate_pem=pair.certificate, key_pem=pair.key
        )
