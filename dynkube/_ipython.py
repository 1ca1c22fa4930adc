"""``%load_ext dynkube``: IPython completes keys as deep as objects go, ``pod["metadata"]["labels"]["``.

Of classes that it does not know IPython completes the first key alone, as it does not run their code to get at what is
inside. Those of dynkube it may run: they decode JSON that is there already, or give the verbs on a resource
(``client["pods"].``), and ask no server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dynkube._client import Client
from dynkube.meta import Unstructured, UnstructuredList, UnstructuredTable
from dynkube.sync import Client as SyncClient

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

_READABLE: Final = frozenset({Unstructured, UnstructuredList, UnstructuredTable, Client, SyncClient})
_POLICY: Final = "allowed_getitem"


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Allow the completer to look into objects; called by IPython."""
    from IPython.core.guarded_eval import EVALUATION_POLICIES

    completer: Any = ipython.Completer  # IPython's types do not tell of its traits
    allowed = getattr(EVALUATION_POLICIES[completer.evaluation], _POLICY, None)
    if allowed is None:  # whoever chose a stricter or freer policy has it
        return
    allowed = completer.policy_overrides.get(_POLICY, allowed)
    completer.policy_overrides = {**completer.policy_overrides, _POLICY: allowed | _READABLE}


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """Take that back; called by IPython."""
    completer: Any = ipython.Completer
    overrides = dict(completer.policy_overrides)
    if _POLICY in overrides:
        overrides[_POLICY] = overrides[_POLICY] - _READABLE
    completer.policy_overrides = overrides
