"""The embedded server and a real one respond equally to random sequences of requests."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.contract.backends import Backend
from tests.contract.differential.areas.catalog import AREAS
from tests.contract.differential.effort import Effort
from tests.contract.differential.known import KNOWN, OLDER
from tests.contract.differential.players import script_player
from tests.contract.differential.requests import Request
from tests.contract.differential.side_by_side import Difference


@pytest.mark.real_time
@pytest.mark.timeout(0)
@pytest.mark.parametrize("area", AREAS)
def test_both_servers_respond_equally(area: str, backend: Backend, effort: Effort) -> None:
    """The messages of releases older than 1.36, which the embedded server follows, mostly differ.

    So the usual run compares only with 1.36, and surveys compare a few areas with older releases too.
    """
    if backend.version < (1, 36) and not (AREAS[area].older and effort.survey):
        pytest.skip("the embedded server has the messages of 1.36")
    if AREAS[area].skip_reason and not effort.survey:
        pytest.skip(AREAS[area].skip_reason)
    found: dict[str, Difference] = {}

    accepted = KNOWN if backend.version >= (1, 36) else (*KNOWN, *OLDER)
    with script_player(backend, AREAS[area].setup, accepted) as play:

        @effort.settings(itself=not backend.real)
        @effort.seed
        @given(AREAS[area].scripts())
        def compare(script: list[Request]) -> None:
            difference = play(script)
            if difference is not None:
                found.setdefault(difference.kind, difference)
                assert effort.survey, str(difference)

        compare()

    assert not found, effort.report(found)
