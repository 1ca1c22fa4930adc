"""The states of a reflector, and their changes by successes and failures: pure, without a server."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dynkube.errors import APIError, ConnectFailed, ConnectionLost, DynkubeError, Status, UnreadableEvent
from dynkube.informers._reflector.recovery import recover
from dynkube.informers._reflector.transitions import (
    Confirming,
    Listing,
    ReflectorState,
    ResourceVersionRegressed,
    StreamCutShort,
    Streaming,
    StreamSilent,
    Watching,
    followed,
)
from dynkube.meta import Added, Bookmark, Deleted, Unstructured, WatchEvent
from dynkube.meta._versions import is_older

pytestmark = pytest.mark.scenario("P13")


def obj(name: str, version: int) -> Unstructured:
    return Unstructured({"metadata": {"name": name, "resourceVersion": str(version)}})


END = Bookmark("20", initial_events_end=True)


@pytest.mark.parametrize(
    ("version", "after"),
    [("8", Watching("8")), ("7", Watching("7")), ("5", Watching("7")), ("", Watching("7")), ("x", Watching("x"))],
)
def test_a_watch_advances_to_the_last_version_and_never_goes_back(version: str, after: Watching) -> None:
    assert Watching("7").advanced(version) == after


@pytest.mark.parametrize("version", ["", "7", "9"])
def test_a_server_that_is_not_behind_is_watched_again(version: str) -> None:
    assert Confirming("7").confirm(version) == Watching("7")


def test_a_server_that_is_behind_its_own_events_went_back() -> None:
    with pytest.raises(ResourceVersionRegressed, match="the server is at resourceVersion 6, but had sent 7"):
        Confirming("7").confirm("6")


@pytest.mark.parametrize("version", ["", "0", "7", "9"])
def test_a_list_that_is_as_recent_as_requested_leads_to_its_watch(version: str) -> None:
    assert Listing(version).complete("9") == Watching("9")


def test_a_list_that_is_older_than_requested_is_rejected() -> None:
    with pytest.raises(
        ResourceVersionRegressed, match="received a list of resourceVersion 6, requested not older than 7"
    ):
        Listing("7").complete("6")


def test_a_bookmark_that_is_older_than_the_last_version_is_rejected() -> None:
    Watching("7").check_bookmark("7")
    with pytest.raises(ResourceVersionRegressed, match="received a bookmark of resourceVersion 6 after 7"):
        Watching("7").check_bookmark("6")


@pytest.mark.parametrize(
    ("events", "names", "later"),
    [
        ([END], [], []),
        ([Added(obj("a", 3)), Added(obj("b", 4)), END], ["a", "b"], []),
        ([Added(obj("a", 3)), Bookmark("15"), END, Added(obj("c", 21))], ["a"], [Added(obj("c", 21))]),
        ([Added(obj("a", 3)), Deleted(obj("a", 18)), END], [], []),
        ([Added(obj("a", 19)), Deleted(obj("a", 18)), END], ["a"], []),
    ],
)
def test_initial_events_are_collected_up_to_their_end(
    events: list[WatchEvent], names: list[str], later: list[WatchEvent]
) -> None:
    state = Streaming()

    assert state.receive(events) == (END, later)
    assert sorted(each.name for each in state.objects.done()) == names


def test_initial_events_may_come_in_many_batches() -> None:
    state = Streaming()

    assert state.receive([Added(obj("a", 3))]) is None
    assert state.receive([Added(obj("b", 4)), END]) == (END, [])
    assert sorted(each.name for each in state.objects.done()) == ["a", "b"]


@pytest.mark.parametrize(
    ("state", "version"),
    [(Watching("7"), "7"), (Confirming("7"), "7"), (Listing("7"), "7"), (Listing("0"), ""), (Streaming(), "")],
)
def test_a_state_has_the_last_version_followed(state: ReflectorState, version: str) -> None:
    assert followed(state) == version


@dataclass(frozen=True)
class Success:
    """A list, the end of initial events, or an event, with this version."""

    version: int


def error(code: int) -> APIError:
    return APIError.from_status(Status(code))


SUCCESSES = st.builds(Success, st.integers(1, 30))
FAILURES: st.SearchStrategy[DynkubeError] = st.one_of(
    st.sampled_from([400, 401, 403, 404, 405, 410, 422, 429, 500, 503, 504]).map(error),
    st.sampled_from(
        [
            ConnectFailed("refused"),
            ConnectionLost("reset"),
            UnreadableEvent("not JSON"),
            StreamSilent("certain"),
            StreamSilent("perhaps", certain=False),
            StreamCutShort("at once"),
        ]
    ),
)


def step(state: ReflectorState, event: Success | DynkubeError, streak: int) -> ReflectorState:
    """Return the next state of the reflector, without requests."""
    if isinstance(event, DynkubeError):
        return recover(state, event, streak).state
    try:
        if isinstance(state, Confirming):
            return state.confirm(str(event.version))
        if isinstance(state, Watching):
            return state.advanced(str(event.version))
        return state.complete(str(event.version))
    except ResourceVersionRegressed as exc:
        return recover(state, exc, streak).state


@given(st.lists(st.one_of(SUCCESSES, FAILURES), max_size=40))
@example([Success(2), error(401), error(403), Success(1)])
def test_a_watch_goes_back_only_after_a_list_of_the_most_recent_state(events: list[Success | DynkubeError]) -> None:
    state: ReflectorState = Streaming()
    last_version, streak = "", 0
    for event in events:
        streak = streak + 1 if isinstance(event, DynkubeError) else 0
        state = step(state, event, streak)
        version = followed(state)
        assert isinstance(state, Listing) or not last_version or not is_older(version, last_version)
        last_version = "" if state in (Listing("", whole=True), Listing("")) else version or last_version


@given(st.lists(st.one_of(SUCCESSES, FAILURES), max_size=20), st.lists(FAILURES, min_size=1, max_size=20))
def test_after_any_failures_two_successes_lead_to_a_watch_from_the_servers_version(
    before: list[Success | DynkubeError], failures: list[DynkubeError]
) -> None:
    state: ReflectorState = Streaming()
    for event in before:
        state = step(state, event, 0)
    for streak, failure in enumerate(failures):
        state = step(state, failure, streak)

    for _ in range(2):
        state = step(state, Success(99), 0)

    assert state == Watching("99")


# After a 404 or 403, lists and streams are tried in turn.
@given(st.lists(FAILURES.filter(lambda exc: getattr(exc, "code", 0) not in {403, 404}), min_size=4, max_size=10))
def test_a_stream_that_fails_repeatedly_is_replaced_by_a_list(failures: list[DynkubeError]) -> None:
    state: ReflectorState = Streaming()
    for streak, failure in enumerate(failures):
        state = step(state, failure, streak)

    assert isinstance(state, Listing)
