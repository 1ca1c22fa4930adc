"""What sends requests is read from the library: a new verb needs a scenario, or a reason why not."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.sweep.names import EXEMPT, missing, names
from tests.sweep.scenarios import every
from tests.sweep.sweep import sample
from tests.sweep.table import PAGE, cells_of

COVERED = [name for each in every() for name in each.covers]


def test_every_public_name_that_may_send_requests_has_a_scenario_or_a_reason() -> None:
    assert missing(COVERED) == []


def test_a_new_verb_is_missing_until_it_has_a_scenario() -> None:
    assert missing(name for name in COVERED if name != "dynkube.ResourceClient.scale") == [
        "dynkube.ResourceClient.scale"
    ]


def test_scenarios_cover_only_names_that_exist() -> None:
    assert set(COVERED) - set(names()) == set()


def test_a_reason_is_only_given_for_names_that_exist() -> None:
    known = list(names())

    assert [each for each in EXEMPT if not any(f"{name}.".startswith(f"{each}.") for name in known)] == []


def test_no_two_scenarios_have_the_same_row() -> None:
    assert Counter(each.feature for each in every()).most_common(1)[0][1] == 1


@pytest.mark.skip(reason="issue 40 is open: python -m tests.sweep has to write the page")
def test_the_page_has_the_features_that_are_swept() -> None:
    shown = {feature for feature, _ in cells_of(PAGE.read_text(encoding="utf-8"))}

    assert shown == {each.feature for each in every()}


def test_the_sample_has_each_answer_that_the_whole_sweep_has() -> None:
    (scenario,) = [each for each in every() if each.feature == "get"]

    assert len({each.answer for each in sample(scenario)}) == 9
