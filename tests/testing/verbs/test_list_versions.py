"""Every combination of resourceVersion, resourceVersionMatch and limit that a list may have, as the API defines them.

https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
"""

from __future__ import annotations

import pytest

from dynkube.errors import APIError
from tests.testing.engine.cluster import Cluster, config

ALL = "abcde"
UNSET = None


@pytest.fixture
def five(bare: Cluster) -> Cluster:
    """Five objects, and each combination may name the revision behind the third by ``{third}``."""
    for name in ALL:
        bare.create("configmaps", config(name))
    return bare


def ask(five: Cluster, **params: str | None) -> tuple[str, bool]:
    """The names, and whether there is more."""
    third = five.get("configmaps", "c")["metadata"]["resourceVersion"]
    query = {key: value.format(third=third) for key, value in params.items() if value is not None}
    answer = five.list_of("configmaps", **query)
    return "".join(item["metadata"]["name"] for item in answer["items"]), "continue" in answer["metadata"]


@pytest.mark.parametrize(
    ("version", "match", "limit", "names"),
    [
        (UNSET, UNSET, UNSET, "abcde"),
        (UNSET, UNSET, "2", "ab"),
        (UNSET, UNSET, "0", "abcde"),
        (UNSET, UNSET, "-1", "abcde"),
        ("", "", "2", "ab"),
        ("0", UNSET, UNSET, "abcde"),
        ("0", UNSET, "2", "abcde"),
        ("0", "NotOlderThan", UNSET, "abcde"),
        ("0", "NotOlderThan", "2", "abcde"),
        ("{third}", UNSET, UNSET, "abcde"),
        ("{third}", UNSET, "2", "ab"),
        ("{third}", UNSET, "9", "abc"),
        ("{third}", "Exact", UNSET, "abc"),
        ("{third}", "Exact", "2", "ab"),
        ("{third}", "NotOlderThan", UNSET, "abcde"),
        ("{third}", "NotOlderThan", "9", "abcde"),
    ],
)
def test_which_state_is_shown_and_how_much_of_it(
    five: Cluster, version: str | None, match: str | None, limit: str | None, names: str
) -> None:
    shown, more = ask(five, resourceVersion=version, resourceVersionMatch=match, limit=limit)

    assert shown == names
    assert more == (names == "ab")


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        ({"resourceVersionMatch": "Exact"}, 422, "is forbidden unless resourceVersion is provided"),
        ({"resourceVersionMatch": "NotOlderThan"}, 422, "is forbidden unless resourceVersion is provided"),
        (
            {"resourceVersion": "0", "resourceVersionMatch": "Exact"},
            422,
            '"exact" is forbidden for resourceVersion "0"',
        ),
        ({"resourceVersion": "x", "resourceVersionMatch": "x"}, 422, 'Unsupported value: "x"'),
        ({"sendInitialEvents": "false"}, 422, "sendInitialEvents is forbidden for list"),
        ({"resourceVersion": "x"}, 400, 'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x"'),
        ({"resourceVersion": "-1"}, 400, 'parsing "-1": invalid syntax'),
        ({"resourceVersion": "18446744073709551616"}, 400, "value out of range"),
        ({"limit": "x"}, 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ({"limit": ""}, 400, 'strconv.ParseInt: parsing "": invalid syntax'),
        ({"timeoutSeconds": "99999999999999999999"}, 400, "value out of range"),
        ({"continue": "e30"}, 400, "server does not recognize this encoded version"),
        ({"continue": "%"}, 400, "invalid continue token: continue key is not valid"),
    ],
)
def test_what_makes_no_sense_is_refused(five: Cluster, params: dict[str, str], code: int, words: str) -> None:
    with pytest.raises(APIError) as caught:
        five.list_of("configmaps", **params)

    assert caught.value.code == code
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("version", "limit", "names"), [(UNSET, "2", "cd"), (UNSET, UNSET, "cde"), ("0", "2", "cde"), ("0", UNSET, "cde")]
)
def test_a_list_goes_on_behind_its_last_chunk(
    five: Cluster, version: str | None, limit: str | None, names: str
) -> None:
    token = five.list_of("configmaps", limit="2")["metadata"]["continue"]

    shown, more = ask(five, **{"continue": token}, resourceVersion=version, limit=limit)

    assert (shown, more) == (names, names == "cd")


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        ({"resourceVersion": "1"}, 400, "specifying resource version is not allowed when using continue"),
        ({"resourceVersion": "1", "resourceVersionMatch": "Exact"}, 422, "is forbidden when continue is provided"),
    ],
)
def test_a_token_knows_its_version(five: Cluster, params: dict[str, str], code: int, words: str) -> None:
    token = five.list_of("configmaps", limit="2")["metadata"]["continue"]

    with pytest.raises(APIError) as caught:
        five.list_of("configmaps", **{"continue": token}, **params)

    assert caught.value.code == code
    assert words in str(caught.value)


def test_the_rest_is_counted_only_where_nothing_selects(five: Cluster) -> None:
    plain = five.list_of("configmaps", limit="2")["metadata"]
    selecting = five.list_of("configmaps", limit="2", fieldSelector="metadata.name!=a")["metadata"]

    assert plain["remainingItemCount"] == 3
    assert "remainingItemCount" not in selecting
    assert selecting["continue"]
