"""``%load_ext dynkube``: IPython completes keys as deep as objects go, ``pod["metadata"]["labels"]["``.

Of classes that it does not know IPython completes the first key alone, as it does not run their code to get at what is
inside. Those of dynkube it may run: they decode JSON that is there already, or give the verbs on a resource
(``client["pods"].``, ``client.resources.pods.``), and ask no server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynkube._client import Client
from dynkube.client import Resources
from dynkube.informers import OwnerTree
from dynkube.meta import Unstructured, UnstructuredList, UnstructuredTable
from dynkube.sync import Client as SyncClient
from dynkube.sync import UnstructuredList as SyncList
from dynkube.sync import UnstructuredTable as SyncTable

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_READABLE: Final = frozenset(
    {
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
    """Allow the completer to look into objects; called by IPython."""
    from IPython.core.guarded_eval import EVALUATION_POLICIES

    completer: Any = ipython.Completer  # IPython's types do not tell of its traits
    overrides = dict(completer.policy_overrides)
    for policy in _POLICIES:
        allowed = getattr(EVALUATION_POLICIES[completer.evaluation], policy, None)
        if allowed is not None:  # whoever chose a stricter or freer policy has it
            overrides[policy] = overrides.get(policy, allowed) | _READABLE
    completer.policy_overrides = overrides


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """Take that back; called by IPython. What others have overridden stays, also where they did so meanwhile."""
    from IPython.core.guarded_eval import EVALUATION_POLICIES

    completer: Any = ipython.Completer
    overrides = dict(completer.policy_overrides)
    for policy in _POLICIES:
        if policy in overrides:
            overrides[policy] = overrides[policy] - _READABLE
            # What any policy says by itself is no override, and IPython would warn of it under another policy.
            if any(overrides[policy] == getattr(each, policy, None) for each in EVALUATION_POLICIES.values()):
                del overrides[policy]
    completer.policy_overrides = overrides
