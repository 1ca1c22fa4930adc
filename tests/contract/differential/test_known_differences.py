"""Every accepted difference still occurs; otherwise it is fixed, and must be removed from the table."""

from __future__ import annotations

import pytest

from tests.contract.backends import Backend
from tests.contract.differential.areas.catalog import AREAS
from tests.contract.differential.known import KNOWN, OLDER, Known
from tests.contract.differential.players import script_player


@pytest.mark.real_time
@pytest.mark.parametrize("known", [*KNOWN, *OLDER], ids=lambda known: known.name.replace(" ", "-"))
def test_an_accepted_difference_still_occurs(known: Known, backend: Backend) -> None:
    if not backend.real:
        pytest.skip("needs a real server")
    if (backend.version < (1, 36)) != (known in OLDER):
        pytest.skip("the difference is that of another release")

    with (
        script_player(backend, AREAS[known.area].setup, [known]) as play,
        script_player(backend, AREAS[known.area].setup) as bare,
    ):
        assert play(known.script) is None
        assert bare(known.script) is not None
