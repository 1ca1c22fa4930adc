"""The revisions of a workload: ReplicaSets of a Deployment, ControllerRevisions of a StatefulSet or DaemonSet. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, overload

from dynkube._displayable import Displayable, text_without_heading
from dynkube.errors import InvalidInput
from dynkube.informers._dependents import owner_references
from dynkube.meta import Unstructured, thaw
from dynkube.meta._arguments import brief
from dynkube.workloads._rollout_status import RolloutError, mapping_at

REVISION: Final = "deployment.kubernetes.io/revision"
CHANGE_CAUSE: Final = "kubernetes.io/change-cause"
_HASH: Final = "pod-template-hash"

# Annotations of a Deployment that an undo keeps, as kubectl does; the others become those of the ReplicaSet.
_KEPT: Final = frozenset(
    {
        "kubectl.kubernetes.io/last-applied-configuration",
        REVISION,
        "deployment.kubernetes.io/revision-history",
        "deployment.kubernetes.io/desired-replicas",
        "deployment.kubernetes.io/max-replicas",
        "deprecated.deployment.rollback.to",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision(Displayable):
    """One revision of a workload.

    Attributes:
        number: its number, as ``undo(to_revision=)`` takes it.
        current: whether the workload has its template now.
        change_cause: the annotation ``kubernetes.io/change-cause``; ``""`` if there is none.
        created: the creation time of ``object``, as the server writes it.
        template: the pod template, without the label that the Deployment's controller adds.
        object: the ReplicaSet or ControllerRevision that has it.
    """

    number: int
    current: bool
    change_cause: str
    created: str
    template: Mapping[str, Any]
    object: Unstructured

    @property
    def images(self) -> tuple[str, ...]:
        """The images of its containers."""
        containers = mapping_at(self.template, "spec").get("containers")
        found = [each.get("image") for each in containers if isinstance(each, Mapping)] if containers else []
        return tuple(image for image in found if isinstance(image, str))


class RolloutHistory(Displayable, Sequence[Revision]):
    """The revisions of a workload, oldest first; prints as a table.

    Attributes:
        object: the workload as it was read.
    """

    __slots__ = ("_revisions", "object")

    def __init__(self, obj: Unstructured, revisions: Iterable[Revision]) -> None:
        self.object: Unstructured = obj
        self._revisions = tuple(sorted(revisions, key=lambda each: each.number))

    @overload
    def __getitem__(self, index: int) -> Revision: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Revision]: ...
    def __getitem__(self, index: int | slice) -> Revision | Sequence[Revision]:
        """Return a revision by its position; :meth:`revision` takes its number."""
        return self._revisions[index]

    def __len__(self) -> int:
        return len(self._revisions)

    def revision(self, number: int) -> Revision:
        """Return the revision of that number.

        Raises:
            RolloutError: there is none; the message names those that there are.
        """
        found = next((each for each in self._revisions if each.number == number), None)
        if found is None:
            raise RolloutError(f"{self._called} has no revision {number}: it has {self._numbers()}")
        return found

    def previous(self) -> Revision:
        """Return the revision before the newest one, which ``undo()`` restores.

        Raises:
            RolloutError: there are not two revisions.
        """
        if len(self._revisions) < 2:
            raise RolloutError(f"{self._called} has no revision to go back to: it has {self._numbers()}")
        return self._revisions[-2]

    @property
    def _called(self) -> str:
        return f"{self.object.kind} {self.object.name!r}"

    def _numbers(self) -> str:
        return ", ".join(str(each.number) for each in self._revisions) or "no history"

    def __str__(self) -> str:
        return text_without_heading(self)

    def __repr__(self) -> str:
        return f"<RolloutHistory of {self.object!r}: {self._numbers()}>"


def of_deployment(deployment: Unstructured, replica_sets: Iterable[Unstructured]) -> RolloutHistory:
    """Return the history of a Deployment, from the ReplicaSets that its selector matches."""
    now = _comparable(deployment["spec"]["template"])
    found: dict[int, Revision] = {}
    for each in sorted(_controlled(deployment, replica_sets), key=lambda rs: (_created(rs), rs.name)):
        # As kubectl: a ReplicaSet without the annotation has number 0, one with an unreadable number is left out, and
        # of several with the same number the newest counts.
        text = each.annotations.get(REVISION, "0")
        if text.isascii() and text.isdigit():
            template = _without_hash(each["spec"]["template"])
            found[int(text)] = _revision(each, int(text), template, current=_comparable(template) == now)
    return RolloutHistory(deployment, found.values())


def of_controller_revisions(workload: Unstructured, revisions: Iterable[Unstructured]) -> RolloutHistory:
    """Return the history of a StatefulSet or DaemonSet, from the ControllerRevisions that its selector matches."""
    now = _comparable(workload["spec"]["template"])
    found = {}
    for each in _controlled(workload, revisions):
        number = each.get("revision")
        template = dict(mapping_at(each, "data", "spec", "template"))
        template.pop("$patch", None)
        if type(number) is int:
            found[number] = _revision(each, number, template, current=_comparable(template) == now)
    return RolloutHistory(workload, found.values())


def deployment_patch(deployment: Unstructured, revision: Revision) -> list[dict[str, object]]:
    """Return the JSON patch that gives a Deployment the template of a revision, and its annotations."""
    kept = {name: text for name, text in deployment.annotations.items() if name in _KEPT}
    restored = {name: text for name, text in revision.object.annotations.items() if name not in _KEPT}
    return [
        {"op": "replace", "path": "/spec/template", "value": thaw(revision.template)},
        {"op": "add", "path": "/metadata/annotations", "value": {**kept, **restored}},
    ]


def check_revision(number: object) -> None:
    """Reject what is not the number of a revision."""
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise InvalidInput(
            f"to_revision is {brief(number)}: pass the number of a revision, or None for the previous one"
        )


def _revision(obj: Unstructured, number: int, template: Mapping[str, Any], *, current: bool) -> Revision:
    return Revision(
        number=number,
        current=current,
        change_cause=obj.annotations.get(CHANGE_CAUSE, ""),
        created=_created(obj),
        template=template,
        object=obj,
    )


def _controlled(owner: Unstructured, objects: Iterable[Unstructured]) -> Iterator[Unstructured]:
    """Yield the objects whose controller is ``owner``."""
    for obj in objects:
        references = owner_references(obj)
        if any(each.get("controller") is True and each["uid"] == owner.uid for each in references):
            yield obj


def _created(obj: Unstructured) -> str:
    return str(mapping_at(obj, "metadata").get("creationTimestamp") or "")


def _without_hash(template: Mapping[str, Any]) -> Mapping[str, Any]:
    labels = {name: text for name, text in mapping_at(template, "metadata", "labels").items() if name != _HASH}
    return {**template, "metadata": {**mapping_at(template, "metadata"), "labels": labels}}


def _comparable(value: object) -> object:
    """Return a template without nulls and empty values: Go writes some of them in one place and not in another."""
    if isinstance(value, Mapping):
        fields = {name: _comparable(inner) for name, inner in value.items()}
        return {name: inner for name, inner in fields.items() if inner not in (None, {}, [], "")}
    if isinstance(value, list | tuple):
        return [_comparable(inner) for inner in value]
    return value
