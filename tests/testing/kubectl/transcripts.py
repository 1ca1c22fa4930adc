"""Transcripts of shell sessions, run again and compared: what kubectl says to a server, as a person would see it.

A transcript is text. Lines that begin with ``$`` are commands for bash, lines that begin with ``>`` continue them,
and what follows is what they print, standard error included. ``[1]`` as the last line is the exit code, where it is
not 0. Lines that begin with ``#`` are headings. In the output ``...`` on a line of its own stands for any lines,
``<*>`` for any text, ``<age>`` for an age such as ``5s`` or ``2m3s``, and runs of blanks for any number of blanks,
since kubectl's columns are as wide as their contents.
"""

from __future__ import annotations

import difflib
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import trio

_WILDCARDS = {"<*>": ".*?", "<age>": r"(?:\d+[smhdy])+"}


@dataclass
class Step:
    """One command and what it should print."""

    line: int
    command: str
    output: list[str] = field(default_factory=list)
    code: int = 0


def parse(text: str) -> Iterator[Step]:
    """The steps of a transcript."""
    step: Step | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("$ "):
            if step is not None:
                yield step
            step = Step(number, line[2:])
        elif line.startswith("> ") or line == ">":
            assert step is not None, f"line {number} continues nothing"
            step.command += "\n" + line[2:]
        elif re.fullmatch(r"\[\d+\]", line) and step is not None:
            step.code = int(line[1:-1])
        elif line.strip() and not line.startswith("#"):
            assert step is not None, f"line {number} is the output of no command"
            step.output.append(line.rstrip())
    if step is not None:
        yield step


@dataclass(frozen=True)
class Shell:
    """Where commands run."""

    folder: Path
    environment: Mapping[str, str]

    async def run(self, command: str) -> tuple[list[str], int]:
        """What ``command`` prints, blank lines left out, and its exit code."""
        done = await trio.run_process(
            ["bash", "-c", command],
            capture_stdout=True,
            stderr=subprocess.STDOUT,
            check=False,
            cwd=self.folder,
            env=dict(self.environment),
        )
        return [line.rstrip() for line in done.stdout.decode().splitlines() if line.strip()], done.returncode

    async def replay(self, text: str) -> None:
        """Run every command of a transcript, also those behind one that printed something else.

        Raises:
            AssertionError: Some did; with the differences to read.
        """
        wrong = []
        for step in parse(text):
            output, code = await self.run(step.command)
            if code != step.code or not matches(step.output, output):
                difference = "\n".join(difflib.ndiff(step.output, output))
                wrong.append(f"line {step.line}: $ {step.command}\nexit code {code}\n{difference}")
        assert not wrong, "\n\n".join(wrong)


def matches(expected: list[str], output: list[str]) -> bool:
    """Whether ``output`` is what the lines of a transcript describe."""
    pattern = "".join(r"(?:[^\n]*\n)*?" if line == "..." else f"{_pattern(line)}\n" for line in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in output)) is not None


def _pattern(line: str) -> str:
    parts = re.split(r"(<\*>|<age>|\s+)", line)
    return "".join(_WILDCARDS.get(part, r"\s+" if part.isspace() else re.escape(part)) for part in parts)
