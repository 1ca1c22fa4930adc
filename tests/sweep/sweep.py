"""The whole sweep, or a part of it."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from tests.sweep.answers import ANSWERS, Answer
from tests.sweep.lab import Scenario
from tests.sweep.play import Line, play, requests_of
from tests.sweep.table import Result


def sweep(scenario: Scenario, answers: tuple[Answer, ...] = ANSWERS) -> Iterator[Result]:
    """Give each answer once to each request of a scenario, and yield what it did."""
    for line in requests_of(scenario):
        yield from (_result(scenario, answer, line) for answer in answers if answer.fits(line))


def sample(scenario: Scenario) -> list[Result]:
    """Give each answer once to one of the requests of a scenario: always to the same one, by a hash."""
    lines = requests_of(scenario)
    return [_result(scenario, answer, line) for answer, line in _chosen(scenario, lines)]


def _chosen(scenario: Scenario, lines: tuple[Line, ...]) -> Iterator[tuple[Answer, Line]]:
    for answer in ANSWERS:
        fitting = [line for line in lines if answer.fits(line)]
        if fitting:
            number = zlib.crc32(f"{scenario.feature}/{answer.title}".encode())
            yield answer, fitting[number % len(fitting)]


def _result(scenario: Scenario, answer: Answer, line: Line) -> Result:
    played = play(scenario, answer, line)
    return Result(scenario.feature, str(line), answer.title, played.outcome, played.wrong)
