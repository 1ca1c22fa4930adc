"""The public names that may send requests, read from the library itself, and why some have no scenario.

A name is a coroutine function, an async generator, a class with ``async with`` or ``async for``, or a function that
returns one. Of some functions each parameter counts as well, as it is a feature of its own.
"""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from dynkube.client._conditions import _FORMS

PUBLIC: Final = Path(__file__).parents[2] / "docs" / "reference" / "public-api.txt"
FACADES: Final = ("dynkube.aio", "dynkube.sync", "dynkube.notebook", "dynkube_testing")
"""They delegate to the async API, held together by a parity test; or are no client."""
WITH_PARAMETERS: Final = {
    "dynkube.Client.informer": None,
    "dynkube.controllers.run": None,
    "dynkube.Client.apply_all": ("dry_run", "prune"),
    "dynkube.Client.logs": ("follow",),
}
"""Functions, and which of their parameters change the requests; ``None`` for all of them."""
CONDITIONS: Final = "dynkube.ResourceClient.wait_for"

_SENDS_NOTHING: Final = "sends no request"
_CREDENTIALS: Final = "reads credentials, and sends no request to the API server"
_CONNECTION: Final = "uses an open connection, on which no answer follows"
_LOCAL: Final = "is applied to what was received"

EXEMPT: Final = {
    "dynkube.connect": "entering the client sends no request",
    "dynkube.Client": "entering it sends no request",
    "dynkube.Informer.aclose": _SENDS_NOTHING,
    "dynkube.Join.aclose": _SENDS_NOTHING,
    "dynkube.Registration.wait_synced": "waits as Informer.wait_synced does, in the scenarios of informers",
    "dynkube.Pod.copy_from": "opens connections as open_exec does, and writes files in threads",
    "dynkube.Pod.copy_to": "opens connections as open_exec does",
    "dynkube.Pod.port_forward": "opens connections as connect does, from threads and real sockets",
    "dynkube.client.Watch.aclose": _SENDS_NOTHING,
    "dynkube.config": _CREDENTIALS,
    "dynkube.controllers.EventRecorder": "writes as ctx.event does, in the scenarios of controllers",
    "dynkube.controllers.WorkQueue": "a data structure",
    "dynkube.pods.LogStream": "what Pod.logs opens, in its scenarios",
    "dynkube.pods.MergedLogs": "what Client.logs opens, in its scenarios",
    "dynkube.pods.PortStream": _CONNECTION,
    "dynkube.pods.Process": _CONNECTION,
    "dynkube.pods.ProcessInput": _CONNECTION,
    "dynkube.pods.ProcessOutput": _CONNECTION,
    "dynkube.Client.informer(resource)": "in all scenarios",
    "dynkube.Client.informer(filter)": _LOCAL,
    "dynkube.Client.informer(transform)": _LOCAL,
    "dynkube.Client.informer(indexes)": _LOCAL,
    "dynkube.Client.informer(compact)": _LOCAL,
    "dynkube.controllers.run(client)": "in all scenarios",
    "dynkube.controllers.run(controllers)": "in all scenarios",
    "dynkube.controllers.run(lease_cluster)": "chooses the client that has the Lease, as in the scenarios of elections",
    "dynkube.controllers.run(lifespan)": "a function of the program",
    "dynkube.controllers.run(server)": "a server of this process",
    "dynkube.controllers.run(signals)": _SENDS_NOTHING,
    "dynkube.controllers.run(shutdown_timeout)": _SENDS_NOTHING,
    "dynkube.controllers.run(now)": "a clock",
    "dynkube.controllers.run(random)": "a source of randomness",
    "dynkube.controllers.run(task_status)": _SENDS_NOTHING,
}
"""Names without a scenario, and why; a class or a module stands for its members."""


def names() -> Iterator[str]:
    """Yield the public names that may send requests, each object once."""
    seen: set[int] = set()
    for name, value in _public():
        if _may_send(value) and id(value) not in seen:
            seen.add(id(value))
            yield name
            yield from _features(name, value)


def exemption(name: str) -> str:
    """Return why a name needs no scenario; ``""`` if it does."""
    parts = name.split(".")
    prefixes = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((EXEMPT[prefix] for prefix in prefixes if prefix in EXEMPT and _stands_for(prefix, name)), "")


def _stands_for(prefix: str, name: str) -> bool:
    """A client stands for nothing but itself."""
    return prefix == name or prefix != "dynkube.Client"


def missing(covered: Iterable[str]) -> list[str]:
    """Return the names that have neither a scenario nor an exemption."""
    known = set(covered)
    return [name for name in names() if name not in known and not exemption(name)]


def _features(name: str, value: Any) -> Iterator[str]:
    if name in WITH_PARAMETERS:
        chosen = WITH_PARAMETERS[name]
        parameters = [each for each in inspect.signature(value).parameters if each != "self"]
        yield from (f"{name}({each})" for each in parameters if chosen is None or each in chosen)
    if name == CONDITIONS:
        words = (re.split(r"\W", form)[0] for form in re.findall(r"'([^']+)'", _FORMS))
        yield from (f"{name}({each})" for each in dict.fromkeys(words))


def _public() -> Iterator[tuple[str, Any]]:
    for name in PUBLIC.read_text(encoding="utf-8").split():
        if not name.startswith(FACADES):
            yield name, _resolved(name)


def _resolved(name: str) -> Any:
    value: Any = None
    for part in name.split("."):
        if value is None:
            value = importlib.import_module(part)
        elif inspect.isclass(value):
            value = inspect.getattr_static(value, part, None)
            value = value.__func__ if isinstance(value, staticmethod | classmethod) else value
        else:
            value = getattr(value, part) if hasattr(value, part) else importlib.import_module(name)
        if value is None:
            return None
    return value


def _may_send(value: Any) -> bool:
    if inspect.isclass(value):
        return _is_opened(value)
    if not inspect.isfunction(value):
        return False
    if inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value):
        return True
    returned = str(value.__annotations__.get("return", ""))
    return "Async" in returned or returned in {name.rpartition(".")[2] for name, each in _classes() if _is_opened(each)}


def _classes() -> Iterator[tuple[str, Any]]:
    return ((name, value) for name, value in _public() if inspect.isclass(value))


def _is_opened(cls: type) -> bool:
    return any(hasattr(cls, each) for each in ("__aenter__", "__aiter__", "__anext__"))
