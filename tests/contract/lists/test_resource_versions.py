"""The state that a list or get returns, for all combinations of resourceVersion, resourceVersionMatch and limit.

https://kubernetes.io/docs/reference/using-api/api-concepts/#semantics-for-get-and-list
"""

from __future__ import annotations

import pytest
import trio

from dynkube.errors import APIError, Gone
from tests.contract.cluster import Cluster, Response

ALL = "abcde"
UNSET = None
FUTURE = "9223372036854775807"


async def list_names(five: Cluster, **params: str | None) -> tuple[str, bool]:
    """Return the names, and whether there is a continue token; ``{third}`` is replaced by the version of the third."""
    third = (await five.get("configmaps", "c"))["metadata"]["resourceVersion"]
    query = {key: value.format(third=third) for key, value in params.items() if value is not None}
    response = await five.list_of("configmaps", **query)
    names = [item["metadata"]["name"] for item in response["items"]]
    # Lists from the watch cache of old servers (those without an exact version) are not sorted.
    cached = query.get("resourceVersion") and "Exact" not in query.values()
    return "".join(sorted(names) if cached and five.version < (1, 31) else names), "continue" in response["metadata"]


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
async def test_a_list_shows_this_state_and_this_many_objects(
    five: Cluster, version: str | None, match: str | None, limit: str | None, names: str
) -> None:
    shown, more = await list_names(five, resourceVersion=version, resourceVersionMatch=match, limit=limit)

    assert shown == names
    assert more == (names == "ab")


async def test_an_exact_list_has_the_requested_version_and_others_the_latest(five: Cluster) -> None:
    past = (await five.list_of("configmaps"))["metadata"]["resourceVersion"]
    await five.delete("configmaps", "a")
    await five.patch("configmaps", "b", {"data": {"k": "changed"}})

    exact = await five.list_of("configmaps", resourceVersion=past, resourceVersionMatch="Exact")
    latest = await five.list_of("configmaps", resourceVersion=past, resourceVersionMatch="NotOlderThan")

    assert [item["metadata"]["name"] for item in exact["items"]] == list(ALL)
    assert exact["items"][1]["data"] == {"k": "v"}
    assert exact["metadata"]["resourceVersion"] == past
    assert {item["metadata"]["name"] for item in latest["items"]} == set("bcde")
    assert int(latest["metadata"]["resourceVersion"]) > int(past)


@pytest.mark.parametrize("version", ["", "0", "1", "{own}"])
async def test_a_get_shows_the_latest_state_for_any_past_version(five: Cluster, version: str) -> None:
    own = (await five.get("configmaps", "a"))["metadata"]["resourceVersion"]
    changed = await five.patch("configmaps", "a", {"data": {"k": "changed"}})

    # "0" reads from the watch cache, which may lag; a get with the version of the change waits for it.
    await five.get("configmaps", "a", params={"resourceVersion": changed["metadata"]["resourceVersion"]})
    found = await five.get("configmaps", "a", params={"resourceVersion": version.format(own=own)})

    assert found == changed


