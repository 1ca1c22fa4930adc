"""``top_pods`` and ``top_nodes``: CPU and memory in use, from the metrics API."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any, Final, Literal, overload

from dynkube._displayable import Displayable, text_without_heading
from dynkube.client import LabelSelectorLike
from dynkube.client._client import APIClient
from dynkube.errors import APIError, DiscoveryFailed, InvalidInput, NoMatch
from dynkube.meta import GVR, Unstructured
from dynkube.meta._quantities import quantity

SortBy = Literal["cpu", "memory", "name"]

_NODES: Final = GVR("", "v1", "nodes")


@dataclass(frozen=True, slots=True)
class Usage(Displayable):
    """CPU and memory that a pod, a container or a node uses.

    Attributes:
        namespace: the pod's namespace; ``""`` for a node.
        name: name of the pod or node.
        container: name of the container; ``""`` for a whole pod or a node.
        cpu: in thousandths of a core, rounded up; ``None`` if there are no metrics yet. So may ``memory``.
        memory: in bytes.
        cpu_percent: of what the node can allocate to pods; ``None`` for pods. So is ``memory_percent``.
        memory_percent: the same of the memory.
    """

    namespace: str
    name: str
    container: str
    cpu: int | None
    memory: int | None
    cpu_percent: int | None = None
    memory_percent: int | None = None


class Usages(Displayable, Sequence[Usage]):
    """What pods or nodes use; prints as the table of ``kubectl top``.

    Attributes:
        kind: ``"pods"``, ``"containers"`` or ``"nodes"``.
    """

    __slots__ = ("_usages", "kind")

    def __init__(self, kind: str, usages: Iterable[Usage]) -> None:
        self.kind: str = kind
        self._usages = tuple(usages)

    @overload
    def __getitem__(self, index: int) -> Usage: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Usage]: ...
    def __getitem__(self, index: int | slice) -> Usage | Sequence[Usage]:
        return self._usages[index]

    def __len__(self) -> int:
        return len(self._usages)

    def __str__(self) -> str:
        return text_without_heading(self)

    def __repr__(self) -> str:
        return f"<Usages of {len(self)} {self.kind}>"


async def top_pods(
    api: APIClient, namespace: str | None, label_selector: LabelSelectorLike, sort_by: SortBy, *, containers: bool
) -> Usages:
    """Return what pods or containers use."""
    check_sort(sort_by)
    with _explained():
        metrics = await api.resource("pods.metrics.k8s.io").list(namespace=namespace, label_selector=label_selector)
    found = [usage for pod in metrics for usage in _of_pod(pod, containers)]
    return Usages("containers" if containers else "pods", _sorted(found, sort_by))


async def top_nodes(api: APIClient, label_selector: LabelSelectorLike, sort_by: SortBy) -> Usages:
    """Return what nodes use, also of nodes without metrics."""
    check_sort(sort_by)
    with _explained():
        metrics = await api.resource("nodes.metrics.k8s.io").list(label_selector=label_selector)
    measured = {each.name: each for each in metrics}
    nodes = await api.resource(_NODES).list(label_selector=label_selector)
    found = [_of_node(node, measured.get(node.name)) for node in nodes]
    return Usages("nodes", _sorted(found, sort_by))


@contextmanager
def _explained() -> Iterator[None]:
    """Say what to do if the metrics API is not installed, or does not respond."""
    try:
        yield
    except NoMatch as exc:
        raise NoMatch(
            "the server does not serve the metrics API (metrics.k8s.io): install metrics-server in the cluster, or "
            "another implementation; or try again if the server has just started"
        ) from exc
    except (APIError, DiscoveryFailed) as exc:
        exc.add_note("usually metrics-server provides the metrics API (metrics.k8s.io); see its pods if it is down")
        raise


def _of_pod(pod: Unstructured, containers: bool) -> Iterator[Usage]:
    parts = pod.get("containers")
    parts = [each for each in parts if isinstance(each, Mapping)] if isinstance(parts, list) else []
    measured = [(str(each.get("name", "")), *_used(each.get("usage"))) for each in parts]
    if containers:
        for name, cpu, memory in measured:
            yield Usage(pod.namespace, pod.name, name, _milli(cpu), _whole(memory))
        return
    cpu, memory = _sum(cpu for _, cpu, _ in measured), _sum(memory for _, _, memory in measured)
    yield Usage(pod.namespace, pod.name, "", _milli(cpu), _whole(memory))


def _of_node(node: Unstructured, metrics: Unstructured | None) -> Usage:
    cpu, memory = _used(None if metrics is None else metrics.get("usage"))
    status = node.get("status")
    limits = _used(status.get("allocatable") if isinstance(status, Mapping) else None)
    return Usage("", node.name, "", _milli(cpu), _whole(memory), _percent(cpu, limits[0]), _percent(memory, limits[1]))


def _used(resources: object) -> tuple[Fraction | None, Fraction | None]:
    found: Mapping[str, Any] = resources if isinstance(resources, Mapping) else {}
    return quantity(found.get("cpu")), quantity(found.get("memory"))


def _sum(parts: Iterable[Fraction | None]) -> Fraction | None:
    known = [part for part in parts if part is not None]
    return sum(known, Fraction()) if known else None


def _milli(cores: Fraction | None) -> int | None:
    return None if cores is None else ceil(cores * 1000)


def _whole(number: Fraction | None) -> int | None:
    return None if number is None else ceil(number)


def _percent(used: Fraction | None, limit: Fraction | None) -> int | None:
    return None if used is None or not limit else int(used / limit * 100)


def _sorted(usages: list[Usage], by: SortBy) -> list[Usage]:
    """Return usages by place, or the largest first, as kubectl sorts them."""
    usages.sort(key=lambda usage: (usage.namespace, usage.name, usage.container))
    if by == "cpu":
        usages.sort(key=lambda usage: -1 if usage.cpu is None else usage.cpu, reverse=True)
    elif by == "memory":
        usages.sort(key=lambda usage: -1 if usage.memory is None else usage.memory, reverse=True)
    return usages


def check_sort(by: object) -> None:
    """Reject an unknown order."""
    if by not in ("cpu", "memory", "name"):
        raise InvalidInput(f"sort_by is {by!r}: pass 'cpu', 'memory' or 'name'")
