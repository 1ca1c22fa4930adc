"""Default configuration loading: kubeconfig, else in-cluster."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import datetime

from dynkube.config._clusters import exec_cluster, read_server, read_tls
from dynkube.config._config import ClientConfig
from dynkube.config._credentials import utc_now
from dynkube.config._entries import KubeconfigEntry
from dynkube.config._incluster import in_cluster, load_incluster
from dynkube.config._kubeconfig import Kubeconfig, find_files, merge_files, read_mapping
from dynkube.config._users import read_credentials, read_impersonation
from dynkube.errors import ConfigError, InvalidInput
from dynkube.meta._arguments import a_type, is_seconds

_SHOWN = 10


def load_config(
    *,
    kubeconfig: str | os.PathLike[str] | Mapping[str, object] | None = None,
    context: str | None = None,
    exec_timeout: float | None = None,
    now: Callable[[], datetime] = utc_now,
) -> ClientConfig:
    """Load the configuration from a kubeconfig, or in-cluster if there is none.

    Synchronous; blocks to read small files: regular ones of at most 16 MiB, and the null device, which is empty.
    Plugins are not run yet.

    Args:
        kubeconfig: a path, several joined by ``os.pathsep``, or a decoded kubeconfig. ``None`` means the value of
            ``$KUBECONFIG`` at the time of the call, else ``~/.kube/config``. Files are read and merged as by kubectl;
            missing files of a list are skipped.
        context: the context to use instead of the ``current-context``.
        exec_timeout: seconds an exec plugin may run; ``None`` means 60, and 300 if it may prompt at a terminal.
        now: the clock that expiry is compared with.

    Raises:
        ConfigError: there is no configuration, or it is invalid; the message names file, field and fix.
        CredentialError: a token file or certificate is unreadable or has expired.
        InvalidInput: an argument is invalid.
    """
    if exec_timeout is not None and not is_seconds(exec_timeout):
        raise InvalidInput(f"exec_timeout must be a positive number of seconds, not {exec_timeout!r}")
    if kubeconfig is not None and not isinstance(kubeconfig, Mapping | str | os.PathLike):
        raise InvalidInput(f"kubeconfig is {a_type(kubeconfig)}: pass a path, or the decoded file as a dict")
    if isinstance(kubeconfig, Mapping):
        merged = read_mapping(kubeconfig)
    else:
        files = find_files(kubeconfig)
        merged = merge_files(files) if files else Kubeconfig("kubeconfig")
    if not merged.empty:
        return _from_context(merged, context, exec_timeout, now)
    if kubeconfig is not None:
        raise ConfigError(f"{merged.source} is empty: it defines no cluster")
    if context is not None:
        raise ConfigError(f"context {context!r} not found: {_nowhere()}")
    if in_cluster():
        return load_incluster(now=now)
    raise ConfigError(
        f"{_nowhere()}; not running in a pod (KUBERNETES_SERVICE_HOST is not set): pass kubeconfig= or url="
    )


def _nowhere() -> str:
    named = os.environ.get("KUBECONFIG")
    looked = f"$KUBECONFIG is {named}" if named else "$KUBECONFIG is not set, so ~/.kube/config is used"
    return f"no kubeconfig found, or it is empty ({looked})"


def _from_context(
    merged: Kubeconfig, name: str | None, exec_timeout: float | None, now: Callable[[], datetime]
) -> ClientConfig:
    name = merged.current_context if name is None else name
    context = _context(merged, name)
    cluster = _referenced(context, "cluster", merged.clusters)
    if cluster is None:
        raise context.error("cluster", "is missing: set it to one of the clusters")
    # No user: anonymous.
    user = _referenced(context, "user", merged.users) or KubeconfigEntry({}, context.origin, at="users")
    tls = read_tls(cluster, now())
    credentials = read_credentials(user, cluster=lambda: exec_cluster(cluster, tls), exec_timeout=exec_timeout, now=now)
    certified = user.text("client-certificate") or user.text("client-certificate-data")
    secure = not tls.verify or tls.ca_file is not None or tls.ca_data is not None or bool(certified)
    return ClientConfig(
        server=read_server(cluster, secure=secure),
        namespace=context.text("namespace") or "default",
        credentials=credentials,
        tls=tls,
        proxy_url=cluster.text("proxy-url") or None,
        impersonate=read_impersonation(user),
        source=f"{merged.source}, context {name!r}" if name else merged.source,
    )


def _context(merged: Kubeconfig, name: str) -> KubeconfigEntry:
    """Return the context of this name; ``""`` is a name as well."""
    if context := merged.contexts.get(name):
        return context
    if name:
        raise ConfigError(f"{merged.source} has no context {name!r} ({_known(merged.contexts)})")
    if cluster := merged.clusters.get(""):  # kubeadm's cluster-info: a cluster without a name, and no context
        return KubeconfigEntry({}, cluster.origin, at="contexts")
    raise ConfigError(
        f"{merged.source} has no current-context: pass context= or run 'kubectl config use-context NAME' "
        f"({_known(merged.contexts)})"
    )


def _referenced(context: KubeconfigEntry, field: str, entries: Mapping[str, KubeconfigEntry]) -> KubeconfigEntry | None:
    name = context.text(field)
    if name and name not in entries:
        raise context.error(field, f"refers to the unknown {field} {name!r} ({_known(entries)})")
    return entries.get(name)


def _known(entries: Mapping[str, KubeconfigEntry]) -> str:
    names = [repr(name) for name in sorted(entries)]
    if not names:
        return "there are none"
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"there are {', '.join(names[:_SHOWN])}{more}"