async def test_a_future_version_is_a_504_after_three_seconds(five: Cluster) -> None:
    responses: list[Response] = []

    async def read(name: str, **params: str) -> None:
        responses.append(await five.call("GET", five.path("configmaps", name), params=params))

    async with trio.open_nursery() as nursery:  # concurrently, as a real server waits three seconds for each
        nursery.start_soon(lambda: read("", resourceVersion=FUTURE))
        nursery.start_soon(lambda: read("", resourceVersion=FUTURE, resourceVersionMatch="NotOlderThan"))
        nursery.start_soon(lambda: read("a", resourceVersion=FUTURE))

    for response in responses:
        assert (response.code, response.headers["retry-after"], response.body["reason"]) == (504, "1", "Timeout")
        assert response.body["message"].startswith(f"Timeout: Too large resource version: {FUTURE}, current: ")
        assert response.body["details"] == {
            "causes": [{"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}],
            "retryAfterSeconds": 1,
        }


@pytest.mark.parametrize("params", [{"resourceVersionMatch": "Exact"}, {"limit": "2"}])
async def test_an_exact_future_version_is_an_error(five: Cluster, params: dict[str, str]) -> None:
    response = await five.call("GET", five.path("configmaps"), params={"resourceVersion": FUTURE, **params})

    if five.version < (1, 34):  # older servers read such lists from etcd, and return its error
        assert response.code == 500
        assert response.body["message"] == "etcdserver: mvcc: required revision is a future revision"
    else:
        assert response.code == 504
        assert response.body["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@pytest.mark.parametrize("params", [{"resourceVersionMatch": "Exact"}, {"limit": "2"}])
async def test_a_compacted_version_is_a_410(cluster: Cluster, compacted: str, params: dict[str, str]) -> None:
    await cluster.create_crd()

    with pytest.raises(Gone) as caught:
        await cluster.list_of("widgets", resourceVersion=compacted, **params)

    status = caught.value.status
    assert (status.code, status.reason) == (410, "Expired")
    assert status.message == "The resourceVersion for the provided list is too old."


_MATCH, _MEANS = "resourceVersionMatch", "is forbidden"


@pytest.mark.parametrize(
    ("params", "field", "message"),
    [
        ({_MATCH: "Exact"}, _MATCH, f"Forbidden: {_MATCH} {_MEANS} unless resourceVersion is provided"),
        ({_MATCH: "NotOlderThan"}, _MATCH, f"Forbidden: {_MATCH} {_MEANS} unless resourceVersion is provided"),
        (
            {"resourceVersion": "0", _MATCH: "Exact"},
            _MATCH,
            f'Forbidden: {_MATCH} "exact" {_MEANS} for resourceVersion "0"',
        ),
        (
            {"resourceVersion": "x", _MATCH: "Newer"},
            _MATCH,
            'Unsupported value: "Newer": supported values: "Exact", "NotOlderThan", ""',
        ),
        (
            {"resourceVersion": "1", _MATCH: "Exact", "continue": "x"},
            _MATCH,
            f"Forbidden: {_MATCH} {_MEANS} when continue is provided",
        ),
    ],
)
async def test_contradictory_parameters_are_a_422(
    cluster: Cluster, params: dict[str, str], field: str, message: str
) -> None:
    response = await cluster.call("GET", cluster.path("configmaps"), params=params)

    assert (response.code, response.body["reason"]) == (422, "Invalid")
    assert response.body["message"] == f'ListOptions.meta.k8s.io "" is invalid: {field}: {message}'
    assert response.body["details"]["causes"][0]["field"] == field
    assert (response.body["details"]["group"], response.body["details"]["kind"]) == ("meta.k8s.io", "ListOptions")


@pytest.mark.parametrize("value", ["true", "false"])
async def test_send_initial_events_is_an_error_for_a_list(five: Cluster, value: str) -> None:
    response = await five.call("GET", five.path("configmaps"), params={"sendInitialEvents": value})

    if five.version >= (1, 27):
        assert (response.code, response.body["reason"]) == (422, "Invalid")
        assert "sendInitialEvents is forbidden for list" in response.body["message"]
    else:  # servers before 1.27 ignore it
        assert len(response.body["items"]) == 5


@pytest.mark.parametrize(
    ("version", "problem"),
    [("x", "invalid syntax"), ("-1", "invalid syntax"), ("18446744073709551616", "out of range")],
)
async def test_a_version_that_is_not_a_number_is_an_error(five: Cluster, version: str, problem: str) -> None:
    message = f'resourceVersion: Invalid value: "{version}": strconv.ParseUint: parsing "{version}": '

    for name in ("", "a"):
        with pytest.raises(APIError) as caught:
            await five.request("GET", five.path("configmaps", name), params={"resourceVersion": version})
        newer_list = not name and five.version >= (1, 34)
        assert caught.value.status.message.startswith(f"{'invalid resource version: ' if newer_list else ''}{message}")
        assert caught.value.status.message.endswith(problem)
        # If the storage parses it, the error has no status code or reason.
        assert (caught.value.code, caught.value.reason) == ((400, "BadRequest") if newer_list else (500, ""))


@pytest.mark.parametrize("name", ["limit", "timeoutSeconds"])
@pytest.mark.parametrize(
    ("value", "problem"),
    [("x", "invalid syntax"), ("", "invalid syntax"), ("99999999999999999999", "value out of range")],
)
async def test_an_invalid_number_is_a_400(cluster: Cluster, name: str, value: str, problem: str) -> None:
    with pytest.raises(APIError) as caught:
        await cluster.list_of("configmaps", **{name: value})

    assert (caught.value.code, caught.value.reason) == (400, "BadRequest")
    assert caught.value.status.message == f'strconv.ParseInt: parsing "{value}": {problem}'


@pytest.mark.parametrize("watch", [{}, {"watch": "1"}], ids=["list", "watch"])
async def test_numbers_are_parsed_before_selectors_and_these_before_contradictions_are_found(
    cluster: Cluster, watch: dict[str, str]
) -> None:
    params = {"limit": "x", "labelSelector": "a=-", "resourceVersionMatch": "Bogus", **watch}
    number = await cluster.call("GET", cluster.path("configmaps"), params=params)
    selector = await cluster.call("GET", cluster.path("configmaps"), params={**params, "limit": "1"})

    assert (number.code, number.body["message"]) == (400, 'strconv.ParseInt: parsing "x": invalid syntax')
    assert (selector.code, selector.body["message"][:27]) == (400, "unable to parse requirement")
