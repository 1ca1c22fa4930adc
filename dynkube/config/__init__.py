"""Client configuration: kubeconfig, in-cluster, exec plugins and TLS.

All sources end in one frozen ``ClientConfig``.
"""

from dynkube.config._config import ClientConfig, Impersonation
from dynkube.config._credential_files import CertificateFiles, TokenFile
from dynkube.config._credentials import (
    Anonymous,
    BasicAuth,
    BearerToken,
    Combined,
    Credential,
    Credentials,
    CredentialTimeout,
    StaticCertificate,
)
from dynkube.config._exec import ExecCommand, ExecPlugin
from dynkube.config._explicit import explicit_config
from dynkube.config._foreign import KubernetesConfiguration, from_kubernetes_configuration
from dynkube.config._incluster import load_incluster
from dynkube.config._load import load_config
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
    "CredentialTimeout",
    "Credentials",
    "ExecCommand",
    "ExecPlugin",
    "Impersonation",
    "InsecureTLSWarning",
    "KubernetesConfiguration",
    "StaticCertificate",
    "TLSSettings",
    "TokenFile",
    "explicit_config",
    "from_kubernetes_configuration",
    "load_config",
    "load_incluster",
]
