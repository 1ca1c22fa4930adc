"""Each keyword of structural schemas, by the tables in ``cases/``: a value that fits it, one that does not, and why."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube.testing._calls.api import JSONObject
from tests.testing.schemas.cases import alternatives, collections, formats, lists_and_embedded, scalars, types
from tests.testing.schemas.kit import Cause, causes, serving, stored

TABLES = (types, scalars, formats, collections, lists_and_embedded, alternatives)


@pytest.mark.parametrize(("schema", "good", "bad", "found"), [case for table in TABLES for case in table.CASES])
def test_a_fitting_value_is_kept_and_another_is_refused_with_its_causes(
    schema: JSONObject, good: Any, bad: Any, found: list[Cause]
) -> None:
    cluster = serving(schema)

    kept = stored(cluster, good)

    assert kept == good
    assert causes(cluster, bad) == found
