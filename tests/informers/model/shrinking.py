"""Shortens a failing script: leaves out steps, then simplifies their arguments, as long as it fails in the same way.

hypothesis could do it, but knows nothing of steps: it tries thousands of variants of the numbers behind a script, and
each takes a tenth of a second here. Leaving out whole lines takes some seconds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from tests.informers.model.scripted import ScriptedMachine

Script = list[str]

_LINE: Final = re.compile(r"\s*((?:informer|listener|fault|backup)_\d+ = )?state\.(\w+)\(.*\)$")
_DEFINED: Final = re.compile(r"(\w+) = state\.")
_ARGUMENT: Final = re.compile(r"(\w+)=('[^']*'|[\w.]+)")

_PLAIN: Final[Mapping[str, tuple[str, ...]]] = {
    "aggregated": ("True",),
    "again": ("'never'", "'at once'"),
    "at": ("'default/a'", "'blue/a'"),
    "breathing": ("False",),
    "chosen": ("True",),
    "crd_rights": ("True",),
    "most": ("250", "2"),
    "name": ("'blue'", "'default'"),
    "count": ("1", "5"),
    "effect": ("'403'", "'500'"),
    "ending": ("'clean'", "'reset'"),
    "there": ("True",),
    "early": ("'none'", "'plain'"),
    "established_after": ("0.0",),
    "with_objects": ("True",),
    "how": ("'everything'",),
    "kind": ("'plain'",),
    "label": ("'chosen'",),
    "plural": ("'widgets'",),
    "resource": ("'widgets'", "'widgets.v1.example.com'", "'configmaps'"),
    "scope": ("'Namespaced'",),
    "seconds": ("0.3", "2.0"),
    "selection": ("'everything'",),
    "served": ("'v1'",),
    "shown": ("'all'", "'team'", "'chosen'", "'big'", "'named'"),
    "size": ("'small'",),
    "streaming": ("True",),
    "team": ("'x'",),
    "times": ("1",),
    "transform": ("'usual'",),
    "verb": ("'list'",),
    "what": ("'watches end'", "'watches are cut'"),
}
"""Simple values of each argument, the simplest first."""


def script_of(error: BaseException) -> Script:
    """Return the steps of the script that hypothesis printed into the notes of ``error``; the first is the start."""
    lines = "\n".join(getattr(error, "__notes__", ())).splitlines()
    return [line.strip() for line in lines if _LINE.match(line) and not line.strip().startswith("state.teardown")]


def failure_of(machine: type[ScriptedMachine], script: Iterable[str]) -> Exception | None:
    """Play a script, and return the exception; ``None`` if it passes."""
    state = machine()
    variables = {"state": state}
    try:
        try:
            for line in script:
                exec(line, {}, variables)
        finally:
            state.teardown()
    except Exception as error:
        return error
    return None


def shrink(machine: type[ScriptedMachine], script: Script) -> Script:
    """Return the shortest script found that fails in the same way."""
    failure = failure_of(machine, script)
    if failure is None:
        return script
    kind, before = _kind(failure), None
    while script != before:
        before = script
        size = max(1, len(script) // 2)
        while size:
            script = _shortened(machine, script, size, kind)
            size //= 2
        script = _plainer(machine, script, kind)
    return script


def _shortened(machine: type[ScriptedMachine], script: Script, size: int, kind: str) -> Script:
    """Leave out as many runs of ``size`` steps as possible, from the end; the start stays."""
    end = len(script)
    while end > 1:
        begin = max(1, end - size)
        candidate = _consistent(script[:begin] + script[end:])
        if _fails(machine, candidate, kind):
            script = candidate
        end = min(begin, len(script))
    return script


def _plainer(machine: type[ScriptedMachine], script: Script, kind: str) -> Script:
    for position, line in enumerate(script):
        for argument in _ARGUMENT.finditer(line):
            name, value = argument.groups()
            plain = () if name in machine.fixed else _PLAIN.get(name, ())
            for simple in plain[: plain.index(value)] if value in plain else plain:
                changed = script[position].replace(f"{name}={value}", f"{name}={simple}")
                candidate = [*script[:position], changed, *script[position + 1 :]]
                if _fails(machine, candidate, kind):
                    script = candidate
                    break
    return script


def _consistent(script: Script) -> Script:
    """Remove the steps whose informer, listener, fault or backup is not defined any more."""
    known, kept = set[str](), Script()
    for line in script:
        used = set(re.findall(r"=((?:informer|listener|fault|backup)_\d+)", line))
        if used <= known:
            kept.append(line)
            if defined := _DEFINED.match(line):
                known.add(defined[1])
    return kept


def _fails(machine: type[ScriptedMachine], script: Script, kind: str) -> bool:
    found = failure_of(machine, script)
    return found is not None and _kind(found) == kind


def _kind(error: Exception) -> str:
    """Return the kind of a failure: its type, and the line that raised it."""
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    where = "" if traceback is None else f"{traceback.tb_frame.f_code.co_qualname}:{traceback.tb_lineno}"
    return f"{type(error).__name__} in {where}"
