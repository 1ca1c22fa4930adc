"""The areas in which several managers apply, one for each kind."""

from __future__ import annotations

from tests.contract.differential.areas.applied_crds import GADGETS, GIZMOS, WIDGETS, crds
from tests.contract.differential.areas.applied_kinds import CONFIGS, DEPLOYMENTS, SERVICES
from tests.contract.differential.areas.applies import Subject
from tests.contract.differential.side_by_side import MARK, Setup
from tests.contract.objects import JSONObject


def setup(subject: Subject, mark: JSONObject) -> Setup:
    """Return the setup for the sequences of a subject; ``mark`` are the fields of its marker object."""
    resource, api_version = next(iter(subject.resources.items()))
    plural = resource.partition(".")[0]
    metadata = {"name": MARK}
    return Setup(
        marks={plural: {"apiVersion": api_version, "kind": subject.kind, "metadata": metadata, **mark}},
        compare_warnings=False,  # the embedded server lacks some warnings about pods and ports
        crds=lambda cluster: [each for each in crds(cluster) if each["spec"]["names"]["plural"] == plural],
    )


_POD = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "a", "image": "i"}]}}
_SPEC = {"selector": {"matchLabels": {"app": "x"}}, "template": _POD}
_SUBJECTS: list[tuple[str, Subject, JSONObject]] = [
    ("configs", CONFIGS, {}),
    ("services", SERVICES, {"spec": {"ports": [{"port": 80}]}}),
    ("deployments", DEPLOYMENTS, {"spec": _SPEC}),
    ("widgets", WIDGETS, {"spec": {}}),
    ("gizmos", GIZMOS, {"spec": {}}),
    ("gadgets", GADGETS, {}),
]
#: Name, setup and requests of each area.
AREAS = [(f"applies-{name}", setup(subject, mark), subject.requests()) for name, subject, mark in _SUBJECTS]
#: Areas whose objects and merges are the same in older releases.
AGELESS = {"applies-configs"}
