"""Whatever names, namespaces and subresources are called: a path has the segments it should have, or there is none."""

from __future__ import annotations

from urllib.parse import unquote

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dynkube.errors import InvalidInput
from dynkube.meta import GVR
from dynkube.meta._path import resource_path

# What tries to leave its segment, in pieces that combine: "..%2f", "a/../b", "?", "\\", newlines, half characters.
PIECES = ["..", ".", "/", "\\", "%2e", "%2F", "%", "?", "#", ";", ":", "@", "//", "\n", "\0", " ", "a", "é", "\ud800"]
anything = st.lists(st.sampled_from(PIECES), max_size=5).map("".join) | st.text(max_size=20)
optional = st.none() | anything


@given(group=anything, version=anything, resource=anything, namespace=optional, name=optional, subresource=optional)
@example(group="", version="v1", resource="pods", namespace="shop", name="../../secrets", subresource=None)
@example(group="", version="v1", resource="pods", namespace="shop", name="%2e%2e", subresource="status")
@example(group="", version="v1", resource="pods", namespace="shop", name="a", subresource="..")
@example(group="", version="v1", resource="pods", namespace="..", name="a", subresource=None)
@example(group="..", version="v1", resource="pods", namespace=None, name="", subresource=None)
@example(group="a", version="v1", resource="x", namespace=None, name="system:node?a#b;c", subresource=None)
def test_a_path_has_one_segment_for_each_part_or_is_refused(
    group: str, version: str, resource: str, namespace: str | None, name: str | None, subresource: str | None
) -> None:
    try:
        path = resource_path(GVR(group, version, resource), namespace=namespace, name=name, subresource=subresource)
    except InvalidInput:
        return

    parts = ["apis", group] if group else ["api"]
    parts += [version, *(["namespaces", namespace] if namespace else []), resource]
    parts += [part for part in (name, subresource) if part is not None]
    assert [unquote(segment) for segment in path.split("/")] == ["", *parts]
    # And nothing on the way to the server makes another path of it.
    assert httpx2.URL(f"https://api.example{path}").raw_path.decode() == path


@given(name=st.from_regex(r"[a-z0-9]([-a-z0-9.:]{0,20}[a-z0-9])?", fullmatch=True))
def test_the_names_that_clusters_have_are_taken(name: str) -> None:
    path = resource_path(GVR("", "v1", "pods"), namespace="shop", name=name)

    assert unquote(path) == f"/api/v1/namespaces/shop/pods/{name}"


@pytest.mark.parametrize("part", ["namespace", "name", "subresource"])
def test_half_a_character_is_refused_by_name(part: str) -> None:
    where = {"namespace": "shop", "name": "web", "subresource": "status"} | {part: "a\ud800"}

    with pytest.raises(InvalidInput, match=f"^{part} 'a"):
        resource_path(GVR("", "v1", "pods"), **where)
