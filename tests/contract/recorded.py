"""Tables of requests and what kube-apiserver answered to each; ``--record`` writes the answers anew.

A table has one document for each row. A row has what its test sends, the ``answer`` of the current version, and
``old``, the answer of 1.20, where that differs. The embedded server has to answer as the current version does. Names
that are a test's own are written ``{namespace}``, ``{group}`` and ``{label}``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject
from tests.recorded_cases import dump_cases, load_cases

_OLD = (1, 20)


@dataclass(frozen=True, slots=True)
class Table:
    """One file of rows."""

    path: Path
    rows: list[JSONObject] = field(repr=False)

    @classmethod
    def load(cls, path: Path) -> Table:
        """The table in a file."""
        return cls(path, load_cases(path))

    def answer(self, row: JSONObject, version: tuple[int, int]) -> JSONObject:
        """What a server of this version answers to ``row``."""
        found: JSONObject = row["old"] if version <= _OLD and "old" in row else row["answer"]
        return found

    def record(self, row: JSONObject, version: tuple[int, int], answer: JSONObject) -> None:
        """Write down what a server of this version has answered to ``row``."""
        if version > _OLD:
            row["answer"] = answer
        elif answer != row["answer"]:
            row["old"] = answer
        else:
            row.pop("old", None)
        dump_cases(self.path, self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Compares what a cluster answers with a table, or writes it into it.

    Attributes:
        cluster: Who answers.
        records: Whether its answers are written down.
    """

    cluster: Cluster
    records: bool

    def filled(self, row: JSONObject) -> JSONObject:
        """``row`` with the names of this test."""
        text = json.dumps(row)
        for placeholder, name in self._names:
            text = text.replace(placeholder, name)
        filled: JSONObject = json.loads(text)
        return filled

    def judge(self, table: Table, row: JSONObject, answer: JSONObject) -> None:
        """Hold ``answer``, with the names of this test in it, to what ``table`` says.

        Raises:
            AssertionError: It is another one.
        """
        given = self._general(answer)
        if self.records:
            table.record(row, self.cluster.version, given)
        else:
            assert given == table.answer(row, self.cluster.version)

    def _general(self, answer: Any) -> Any:
        text = json.dumps(answer)
        for placeholder, name in self._names:
            text = text.replace(name, placeholder)
        return json.loads(text)

    @property
    def _names(self) -> tuple[tuple[str, str], ...]:
        cluster = self.cluster
        label = cluster.group.partition(".")[0]
        return ("{namespace}", cluster.namespace), ("{group}", cluster.group), ("{label}", label)
