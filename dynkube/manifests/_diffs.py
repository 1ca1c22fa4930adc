"""What applying a source would change, object by object, without changing anything."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import trio

from dynkube._nursery import OwnedNursery
from dynkube._tables import html_text, printable
from dynkube.client import APIClient, Diff
from dynkube.errors import DynkubeError, NoMatch, NotFound
from dynkube.manifests._manifest import Manifest, refuse_contradictions
from dynkube.manifests._options import ApplyOptions
from dynkube.manifests._order import Definitions
from dynkube.manifests._place import Place
from dynkube.manifests._report import object_name
from dynkube.manifests._sending import Item, Sender, missing_namespace
from dynkube.manifests._sources import Leaf, read_async, read_stdin
from dynkube.meta import Unstructured


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffEntry:
    """What would change of one object.

    Attributes:
        place: where it stands in the source.
        object: as it stands there; ``None`` where it cannot be read.
        diff: what would change, false where nothing would; ``None`` where that is not known.
        error: why it is not known.
        new: it would be created, and the server cannot check it before its CRD or namespace is; ``reason`` says which.
        reason: see ``new``.
    """

    place: Place
    object: Unstructured | None = None
    diff: Diff | None = None
    error: DynkubeError | None = None
    new: bool = False
    reason: str = ""

    @property
    def message(self) -> str:
        """What went wrong, or what is not known, for people; without values of Secrets."""
        return ": ".join(filter(None, (self.reason, str(self.error) if self.error is not None else "")))

    @property
    def differs(self) -> bool:
        """Whether anything would change."""
        return self.new or bool(self.diff)

    def __str__(self) -> str:
        """As ``kubectl diff`` shows it; nothing where nothing would change."""
        if self.diff is not None:
            conflicts = "".join(f"# {conflict}\n" for conflict in self.diff.conflicts)
            return f"{self.diff}\n{conflicts}".rstrip("\n") if self.diff else ""
        name = object_name(self.object) if self.object is not None else ""
        mark = "#" if self.new else "!"
        return printable(f"{mark} {' '.join(filter(None, (name, f'({self.place})')))}: {self.message}", keep="\n")


class DiffReport(Sequence[DiffEntry]):
    """What applying a source would change, in the order of the source; false where nothing would.

    ``print()`` of it shows every difference as ``kubectl diff`` does; a notebook shows the same.
    """

    def __init__(self, entries: Sequence[DiffEntry]) -> None:
        self._entries = tuple(entries)

    @property
    def ok(self) -> bool:
        """Whether of every object it is known what would change."""
        return all(entry.error is None for entry in self._entries)

    def __bool__(self) -> bool:
        return any(entry.differs for entry in self._entries)

    @property
    def summary(self) -> str:
        """``2 differ, 40 do not, 1 failed``."""
        differing = sum(entry.differs for entry in self._entries)
        failed = sum(entry.error is not None for entry in self._entries)
        alike = len(self._entries) - differing - failed
        return f"{differing} differ, {alike} do not" + (f", {failed} failed" if failed else "")

    def __str__(self) -> str:
        return "\n".join([*filter(None, map(str, self._entries)), self.summary])

    def _repr_html_(self) -> str:
        differing = (entry for entry in self._entries if entry.differs or entry.error is not None)
        # IPython's protocol is the way to what a diff looks like in a notebook.
        shown = (
            entry.diff._repr_html_() if entry.diff is not None else f"<pre>{html_text(str(entry))}</pre>"
            for entry in differing
        )
        return f"{''.join(shown)}<p>{html_text(self.summary)}</p>"

    def __repr__(self) -> str:
        return f"<DiffReport: {self.summary}>"

    @overload
    def __getitem__(self, index: int) -> DiffEntry: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[DiffEntry, ...]: ...
    def __getitem__(self, index: int | slice) -> DiffEntry | tuple[DiffEntry, ...]:
        return self._entries[index]

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[DiffEntry]:
        return iter(self._entries)


class _Differ:
    """Compares the manifests of one source with what the server has.

    Args:
        api: where requests go.
        options: as for applying them.
        manifests: what.
    """

    def __init__(self, api: APIClient, options: ApplyOptions, manifests: Sequence[Manifest]) -> None:
        self._api = api
        self._options = options
        self._manifests = manifests
        self._sender = Sender(api, options)
        readable = [manifest.checked for manifest in manifests if manifest.error is None]
        self._definitions = Definitions(readable)
        self._namespaces = {obj.name for obj in readable if (obj.api_version, obj.kind) == ("v1", "Namespace")}

    async def run(self, tell: Callable[[DiffEntry], object]) -> list[DiffEntry]:
        """All of them, in parallel; ``tell`` is called with each in the order of the source."""
        limiter = trio.CapacityLimiter(self._options.parallel)
        found: dict[int, DiffEntry] = {}
        told: list[DiffEntry] = []

        async def one(index: int) -> None:
            try:
                found[index] = await self._compare(index, self._manifests[index])
            finally:
                limiter.release_on_behalf_of(index)
            while (entry := found.get(len(told))) is not None:
                told.append(entry)
                tell(entry)

        async with OwnedNursery() as nursery:
            for index in range(len(self._manifests)):
                await limiter.acquire_on_behalf_of(index)
                nursery.start_soon(one, index)
            # What is out is waited for: leaving a nursery of this kind ends it.
            for _ in range(self._options.parallel):
                await limiter.acquire_on_behalf_of(object())
        return told

    async def _compare(self, index: int, manifest: Manifest) -> DiffEntry:
        place, obj = manifest.place, manifest.object
        if manifest.error is not None or obj is None:
            return DiffEntry(place=place, object=obj, error=manifest.error)
        if manifest.same_as is not None:
            return DiffEntry(place=place, object=obj, reason=f"the same stands at {manifest.same_as}")
        item = Item(index=index, manifest=manifest, object=obj, definition=self._definitions.of(manifest.gvk))
        try:
            return DiffEntry(place=place, object=obj, diff=await self._sender.diff(item))
        except NoMatch as error:
            if item.definition is not None and item.version in item.definition.versions:
                reason = f"it would be created, once its CRD {item.definition.name} is there"
                return DiffEntry(place=place, object=obj, new=True, reason=reason)
            return DiffEntry(place=place, object=obj, error=error)
        except NotFound as error:
            namespace = obj.namespace or self._options.namespace or self._api.namespace
            if missing_namespace(error, namespace) and namespace in self._namespaces:
                reason = f"it would be created, once its namespace {namespace} is there"
                return DiffEntry(place=place, object=obj, new=True, reason=reason)
            return DiffEntry(place=place, object=obj, error=error)
        except DynkubeError as error:
            return DiffEntry(place=place, object=obj, error=error)


async def diff_all(
    api: APIClient,
    source: Sequence[Leaf],
    options: ApplyOptions,
    *,
    on_entry: Callable[[DiffEntry], object] | None = None,
    stdin: Callable[[], bytes] = read_stdin,
) -> DiffReport:
    """What applying ``source`` would change; see :meth:`dynkube.Client.diff_all`."""
    manifests = refuse_contradictions(await read_async(source, stdin), options.namespace or api.namespace)
    return DiffReport(await _Differ(api, options, manifests).run(on_entry or _nobody))


def _nobody(entry: DiffEntry) -> None:
    """Nobody wants to hear of single entries."""
