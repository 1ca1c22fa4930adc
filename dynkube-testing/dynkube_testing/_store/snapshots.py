"""Snapshots: all objects of a server at one revision, in memory and as a file.

The file is JSON with one object per line, so that it can be read, compared and kept under version control. Its format
has a version number; later versions of this package can read files of earlier ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from dynkube.errors import InvalidInput
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._files import replace_privately
from dynkube_testing._kinds.conversions import CORE_EVENT_FIELDS, EVENTS, conversion_of
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version, version_of

_FORMAT = "dynkube.testing/state"
_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """All objects of a server at one revision.

    See ``APIServer.snapshot`` and ``APIServer.restore``. It is immutable and shares no mutable state with the server,
    so it may be saved from another thread. It includes all objects (also CRDs) with their UIDs and resourceVersions. It
    does not include earlier revisions, options of the server, or kinds that were registered without a CRD.

    Attributes:
        revision: The resourceVersion of the latest change.
        resources: The stored objects by resource (``"deployments.apps"``).
    """

    revision: int
    resources: Mapping[str, tuple[Version, ...]] = field(repr=False)

    @classmethod
    def of(cls, storage: Storage) -> Snapshot:
        """Return a snapshot of the current state of ``storage``."""
        present = {
            group: tuple(collection.at(storage.revision)) for group, collection in sorted(storage.collections().items())
        }
        return cls(
            revision=storage.revision, resources={group: versions for group, versions in present.items() if versions}
        )

    def __len__(self) -> int:
        """Return the number of objects."""
        return sum(map(len, self.resources.values()))

    def save(self, path: str | os.PathLike[str], *, skip: int = 0) -> Path:
        """Write the snapshot to ``path`` and return the path. This is blocking file I/O.

        The file is readable by its owner only, since it may contain Secrets. It is replaced atomically after the new
        content is on disk: after a crash at any time, either the old or the new file exists. If ``path`` is a symbolic
        link, its target is replaced.

        Args:
            path: The path of the file.
            skip: How many revisions to add to the saved revision. Use it if the server continues after saving. Its
                later writes are not in the file. If a server restores the file, a client that has seen those writes
                gets 410, instead of other changes with the same resourceVersions.

        Raises:
            OSError: The directory does not exist or cannot be written to.
        """
        replace_privately(os.path.realpath(path), _encode(self, self.revision + skip))
        return Path(path)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Snapshot:
        """Read a file written by :meth:`save`. This is blocking file I/O.

        Raises:
            OSError: The file does not exist or cannot be read.
            InvalidInput: It is not a snapshot file, or was written by a later version of this package.
        """
        return _decode(Path(path).read_bytes(), str(path))


class _Header(msgspec.Struct):
    format: str
    version: int


class _Resource(msgspec.Struct):
    name: str
    objects: list[msgspec.Raw]
    fields: list[str] = []


class _State(msgspec.Struct):
    revision: int
    resources: list[_Resource]


def _encode(snapshot: Snapshot, revision: int) -> Iterator[bytes]:
    yield b'{"format":"%b","version":%d,"revision":%d,"resources":[' % (_FORMAT.encode(), _VERSION, revision)
    for index, (name, versions) in enumerate(snapshot.resources.items()):
        fields = sorted({path for version in versions for path in version.fields})
        head = msgspec.json.encode({"name": name, "fields": fields}).removesuffix(b"}")
        yield b'%b\n%b,"objects":[' % (b"," if index else b"", head)
        for place, version in enumerate(versions):
            yield b'%b\n{"metadata":{"resourceVersion":"%d"%b' % (
                b"," if place else b"",
                version.revision,
                version.rest,
            )
        yield b"\n]}"
    yield b"\n]}\n"


def _decode(data: bytes, name: str) -> Snapshot:
    try:
        header = msgspec.json.decode(data, type=_Header)
        if header.format != _FORMAT:
            raise InvalidInput(f"{name}: not a saved state of an embedded server: its format is {header.format!r}")
        if header.version > _VERSION:
            raise InvalidInput(
                f"{name}: its version is {header.version}, but this dynkube reads up to {_VERSION}; use a later one"
            )
        state = msgspec.json.decode(data, type=_State)
        versions = [
            (resource.name, tuple(_version(resource, raw, state.revision, name) for raw in resource.objects))
            for resource in map(_as_stored_now, state.resources)
        ]
    except msgspec.DecodeError as error:
        raise InvalidInput(f"{name}: not a saved state of an embedded server: {error}") from None
    resources: dict[str, tuple[Version, ...]] = {}
    for group, found in versions:
        resources[group] = (*resources.get(group, ()), *found)
    return Snapshot(revision=state.revision, resources=resources)


def _as_stored_now(resource: _Resource) -> _Resource:
    """Return a resource as it is stored now: earlier files have Events of events.k8s.io apart from those of v1."""
    conversion = conversion_of(EVENTS) if resource.name == f"events.{EVENTS.group}" else None
    if conversion is None:
        return resource
    stored = [conversion.to_keep(msgspec.json.decode(raw, type=dict)) for raw in resource.objects]
    objects = [msgspec.Raw(msgspec.json.encode(obj)) for obj in stored]
    return _Resource("events", objects, list(CORE_EVENT_FIELDS))


def _version(resource: _Resource, raw: msgspec.Raw, latest: int, name: str) -> Version:
    obj: JSONObject = msgspec.json.decode(raw, type=dict)
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        raise InvalidInput(f"{name}: {resource.name}: an object has no metadata.name")
    text = metadata.get("resourceVersion")
    if not isinstance(text, str) or not text.isdecimal() or not 0 < int(text) <= latest:
        where = f"{name}: {resource.name} {metadata['name']}"
        raise InvalidInput(f"{where}: metadata.resourceVersion is {text!r}, not a number up to the revision {latest}")
    return version_of(obj, int(text), resource.fields)
