"""For any names, namespaces and subresources, a path has the expected segments, or an error is raised."""

from __future__ import annotations

from urllib.parse import unquote

import httpx2
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dynkube.errors import InvalidInput
from dynkube.meta import GVR
from dynkube.meta._path import resource_path

# Pieces of names that might leave their segment when combined: "..%2f", "a/../b", "?", "\\", newlines, lone surrogates.
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
def test_a_path_has_one_segment_per_part_or_is_rejected(
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
    # The HTTP client does not normalize it to another path.
    assert httpx2.URL(f"https://api.example{path}").raw_path.decode() == path


@given(name=st.from_regex(r"[a-z0-9]([-a-z0-9.:]{0,20}[a-z0-9])?", fullmatch=True))
def test_names_that_occur_in_clusters_are_accepted(name: str) -> None:
    path = resource_path(GVR("", "v1", "pods"), namespace="shop", name=name)

    assert unquote(path) == f"/api/v1/namespaces/shop/pods/{name}"


@pytest.mark.parametrize("part", ["namespace", "name", "subresource"])
def test_the_error_for_a_lone_surrogate_names_the_part(part: str) -> None:
    where = {"namespace": "shop", "name": "web", "subresource": "status"} | {part: "a\ud800"}

    with pytest.raises(InvalidInput, match=f"^{part} 'a"):
        resource_path(GVR("", "v1", "pods"), **where)
