"""Warnings about insecure connections.

Issued once for each client, with the file and context of the setting.
"""

from __future__ import annotations

import ipaddress
import ssl
import sys
import warnings
from urllib.parse import urlsplit

from dynkube.config._config import ClientConfig
from dynkube.config._credentials import Anonymous
from dynkube.config._tls import InsecureTLSWarning


def warn_if_insecure(config: ClientConfig) -> None:
    """Warn if a third party can read or modify the traffic.

    Issues an :class:`InsecureTLSWarning` if certificates are not verified, or if a credential is sent to another
    machine without TLS. (kubectl omits the credential then, and fails as "Unauthorized" without giving the reason.) The
    warning is attributed to the first caller outside of this package. ``warnings.simplefilter("error",
    InsecureTLSWarning)`` makes it an error.
    """
    if trouble := insecurity(config):
        where = f" ({config.source})" if config.source else ""
        warnings.warn(f"{trouble}{where}", InsecureTLSWarning, stacklevel=_stack_level_of_the_caller())


def insecurity(config: ClientConfig) -> str:
    """Return a description of why the connection is insecure, with the fix.

    Returns ``""`` if it is secure.
    """
    if config.server.startswith("https:"):
        context = config.tls.context
        unchecked = not config.tls.verify if context is None else context.verify_mode == ssl.CERT_NONE
        if not unchecked:
            return ""
        how = "insecure-skip-tls-verify or verify=False" if context is None else "the given SSLContext has CERT_NONE"
        return (
            f"the certificate of {config.server} is not verified ({how}): traffic can be intercepted and modified; "
            "use the cluster's CA instead (certificate-authority-data, verify=PATH)"
        )
    if isinstance(config.credentials, Anonymous) or _is_loopback(urlsplit(config.server).hostname or ""):
        return ""
    return (
        f"credentials are sent to {config.server} without TLS: traffic can be intercepted and modified; "
        "use https://, or omit the credentials"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _stack_level_of_the_caller() -> int:
    """Return the ``stacklevel`` of the first frame outside of the package.

    Counted as ``warnings.warn`` counts from the calling function.
    """
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe(1)  # as in logging and warnings; there is no cheap public API for frames
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    return level
