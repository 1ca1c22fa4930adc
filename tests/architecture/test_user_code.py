"""User functions are called through ``dynkube._guard``, or within a call by the user, to which exceptions propagate.

A new parameter that accepts a function, and a new place that calls one, must be added to the lists below.
``tests/informers/test_user_code.py`` tests what happens if each of these functions raises.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import dynkube
from dynkube.controllers import Controller, Source, Watch
from dynkube.informers._filters.filters import BoundFilter
from dynkube.telemetry import Observer

PACKAGE = Path(str(dynkube.__file__)).parent

TAKEN = {
    # called by background tasks, or by reads on any thread
    "Client.informer": {"filter", "transform", "indexes"},
    "Informer.__init__": {"filter", "transform", "indexes", "factory"},  # the client passes the factory
    "Informer.add_handler": {"on_add", "on_update", "on_delete", "on_error"},
    "Informer.add_index": {"source"},
    "Informer.set_filter": {"filter"},
    "PredicateFilter.__init__": {"predicate"},
    "BoundFilter.__init__": {"matches", "ready", "pending", "close", "at_once"},
    "Controller.__init__": {"reconcile", "finalizer", "predicate", "indexes", "rate_limiter"},
    "Watch.__init__": {"to", "predicate", "indexes"},
    "Source.__init__": {"stream"},
    "InformerSettings.__init__": {"crd_filter"},
    # called only during the call that receives them
    "Informer.to_pandas": {"fields"},
    "Informer.to_polars": {"fields"},
    "Client.__init__": {"configure"},
    "Client.apply_all": {"on_entry", "on_error"},  # on_error is a string here
    "Client.diff_all": {"on_entry"},
    "Client.drain": {"on_report"},
}
"""Parameters that accept user functions."""

KEPT = re.compile(
    r"""\bon_(add|update|delete|error)$ | ^function$ | \._?func$ | \._transform$ | predicate$ | \bmatches$ | ^accepts$
    | \b_?bound\.\w+$ | \b(first|second)\.\w+$ | \.part\._bind$ | \bnew\._bind$ | \._method$ | \.cell$
    | ^asynchronous$ | ^to(\.keys)?$ | \._rate_limiter$ | \._stream$""",
    re.VERBOSE,
)
"""The expressions by which these functions are called."""

GUARD = {
    "_guard.attempt: function",
    "_guard.attempt_with: function",
    "_guard.passing: matches",
    "_guard.count_passing: matches",
}

INSIDE_OF_GUARDED = {
    # called by attempt or attempt_with
    "informers._views.applied_filter._is_ready: self._bound.ready",
    "informers._views.applied_filter.pending: self._bound.pending",
    "informers._views.handlers.call: on_add",
    "informers._views.handlers.call: self.on_update",
    "informers._views.handlers.call: self.on_delete",
    "informers._cache.index._found: self._func",
    "informers._cache.transform._transformed: self._transform",
    # called by the above: a filter that combines others adds no code that could fail
    "informers._filters.filters._bind: bound.reading",
    "informers._filters.filters._bind: first.reading",
    "informers._filters.filters._bind: second.reading",
    "informers._filters.filters._bind: first.ready",
    "informers._filters.filters._bind: second.ready",
    "informers._filters.filters._bind: first.pending",
    "informers._filters.filters._bind: second.pending",
    "informers._filters.filters.close: first.close",
    "informers._filters.filters.close: second.close",
    "informers._filters.filters._negated: matches",
    # called by finish, in the task or in a thread
    "controllers._calls._awaitable: asynchronous",
    "controllers._source._iterate: self._stream",
    "controllers._source._iterate_in_thread: self._stream",
    "controllers._calls.call: function",
    "controllers._cache_sources.keys: predicate",
    "controllers._watches.any_of: predicate",
    "controllers._watches.all_of: predicate",
    "controllers._cache_sources._mapped: to",
    "controllers._cache_sources._mapped: to.keys",
}
"""Functions that only the guard calls, and the user functions that they call."""

IN_A_CALL_OF_THE_USERS = {
    "informers._views.applied_filter.bind: new._bind",  # called by set_filter and __aenter__
    "informers._filters.filters._bind: first.close",
    "informers._filters.filters._bind: self.part._bind",
    "controllers._running.__init__: controller._rate_limiter",  # called by run
}

OUR_OWN = {
    "informers._filters.filters._bind: matches",  # LabelFilter's selector
    "informers._reads.list: matches",  # a label selector
    "informers._filters.namespace_filter._selected: selector.matches",
    "informers._waits._check_followed: key.label_selector.matches",
    "informers._pending_writes._comes: key.label_selector.matches",
    "informers._waits._check_followed: key.shard.matches",
    "informers._pending_writes._comes: key.shard.matches",
    "informers._pending_writes._may_meet: requirement.matches",
    "controllers._context.list: matches",  # a label selector
}


def calls() -> Iterator[str]:
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
        if module.split(".")[0] in ("informers", "controllers", "telemetry", "notebook", "_guard"):
            yield from _calls(ast.parse(path.read_text(encoding="utf-8")), module, "")


def _calls(node: ast.AST, module: str, function: str) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function = node.name
    if isinstance(node, ast.Call) and KEPT.search(called := ast.unparse(node.func)):
        yield f"{module}.{function}: {called}"
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, module, function)


def test_user_functions_are_called_only_in_the_listed_places() -> None:
    listed = GUARD | INSIDE_OF_GUARDED | IN_A_CALL_OF_THE_USERS | OUR_OWN

    found = set(calls())

    assert found - listed == set()
    assert listed - found == set(), "these calls no longer exist"


def test_every_parameter_that_accepts_a_function_is_listed() -> None:
    function_types = (
        "Callable",
        "Predicate",
        "Transform",
        "IndexFunc",
        "OnAdd",
        "OnUpdate",
        "OnDelete",
        "OnError",
        "Fields",
    )
    takes = re.compile(rf"\b({'|'.join((*function_types, 'Reconcile', 'Mapper', 'ChangePredicate', 'Stream'))})\b")
    classes = (
        dynkube.Client,
        dynkube.Informer,
        dynkube.PredicateFilter,
        dynkube.LabelFilter,
        dynkube.JSONPathFilter,
        dynkube.NamespaceFilter,
        dynkube.InformerSettings,
        BoundFilter,
        Controller,
        Watch,
        Source,
    )

    found: dict[str, set[str]] = {}
    for each in classes:
        for name, method in inspect.getmembers(each, inspect.isfunction):
            if name == "__init__" or not name.startswith("_"):
                parameters = inspect.signature(method).parameters.values()
                if names := {p.name for p in parameters if takes.search(str(p.annotation))}:
                    found[f"{each.__name__}.{name}"] = names

    assert found == TAKEN


def test_every_method_of_an_observer_is_called_through_a_hook() -> None:
    hooks = (PACKAGE / "telemetry" / "_observers.py").read_text(encoding="utf-8")
    methods = {name for name in vars(Observer) if not name.startswith("_")}

    assert {name for name in methods if f"Observer.{name}" in hooks} == methods
