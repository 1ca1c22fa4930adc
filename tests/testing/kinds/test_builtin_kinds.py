"""The built-in kinds equal the discovery of a kube-apiserver 1.36 with default settings."""

from __future__ import annotations

import json
from pathlib import Path

from dynkube_testing._kinds.builtin import builtin_kinds
from dynkube_testing._kinds.kinds import Kind

# By group-version and resource: kind, namespaced, singular, verbs, short names, categories, subresources [kind, verbs].
RECORDED = Path(__file__).with_name("discovery_1_36.json")


def _described(kind: Kind) -> list[object]:
    subresources = {}
    for name in kind.subresources:
        subresource = kind.subresource(name)
        assert subresource is not None
        gvk = subresource.gvk
        shown = f"{gvk.group}/{gvk.version} {gvk.kind}" if subresource.foreign else gvk.kind
        subresources[name] = [shown, ",".join(subresource.verbs)]
    names = [",".join(kind.short_names), ",".join(kind.categories)]
    return [kind.kind, kind.namespaced, kind.singular, ",".join(kind.verbs), *names, subresources]


def test_the_builtin_kinds_are_those_of_a_default_server_in_the_same_order() -> None:
    recorded = json.loads(RECORDED.read_text())

    served: dict[str, dict[str, list[object]]] = {}
    for kind in builtin_kinds():
        served.setdefault(kind.api_version, {})[kind.gvr.resource] = _described(kind)

    assert served == recorded
    assert list(served) == list(recorded)
