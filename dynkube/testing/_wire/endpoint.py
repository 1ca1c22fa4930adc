"""Where an API server for tests is, and what a client needs to reach it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from dynkube.testing._wire.kubeconfig import build_kubeconfig, write_private


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where an API server is, and what a client needs to reach it: of one user, where the server knows several.

    Attributes:
        url: Like ``http://127.0.0.1:41853``.
        ca_pem: The certificate authority to trust; ``None`` over plain HTTP.
        token: The bearer token to bring; ``None`` where everybody is let in, or brings a certificate.
        certificate_pem: The client certificate to bring, with ``key_pem``; ``None`` where none is asked for.
        key_pem: The private key of that certificate.
    """

    url: str
    ca_pem: bytes | None = field(default=None, repr=False)
    token: str | None = field(default=None, repr=False)
    certificate_pem: bytes | None = field(default=None, repr=False)
    key_pem: bytes | None = field(default=None, repr=False)

    def kubeconfig(self, *, context: str = "dynkube", namespace: str = "default") -> dict[str, object]:
        """A kubeconfig with this server as its only cluster, decoded."""
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
        """Write :meth:`kubeconfig` to ``path`` (mode 0600, replaced as a whole) and return the path.

        Plain function; blocks on the file system for a moment.

        Raises:
            OSError: The directory does not exist or cannot be written to.
        """
        return write_private(path, self.kubeconfig(context=context, namespace=namespace))
