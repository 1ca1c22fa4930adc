"""The keywords of structural schemas, by the tables in ``cases/``: a valid value, an invalid one, and its causes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contract.objects import JSONObject
from tests.contract.schemas.cases import alternatives, collections, formats, lists_and_embedded, scalars, types
from tests.contract.schemas.kit import Cause, Fields, places

CASES = [
    case for table in (types, scalars, formats, collections, lists_and_embedded, alternatives) for case in table.CASES
]
SCHEMAS = [case.values[0] for case in CASES]


@pytest.mark.parametrize(("schema", "good", "bad", "found"), CASES)
async def test_a_valid_value_is_kept_and_an_invalid_one_has_these_causes(
    widgets: Fields, schema: JSONObject, good: Any, bad: Any, found: list[Cause]
) -> None:
    stored = await widgets.stored(schema, good)
    causes = await widgets.causes(schema, bad)

    assert stored == good
    if widgets.cluster.version < (1, 25):  # the same errors with other messages
        assert places(causes) == places(found)
    else:  # in any order, as Go iterates over maps in random order
        assert sorted(causes) == sorted(found)
