"""Transcripts of shell sessions: run the commands again and compare the output.

A transcript is text. Lines that begin with ``$`` are commands for bash, lines that begin with ``>`` continue them,
and the lines after them are their output, including standard error. ``[1]`` as the last line is the exit code if it
is not 0. Lines that begin with ``#`` are headings. In the output, ``...`` on a line of its own matches any lines,
``<*>`` any text, ``<age>`` an age such as ``5s`` or ``2m3s``, and a run of blanks any number of blanks, since the
width of kubectl's columns depends on their contents.
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
    """One command and its expected output."""

    line: int
    command: str
    output: list[str] = field(default_factory=list)
    code: int = 0


def parse(text: str) -> Iterator[Step]:
    """Yield the steps of a transcript."""
    step: Step | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("$ "):
            if step is not None:
                yield step
            step = Step(number, line[2:])
        elif line.startswith("> ") or line == ">":
            assert step is not None, f"line {number} continues no command"
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
    """The folder and environment of commands."""

    folder: Path
    environment: Mapping[str, str]

    async def run(self, command: str) -> tuple[list[str], int]:
        """Run ``command``; return its output without blank lines, and its exit code."""
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
        """Run all commands of a transcript, also after one whose output differs.

        Raises:
            AssertionError: The output of a command differs; the message has the differences.
        """
        wrong = []
        for step in parse(text):
            output, code = await self.run(step.command)
            if code != step.code or not matches(step.output, output):
                difference = "\n".join(difflib.ndiff(step.output, output))
                wrong.append(f"line {step.line}: $ {step.command}\nexit code {code}\n{difference}")
        assert not wrong, "\n\n".join(wrong)


def matches(expected: list[str], output: list[str]) -> bool:
    """Return whether ``output`` matches the lines of a transcript."""
    pattern = "".join(r"(?:[^\n]*\n)*?" if line == "..." else f"{_pattern(line)}\n" for line in expected)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in output)) is not None


def _pattern(line: str) -> str:
    parts = re.split(r"(<\*>|<age>|\s+)", line)
    return "".join(_WILDCARDS.get(part, r"\s+" if part.isspace() else re.escape(part)) for part in parts)
