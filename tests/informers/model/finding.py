"""Lets the machine find each seeded bug, and writes the shrunk scripts into the README in this directory.

``python -m tests.informers.model.finding`` runs all bugs, or those named on the command line.
"""

from __future__ import annotations

import inspect
import logging
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tests.informers.model.availability import AvailabilityMachine
from tests.informers.model.availability_bugs import AVAILABILITY_BUGS
from tests.informers.model.campaign import play
from tests.informers.model.machine import InformerMachine
from tests.informers.model.scripted import ScriptedMachine
from tests.informers.model.seeded_bugs import SEEDED, Bug
from tests.informers.model.set_bugs import FURTHER_SET_BUGS, SET_BUGS, VERDICT_BUGS
from tests.informers.model.sets import SetMachine
from tests.informers.model.shrinking import Script

README: Final = Path(__file__).with_name("README.md")
_FOUND: Final = "<!-- found: written by python -m tests.informers.model.finding -->\n"
_SECTION: Final = re.compile(r"### ([^\n]+)\n\n[^`]*?from seed (\d+).*?```python\n(.*?)```", re.DOTALL)

BUGS: Final[Mapping[Bug, type[ScriptedMachine]]] = {
    **dict.fromkeys(SEEDED, InformerMachine),
    **dict.fromkeys(AVAILABILITY_BUGS, AvailabilityMachine),
    **dict.fromkeys(SET_BUGS, SetMachine),
}
"""The recorded seeded bugs, and the machine that has to find each of them."""

FURTHER: Final[Mapping[Bug, type[ScriptedMachine]]] = {
    **dict.fromkeys(VERDICT_BUGS, AvailabilityMachine),
    **dict.fromkeys(FURTHER_SET_BUGS, SetMachine),
}
"""Those without a recorded script: they are looked for if they are named, and recorded once they are in BUGS."""

EXAMPLES: Final = 30
"""Examples per seed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The seed with which a bug was found, and the script that shows it."""

    seed: int
    script: Script


def find(machine: type[ScriptedMachine], bug: Bug, seeds: range, *, shrinking: bool = True) -> Found | None:
    """Play scripts on dynkube with ``bug`` patched in until one fails; ``None`` if none fails."""
    with pytest.MonkeyPatch.context() as patch:
        bug(patch)
        for seed in seeds:
            try:
                play(machine, seed, EXAMPLES, shrinking=shrinking)
            except Exception as error:
                lines = error.__notes__[-1].splitlines()
                return Found(seed=seed, script=lines[1:-1])  # without "Shrunk:" and the teardown
    return None


def title(bug: Bug) -> str:
    """Return the name of a bug as a title."""
    return bug.__name__.replace("_", " ").capitalize()


def recorded() -> dict[str, Found]:
    """Return the findings in the README, by title."""
    text = README.read_text()
    return {name: Found(seed=int(seed), script=script.splitlines()) for name, seed, script in _SECTION.findall(text)}


def main() -> None:
    """Find the bugs, and update the README."""
    logging.disable()
    found = recorded()
    for bug, machine in {**BUGS, **FURTHER}.items():
        if bug.__name__ in sys.argv[1:] or (bug in BUGS and not sys.argv[1:]):
            finding = find(machine, bug, range(20))
            print(f"{title(bug)}: {finding or 'not found'}", flush=True)
            if finding is None:
                found.pop(title(bug), None)
            else:
                found[title(bug)] = finding
            _write(found)


def _write(found: dict[str, Found]) -> None:
    before = README.read_text().partition(_FOUND)[0]
    sections = [_section(bug, found[title(bug)]) for bug in BUGS if title(bug) in found]
    README.write_text(f"{before}{_FOUND}\n" + "\n".join(sections))


def _section(bug: Bug, found: Found) -> str:
    script = "\n".join(found.script)
    return f"### {title(bug)}\n\n{inspect.getdoc(bug)} Found from seed {found.seed}:\n\n```python\n{script}\n```\n"


if __name__ == "__main__":
    main()
