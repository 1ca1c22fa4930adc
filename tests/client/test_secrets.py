"""Values of Secrets that are no map, as a manifest may have them by mistake: hidden like all others."""

from __future__ import annotations

from typing import Any

import pytest

from dynkube import Diff, Unstructured
from dynkube.client._apply.differing import drift_between


def secret(**sections: Any) -> Unstructured:
    return Unstructured({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, **sections})


def shown(diff: Diff) -> str:
    return f"{diff}{diff.table()}{diff!r}{diff._repr_html_()}{diff.before}{diff.after}{diff.changes}"


@pytest.mark.parametrize("section", ["data", "stringData"])
@pytest.mark.parametrize("wrong", ["hunter2", ["hunter2"], [{"password": "hunter2"}]])
@pytest.mark.parametrize("right", [{"password": "hunter3"}, None, "hunter3"])
def test_values_stay_hidden(section: str, wrong: Any, right: Any) -> None:
    wanted, live = secret(**{section: wrong}), secret(**({section: right} if right else {}))

    for diff in (
        drift_between(wanted, live, manager="me", subresource=None),
        drift_between(live, wanted, manager="me", subresource=None),
        drift_between(wanted, None, manager="me", subresource=None),
    ):
        assert "hunter" not in shown(diff)


def test_it_shows_that_they_differ() -> None:
    diff = drift_between(secret(data="one"), secret(data="two"), manager="me", subresource=None)

    assert [(str(each.path), each.before, each.after) for each in diff.changes] == [
        (".data", "*** (before)", "*** (after)")
    ]
