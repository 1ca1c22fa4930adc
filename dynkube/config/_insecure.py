"""What a configuration gives away: said once for each client, aloud, with the place where it can be mended."""

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
    """Issue an :class:`InsecureTLSWarning` if somebody on the way to the server can read or change what is sent.

    That is where certificates are not checked, and where a credential goes to another machine without TLS at all.
    (kubectl leaves the credential out then, and fails as "Unauthorized" without a word on why.)
    The warning is attributed to the first caller outside of this package. Whoever wants it to be an error says so with
    ``warnings.simplefilter("error", InsecureTLSWarning)``.
    """
    if trouble := insecurity(config):
        where = f" ({config.source})" if config.source else ""
        warnings.warn(f"{trouble}{where}", InsecureTLSWarning, stacklevel=_stack_level_of_the_caller())


def insecurity(config: ClientConfig) -> str:
    """What is insecure about the way to the server, and the fix; ``""`` if nothing is."""
    if config.server.startswith("https:"):
        context = config.tls.context
        unchecked = not config.tls.verify if context is None else context.verify_mode == ssl.CERT_NONE
        if not unchecked:
            return ""
        how = "insecure-skip-tls-verify or verify=False" if context is None else "the SSLContext given has CERT_NONE"
        return (
            f"the certificate of {config.server} is not checked, as {how}: anybody on the way can read your "
            "credentials and answer for it; use the cluster's CA instead (certificate-authority-data, verify=PATH)"
        )
    if isinstance(config.credentials, Anonymous) or _is_loopback(urlsplit(config.server).hostname or ""):
        return ""
    return (
        f"credentials are sent to {config.server} without TLS: anybody on the way can read them and answer for "
        "the server; write https://, or leave the credentials out"
    )


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _stack_level_of_the_caller() -> int:
    """As ``warnings.warn`` counts from the function that called this one: the first frame outside of the package."""
    package = __name__.partition(".")[0]
    level, frame = 1, sys._getframe(1)  # what logging and warnings use; no public way gives frames cheaply
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    return level
