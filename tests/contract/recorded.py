"""Tables of requests with the recorded responses of kube-apiserver; ``--record`` records them again.

A table has one document for each row. A row has the request, the ``answer`` of the current version, and ``old``, the
response of 1.20, if that differs. The embedded server must respond as the current version does. Names that differ
from test to test are written as ``{namespace}``, ``{group}`` and ``{label}``.
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
    """A file of rows."""

    path: Path
    rows: list[JSONObject] = field(repr=False)

    @classmethod
    def load(cls, path: Path) -> Table:
        """Read a table from a file."""
        return cls(path, load_cases(path))

    def response(self, row: JSONObject, version: tuple[int, int]) -> JSONObject:
        """Return the recorded response of a server of this version."""
        found: JSONObject = row["old"] if version <= _OLD and "old" in row else row["answer"]
        return found

    def record(self, row: JSONObject, version: tuple[int, int], response: JSONObject) -> None:
        """Record the response of a server of this version."""
        if version > _OLD:
            row["answer"] = response
        elif response != row["answer"]:
            row["old"] = response
        else:
            row.pop("old", None)
        dump_cases(self.path, self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseChecker:
    """Compares the responses of a cluster with those of a table, or records them there.

    Attributes:
        cluster: the cluster.
        records: record the responses instead of comparing them.
    """

    cluster: Cluster
    records: bool

    def fill_in(self, row: JSONObject) -> JSONObject:
        """Return ``row`` with the placeholders replaced by this test's names."""
        text = json.dumps(row)
        for placeholder, name in self._names:
            text = text.replace(placeholder, name)
        values: JSONObject = json.loads(text)
        return values

    def check(self, table: Table, row: JSONObject, response: JSONObject) -> None:
        """Compare ``response``, which has this test's names, with the recorded response.

        Raises:
            AssertionError: they differ.
        """
        given = self._general(response)
        if self.records:
            table.record(row, self.cluster.version, given)
        else:
            assert given == table.response(row, self.cluster.version)

    def _general(self, response: Any) -> Any:
        text = json.dumps(response)
        for placeholder, name in self._names:
            text = text.replace(name, placeholder)
        return json.loads(text)

    @property
    def _names(self) -> tuple[tuple[str, str], ...]:
        cluster = self.cluster
        label = cluster.group.partition(".")[0]
        return ("{namespace}", cluster.namespace), ("{group}", cluster.group), ("{label}", label)
