"""Stored objects: encoded as JSON, together with a few decoded fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from dynkube.errors import APIError
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.conversions import kept_fields
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._schemas.content import VersionContent

# Field selectors of Events and Jobs that are not the path of a field, and the path of the field that they select by.
_KEPT_AT: Final = {
    "source": ("source.component", "reportingComponent"),
    "status.successful": ("status.succeeded",),
}


_SHARED: Final = 4096  # bytes from which on equal parts are worth looking for


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Version:
    """The content of one object at one revision. Immutable.

    Attributes:
        namespace: The namespace; ``""`` if the object has none.
        name: The name.
        uid: The UID.
        revision: The resourceVersion.
        labels: The labels.
        fields: Values by path, for the field selectors of the resource: those that were selectable when the object was
            stored, and others that :meth:`field` was called for since.
        parts: The encoded object after the value of ``metadata.resourceVersion``: the other metadata, and each of the
            other fields. What comes before depends on the requested API version and on the revision, and is prepended
            when the object is sent. The versions of an object share equal parts, such as the schemas of a CRD whose
            status changes.
        owners: The UIDs in ``ownerReferences``.
        finalizers: The finalizers.
        deleting: Whether the object has a deletionTimestamp.
        shape: The schema with which the object was stored (``Content.shape`` of its kind). The object may have to be
            converted if it is read in another API version, or after a change of the schema.
        provisional: Whether a part of the content (a default status) is not stored in a real server yet, but added when
            the object is read. The next write stores it.
    """

    namespace: str
    name: str
    uid: str
    revision: int
    labels: Mapping[str, str]
    fields: dict[str, str]
    parts: tuple[bytes, ...]
    owners: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()
    deleting: bool = False
    shape: object = None
    provisional: bool = False

    @property
    def key(self) -> str:
        """The storage key. Lists are in the order of the keys."""
        return storage_key(self.namespace, self.name)

    @property
    def rest(self) -> bytes:
        """The encoded object after the value of ``metadata.resourceVersion``, in one piece."""
        return b"".join(self.parts)

    @property
    def size(self) -> int:
        """The length of ``rest``."""
        return sum(map(len, self.parts))

    def field(self, path: str) -> str:
        """Return the value of a field for field selectors; ``""`` if it is absent.

        A field that another version of the CRD makes selectable, or a later change of the CRD, is read from the object
        at the first call.
        """
        if (value := self.fields.get(path)) is None:
            value = self.fields[path] = field_text(self._kept(), path)
        return value

    def sharing(self, before: Version | None) -> Version:
        """Return this version, with the parts of the one before it where they are equal."""
        if before is None or self.size < _SHARED:
            return self
        known = {part: part for part in before.parts}
        return replace(self, parts=tuple(known.get(part, part) for part in self.parts))

    def encode(self, kind: Kind) -> bytes:
        """Return the object as JSON, in the API version of ``kind``."""
        head = f'{{"apiVersion":"{kind.api_version}","kind":"{kind.kind}","metadata":{{"resourceVersion":"'
        return b'%b%d"%b' % (head.encode(), self.revision, self._rest_for(kind))

    def encode_item(self, kind: Kind) -> bytes:
        """Return the object as JSON for an item of a list.

        As in a real server, items of built-in kinds have no apiVersion and kind.
        """
        if kind.crd_uid is not None:
            return self.encode(kind)
        return b'{"metadata":{"resourceVersion":"%d"%b' % (self.revision, self._rest_for(kind))

    def decode(self, kind: Kind) -> JSONObject:
        """Return the object as a new dict, in the API version of ``kind``."""
        decoded: JSONObject = msgspec.json.decode(self.encode(kind))
        return decoded

    def stays(self, kind: Kind, obj: JSONObject) -> bool:
        """Return whether a write of ``obj`` would not change the stored content.

        ``obj`` must equal the object as it is read in the API version of ``kind``. Its write may nevertheless change
        the stored content, for example after a change of the schema, or if the version is ``provisional``.
        """
        content = kind.content
        if content is None or self.provisional:
            return not self.provisional
        if content.shape is self.shape and content.shows_as_kept(self.shape):
            return True
        bare = {key: value for key, value in obj.items() if key not in {"apiVersion", "kind"}}
        bare["metadata"] = {**obj["metadata"], "resourceVersion": ""}
        return content.kept_as(self.shape, self._kept(), bare)

    def convert(self, kind: Kind, *, again: bool = False) -> None:
        """Convert the object to the API version of ``kind``, in which it can be encoded and decoded afterwards.

        With ``again`` a webhook converts it even if it has done so before. Without a webhook this is never needed.

        Raises:
            AnswersNeeded: The webhook must be called.
            APIError: The webhook has failed.
        """
        self._rest_for(kind, again=again)

    def readable(self, kind: Kind) -> bool:
        """Return whether no webhook has to convert the object before it is encoded in the API version of ``kind``."""
        content = remote_content(kind)
        return content is None or content.shows_as_kept(self.shape) or self in content.encoded

    def shown(self, kind: Kind) -> Version:
        """Return the object as selectors of the API version of ``kind`` see it: as its webhook has converted it."""
        content = remote_content(kind)
        if content is None:
            return self
        return version_of(self.decode(kind), self.revision, kind.selectable_fields, shape=content.own)

    def copied(self, kind: Kind, copy: Version) -> Version:
        """Return ``copy``, which has the same content, with what webhooks have made of this one."""
        content = kind.content
        if content is not None and (rest := content.encoded.get(self)) is not None:
            content.encoded[copy] = rest
        return copy

    def _rest_for(self, kind: Kind, *, again: bool = False) -> bytes:
        content = kind.content
        if content is None or content.shows_as_kept(self.shape):
            return self.rest
        rest = None if again else content.encoded.get(self)
        if rest is None:
            content.encoded[self] = rest = b"".join(_encode_parts(content.shown(self._kept(), self.shape)))
        return rest

    def _kept(self) -> JSONObject:
        kept: JSONObject = msgspec.json.decode(b'{"metadata":{"resourceVersion":""%b' % self.rest)
        return kept

    def moved_to(self, revision: int) -> Version:
        """Return the same content with another revision, for example for a DELETED event."""
        return replace(self, revision=revision)


def storage_key(namespace: str, name: str) -> str:
    """Return the key of an object in its collection: ``NAMESPACE/NAME``, or ``NAME``."""
    return f"{namespace}/{name}" if namespace else name


def remote_content(kind: Kind) -> VersionContent | None:
    """Return the content of ``kind`` if a webhook converts its objects, else ``None``."""
    content = kind.content
    return content if isinstance(content, VersionContent) and content.remote else None


def stored_kind(kind: Kind, version: Version) -> Kind:
    """Return ``kind`` in the version in which an object is stored, for changes by the server itself.

    It is ``kind`` unless a webhook converts its objects: the server's own work calls no webhooks.
    """
    if (content := remote_content(kind)) is None:
        return kind
    stored = content.as_stored(version.shape)
    gvr = replace(kind.gvr, version=stored.own.version)
    return replace(kind, gvr=gvr, content=stored, schema_source=stored.own.source)


def encode_version(kind: Kind, obj: JSONObject, revision: int) -> Version:
    """Return the version to store for ``obj`` at ``revision``.

    It is in the storage format of ``kind``.

    The apiVersion, kind and resourceVersion of ``obj`` are ignored.

    Raises:
        AnswersNeeded: A webhook must convert it to the storage format, or back.
        APIError: A webhook has failed to convert it to the storage format.
    """
    content = kind.content
    if content is None:
        return version_of(obj, revision, kind.selectable_fields)
    version = version_of(content.to_keep(obj), revision, kept_fields(kind), shape=content.shape)
    if remote_content(kind) is not None:
        with suppress(APIError):  # as in a real server, the object is stored if it cannot be converted back
            version.convert(kind)
    return version


def version_of(obj: JSONObject, revision: int, selectable_fields: Iterable[str], *, shape: object = None) -> Version:
    """Return the version for ``obj``, which must be in the storage format already.

    Args:
        obj: The object.
        revision: The resourceVersion.
        selectable_fields: The paths for ``Version.fields``.
        shape: The schema for ``Version.shape``.
    """
    metadata = obj["metadata"]
    return Version(
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        revision=revision,
        labels=metadata.get("labels") or {},
        fields={path: field_text(obj, path) for path in selectable_fields},
        owners=tuple(owner.get("uid", "") for owner in metadata.get("ownerReferences") or ()),
        finalizers=tuple(metadata.get("finalizers") or ()),
        deleting="deletionTimestamp" in metadata,
        parts=_encode_parts(obj),
        shape=shape,
    )


def _encode_parts(obj: JSONObject) -> tuple[bytes, ...]:
    encode = msgspec.json.encode
    metadata = encode({key: value for key, value in obj["metadata"].items() if key != "resourceVersion"})
    fields = [
        b",%b:%b" % (encode(key), encode(value))
        for key, value in obj.items()
        if key not in {"apiVersion", "kind", "metadata"}
    ]
    return (b",%b" % metadata[1:], *fields, b"}")


def field_text(obj: JSONObject, path: str) -> str:
    """Return a field's value for field selectors; ``""`` if it is absent."""
    value = _value_at(obj, path)
    if path in _KEPT_AT and not isinstance(value, str | int):
        value = next((found for place in _KEPT_AT[path] if (found := _value_at(obj, place))), None)
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else ""


def _value_at(obj: JSONObject, path: str) -> object:
    value: object = obj
    for segment in path.split("."):
        value = value.get(segment) if isinstance(value, dict) else None
    return value
