"""Applying an extracted object again changes nothing, after any sequence of applies."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from dynkube import extract, fields_of
from dynkube.errors import Invalid
from dynkube.meta import MISSING
from dynkube_testing import APIServer
from tests.fields.objects import IDENTITY

strings = st.sampled_from(["a", "b", "c"])
labels = st.dictionaries(strings | st.just("example.com/x"), strings, max_size=3)


def some(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return a strategy for objects with any of these fields."""
    return st.fixed_dictionaries({}, optional=fields)


def named(
    always: dict[str, st.SearchStrategy[Any]], **fields: st.SearchStrategy[Any]
) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Return a strategy for lists of items with unique names."""
    item = st.fixed_dictionaries({"name": strings, **always}, optional=fields)
    return st.lists(item, max_size=3, unique_by=lambda each: each["name"])


ports = st.lists(
    st.fixed_dictionaries({"containerPort": st.integers(1, 3)}, optional={"protocol": st.sampled_from(["TCP", "UDP"])}),
    max_size=3,
    unique_by=lambda port: (port["containerPort"], port.get("protocol", "TCP")),
)
containers = named(
    {"image": strings},
    args=st.lists(strings, max_size=2),
    ports=ports,
    env=named({}, value=strings),
    resources=some(requests=st.dictionaries(st.sampled_from(["cpu", "memory"]), st.just("1"), max_size=2)),
)
pods = some(
    containers=containers,
    volumes=named({"emptyDir": st.just({})}),
    tolerations=st.lists(some(key=strings).map(lambda each: each | {"operator": "Exists"}), max_size=2),
    securityContext=some(runAsUser=st.integers(1, 3)),
    nodeSelector=labels,
)
BASE = {
    "selector": {"matchLabels": {"app": "web"}},
    "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}},
}
applied = st.fixed_dictionaries(
    {"metadata": some(labels=labels, annotations=labels, finalizers=st.lists(strings.map("x/{}".format), unique=True))},
    optional={"spec": some(replicas=st.integers(0, 3), paused=st.booleans(), template=some(spec=pods))},
)


def play(server: APIServer, applies: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Apply these objects one after the other, with force."""
    live = server.apply(IDENTITY | {"spec": BASE}, field_manager="base")
    for manager, fields in applies:
        metadata = IDENTITY["metadata"] | fields["metadata"]
        with suppress(Invalid):  # not every generated object is a valid Deployment
            live = server.apply(IDENTITY | fields | {"metadata": metadata}, field_manager=manager)
    return live


@settings(max_examples=50)
@given(st.lists(st.tuples(st.sampled_from(["one", "two", "three"]), applied), min_size=1, max_size=5))
def test_applying_an_extracted_object_changes_nothing(applies: list[tuple[str, dict[str, Any]]]) -> None:
    server = APIServer()
    live = play(server, applies)

    for manager in {entry["manager"] for entry in live["metadata"]["managedFields"]}:
        again = server.apply(extract(live, manager), field_manager=manager)

        before, after = fields_of(live, manager), fields_of(again, manager)
        # A server may omit empty values from the object, which then cannot be extracted.
        gone = {path for path in before if path.find(live) is MISSING}
        assert after == before - gone
        assert content(again) == content(live)
        if not gone:
            assert again["metadata"]["resourceVersion"] == live["metadata"]["resourceVersion"]
        live = again


def content(obj: dict[str, Any]) -> dict[str, Any]:
    noise = ("managedFields", "resourceVersion")
    return obj | {"metadata": {name: value for name, value in obj["metadata"].items() if name not in noise}}
