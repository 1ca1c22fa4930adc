"""Which cluster, as whom: kubeconfig files, in-cluster files, plugins and TLS end in one frozen ``ClientConfig``."""

from dynkube.config._config import ClientConfig, Impersonation
from dynkube.config._credentials import (
    Anonymous,
    BasicAuth,
    BearerToken,
    Combined,
    Credential,
    Credentials,
    StaticCertificate,
)
from dynkube.config._explicit import explicit_config
from dynkube.config._files import CertificateFiles, TokenFile
from dynkube.config._tls import ClientCertificate, InsecureTLSWarning, TLSSettings

__all__ = [
    "Anonymous",
    "BasicAuth",
    "BearerToken",
    "CertificateFiles",
    "ClientCertificate",
    "ClientConfig",
    "Combined",
    "Credential",
    "Credentials",
    "Impersonation",
    "InsecureTLSWarning",
    "StaticCertificate",
    "TLSSettings",
    "TokenFile",
    "explicit_config",
]
