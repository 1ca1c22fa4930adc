"""Past states of a collection, rebuilt from its log, equal copies made at that time."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dynkube.meta import GVR
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import storage_key

THINGS = Kind(gvr=GVR("", "v1", "things"), kind="Thing", namespaced=True)
GROUP = THINGS.storage_group
_PLACES = st.tuples(st.sampled_from(["n", "n-1", "o"]), st.sampled_from("abcd"))
_WRITES = st.lists(st.tuples(_PLACES, st.booleans()), max_size=25)
_Seen = list[tuple[str, int]]


def _write(storage: Storage, place: tuple[str, str], removing: bool) -> None:
    namespace, name = place
    if not removing:
        storage.put(THINGS, {"metadata": {"namespace": namespace, "name": name}})
    elif storage.get(THINGS, namespace, name) is not None:
        storage.remove(GROUP, storage_key(namespace, name))


@given(
    _WRITES, st.sampled_from(["", "n/", "n-1/", "o/"]), st.sampled_from(["", "n/b", "n-1/a", "o/c"]), st.integers(0, 3)
)
def test_each_past_state_can_be_rebuilt(
    writes: list[tuple[tuple[str, str], bool]], prefix: str, start: str, limit: int
) -> None:
    storage = Storage(history=1000)
    states: dict[int, _Seen] = {0: []}
    for place, removing in writes:
        _write(storage, place, removing)
        present = sorted(storage.collection(GROUP).current.items())
        states[storage.revision] = [(key, version.revision) for key, version in present]

    for revision, state in states.items():
        past = storage.collection(GROUP).past(revision, prefix, start)
        wanted = [entry for entry in state if entry[0].startswith(prefix) and entry[0] >= start]
        assert [(version.key, version.revision) for version in past] == wanted
        assert len(past) == len(wanted)
        assert [version.key for version in past.first(limit)] == [key for key, _ in wanted[: limit or None]]


def test_objects_may_be_deleted_during_a_walk() -> None:
    storage = Storage(history=1000)
    for name in "abcd":
        _write(storage, ("n", name), False)

    walked = []
    for version in storage.collection(GROUP).walk("n/"):
        walked.append(version.name)
        _write(storage, ("n", "abcd"[len(walked) % 4]), True)

    assert walked == ["a", "c", "d"]
