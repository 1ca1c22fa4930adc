"""``%load_ext dynkube``: completion of keys at any depth in IPython.

An example is ``pod["metadata"]["labels"]["``. For classes outside its allowlist, IPython completes the first key only,
as it does not run their ``__getitem__``. Those of dynkube are safe to run: they decode JSON in memory, or return the
verbs on a resource (``client["pods"].``, ``client.resources.pods.``), and send no requests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynkube._client import Client
from dynkube.aio import Client as AsyncioClient
from dynkube.client._completion import Resources
from dynkube.informers import OwnerTree
from dynkube.meta import Unstructured, UnstructuredList, UnstructuredTable
from dynkube.sync import Client as SyncClient
from dynkube.sync import UnstructuredList as SyncList
from dynkube.sync import UnstructuredTable as SyncTable

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_READABLE: Final = frozenset(
    {
        AsyncioClient,
        Client,
        OwnerTree,
        Resources,
        SyncClient,
        SyncList,
        SyncTable,
        Unstructured,
        UnstructuredList,
        UnstructuredTable,
    }
)
_POLICIES: Final = ("allowed_getitem", "allowed_getattr")


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Allow IPython's completer to evaluate expressions with dynkube's classes.

    IPython calls this for ``%load_ext dynkube``.
    """
    from IPython.core.guarded_eval import EVALUATION_POLICIES

    completer: Any = ipython.Completer  # IPython's type hints lack its traits
    overrides = dict(completer.policy_overrides)
    for policy in _POLICIES:
        allowed = getattr(EVALUATION_POLICIES[completer.evaluation], policy, None)
        if allowed is not None:  # policies without allowlists are left unchanged
            overrides[policy] = overrides.get(policy, allowed) | _READABLE
    completer.policy_overrides = overrides


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """Undo the extension; called by IPython.

    Overrides by other code are kept, even if made later.
    """
    from IPython.core.guarded_eval import EVALUATION_POLICIES

    completer: Any = ipython.Completer
    overrides = dict(completer.policy_overrides)
    for policy in _POLICIES:
        if policy in overrides:
            overrides[policy] = overrides[policy] - _READABLE
            # Drop an override that equals a policy's default: IPython would warn about it under another policy.
            if any(overrides[policy] == getattr(each, policy, None) for each in EVALUATION_POLICIES.values()):
                del overrides[policy]
    completer.policy_overrides = overrides
