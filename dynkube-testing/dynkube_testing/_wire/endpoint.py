"""Address of an API server for tests, and the credentials to connect to it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dynkube_testing._wire.kubeconfig import build_kubeconfig, write_private

PLACEHOLDER: Final = "not-checked"
"""The token for servers over TLS that require none, as kubectl asks for a user name and a password without a token."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Address of an API server, and the credentials of one of its users.

    Attributes:
        url: Like ``http://127.0.0.1:41853``.
        ca_pem: The CA certificate to trust; ``None`` for plain HTTP.
        token: The bearer token to send; ``None`` for a client certificate, and for a server without users on plain
            HTTP. Over TLS such a server ignores it, but kubectl requires one.
        certificate_pem: The client certificate; ``None`` if the server does not require one.
        key_pem: The private key of the client certificate; ``None`` without one.
    """

    url: str
    ca_pem: bytes | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    certificate_pem: bytes | None = field(default=None, repr=False)
    key_pem: bytes | None = field(default=None, repr=False)

    def kubeconfig(self, *, context: str = "dynkube", namespace: str = "default") -> dict[str, object]:
        """Return a kubeconfig, as a mapping, with this server as its only cluster."""
        return build_kubeconfig(
            self.url,
            ca_pem=self.ca_pem,
            token=self.token,
            certificate_pem=self.certificate_pem,
            key_pem=self.key_pem,
            context=context,
            namespace=namespace,
        )

    def write_kubeconfig(
        self, path: str | os.PathLike[str], *, context: str = "dynkube", namespace: str = "default"
    ) -> Path:
        """Write :meth:`kubeconfig` to ``path`` and return the path.

        The file gets mode 0600 and is replaced atomically.

        This is blocking file I/O.

        Raises:
            OSError: The directory does not exist or is not writable.
        """
        return write_private(path, self.kubeconfig(context=context, namespace=namespace))
