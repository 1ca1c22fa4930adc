"""The listeners of a resource are found in the same way however many are added and removed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dynkube.informers._availability.availability import Availability
from dynkube.informers._availability.followers import Followers
from dynkube.meta import GVR

RESOURCES = [GVR(group, version, "things") for group in ("a.example", "b.example") for version in ("v1", "v2")]


@given(st.lists(st.tuples(st.sampled_from(RESOURCES), st.integers(0, 2)), max_size=40))
def test_listeners_are_found_by_resource_version_and_crd(steps: list[tuple[GVR, int]]) -> None:
    """Each step adds or removes one of three listeners of a resource."""
    received: list[list[Availability]] = [[], [], []]
    listeners = [one.append for one in received]
    followers, model = Followers(), dict[GVR, list[int]]()

    for gvr, which in steps:
        if which in model.get(gvr, ()):
            model[gvr].remove(which)
            followers.remove(gvr, listeners[which])
        else:
            model.setdefault(gvr, []).append(which)
            followers.add(gvr, listeners[which])

    followed = {gvr: ids for gvr, ids in model.items() if ids}
    assert set(followers) == set(followed)
    assert bool(followers) == bool(followed)
    assert set(followers.versions()) == {gvr.group_version for gvr in followed}
    for gvr in RESOURCES:
        assert followers.of(gvr) == tuple(listeners[which] for which in followed.get(gvr, ()))
        assert set(followers.of_version(gvr.group_version)) == {gvr} & set(followed)
        same = {other for other in followed if other.group == gvr.group}
        assert (gvr in followers, set(followers.of_crds({gvr.crd_name}))) == (gvr in followed, same)
