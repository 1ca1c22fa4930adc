"""One object as it is stored: encoded, with what has to be known of many objects beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

import msgspec

from dynkube.testing._calls.api import JSONObject
from dynkube.testing._kinds.kinds import Kind

# What field selectors of Events and Jobs call otherwise than it is called.
_KEPT_AT: Final = {"source": "source.component", "status.successful": "status.succeeded"}


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Version:
    """One object as it was from one revision on.

    ``rest`` is the encoded object from behind its ``metadata.resourceVersion`` to its end: what is before it
    depends on the API version asked for and on the revision, and is put in front when it is sent.
    ``fields`` are the values that field selectors of the resource may ask for, ``owners`` the UIDs of its
    ownerReferences, ``finalizers`` those of its metadata, and ``deleting`` says whether it has a deletionTimestamp:
    what has to be known about many objects without decoding them.
    ``shape`` is what the content conformed to when it was written (``Content.shape`` of its kind): read in another
    version, or under a schema that has changed since, it may look different.
    ``provisional`` says that part of it is only shown: a real server has stored less, and the next write stores it.
    """

    namespace: str
    name: str
    uid: str
    revision: int
    labels: Mapping[str, str]
    fields: Mapping[str, str]
    rest: bytes
    owners: tuple[str, ...] = ()
    finalizers: tuple[str, ...] = ()
    deleting: bool = False
    shape: object = None
    provisional: bool = False

    @property
    def key(self) -> str:
        """Where it is stored; the order of keys is the order of lists."""
        return storage_key(self.namespace, self.name)

    def encode(self, kind: Kind) -> bytes:
        """The object as JSON in the version of ``kind``."""
        head = f'{{"apiVersion":"{kind.api_version}","kind":"{kind.kind}","metadata":{{"resourceVersion":"'
        return b'%b%d"%b' % (head.encode(), self.revision, self._rest_for(kind))

    def encode_item(self, kind: Kind) -> bytes:
        """The object as it appears inside a list: built-in kinds leave out apiVersion and kind there."""
        if kind.crd_uid is not None:
            return self.encode(kind)
        return b'{"metadata":{"resourceVersion":"%d"%b' % (self.revision, self._rest_for(kind))

    def decode(self, kind: Kind) -> JSONObject:
        """The object as a new dict in the version of ``kind``."""
        decoded: JSONObject = msgspec.json.decode(self.encode(kind))
        return decoded

    def stays(self, kind: Kind, obj: JSONObject) -> bool:
        """Whether writing ``obj``, which is how it looks in the version of ``kind``, leaves what is stored as it is."""
        content = kind.content
        if content is None or self.provisional:
            return not self.provisional
        if content.shape is self.shape and content.shows_as_kept(self.shape):
            return True
        bare = {key: value for key, value in obj.items() if key not in {"apiVersion", "kind"}}
        bare["metadata"] = {**obj["metadata"], "resourceVersion": ""}
        return content.kept_as(self.shape, self._kept(), bare)

    def _rest_for(self, kind: Kind) -> bytes:
        content = kind.content
        if content is None or content.shows_as_kept(self.shape):
            return self.rest
        rest = content.encoded.get(self)
        if rest is None:
            content.encoded[self] = rest = _encode_rest(content.shown(self._kept()))
        return rest

    def _kept(self) -> JSONObject:
        kept: JSONObject = msgspec.json.decode(b'{"metadata":{"resourceVersion":""%b' % self.rest)
        return kept

    def moved_to(self, revision: int) -> Version:
        """The same content under another revision: the last word of a watch on an object that goes."""
        return replace(self, revision=revision)


def storage_key(namespace: str, name: str) -> str:
    """The key of an object within its resource."""
    return f"{namespace}/{name}" if namespace else name


def encode_version(kind: Kind, obj: JSONObject, revision: int) -> Version:
    """``obj`` as it is stored; apiVersion, kind and resourceVersion in it do not matter."""
    content = kind.content
    if content is None:
        return version_of(obj, revision, kind.selectable_fields)
    return version_of(content.to_keep(obj), revision, kind.selectable_fields, shape=content.shape)


def version_of(obj: JSONObject, revision: int, selectable_fields: Iterable[str], *, shape: object = None) -> Version:
    """``obj`` as it is stored, with the values at ``selectable_fields`` beside it."""
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
        rest=_encode_rest(obj),
        shape=shape,
    )


def _encode_rest(obj: JSONObject) -> bytes:
    metadata = {key: value for key, value in obj["metadata"].items() if key != "resourceVersion"}
    others = {key: value for key, value in obj.items() if key not in {"apiVersion", "kind", "metadata"}}
    encoded = msgspec.json.encode(metadata)
    return b",%b,%b" % (encoded[1:], msgspec.json.encode(others)[1:]) if others else b",%b}" % encoded[1:]


def field_text(obj: JSONObject, path: str) -> str:
    """The value at a dotted path as field selectors see it: text, ``""`` where there is none."""
    value = _value_at(obj, path)
    if path in _KEPT_AT and not isinstance(value, str | int):
        value = _value_at(obj, _KEPT_AT[path])
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else ""


def _value_at(obj: JSONObject, path: str) -> object:
    value: object = obj
    for segment in path.split("."):
        value = value.get(segment) if isinstance(value, dict) else None
    return value
