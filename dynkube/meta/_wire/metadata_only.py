"""Objects reduced to their metadata: requested from the server, and done here if it sends whole objects.

A server that knows PartialObjectMetadata (KEP-2334, since Kubernetes 1.15) sends nothing but ``metadata``, with the
apiVersion and kind of PartialObjectMetadata. The objects get those of their resource back, as owner references and
Events need them; controller-runtime does the same.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import msgspec

from dynkube.meta._wire.lists import PARTIAL, VIEWS

# A server that does not know the first form sends the second one: whole objects.
ACCEPT_LIST: Final = f"application/json;as={PARTIAL}List;g=meta.k8s.io;v=v1,application/json"
ACCEPT: Final = f"application/json;as={PARTIAL};g=meta.k8s.io;v=v1,application/json"
_START: Final = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":'


class _Document(msgspec.Struct, gc=False, rename="camel"):
    api_version: str = ""
    kind: str = ""
    metadata: msgspec.Raw = msgspec.Raw(b"{}")


_documents: Final = msgspec.json.Decoder(_Document)


class MetadataReader:
    """Reduces objects of one resource to apiVersion, kind and metadata.

    Args:
        api_version: ``apiVersion`` of the resource.
        kind: its kind; ``""`` if it is not known. Then partial objects keep theirs.
        on_whole: called for each object that the server has sent as a whole.
    """

    __slots__ = ("_on_whole", "_start")

    def __init__(self, api_version: str, kind: str, on_whole: Callable[[], None]) -> None:
        self._start = _start(api_version, kind) if kind else b""
        self._on_whole = on_whole

    def reduced(self, raw: bytes) -> bytes:
        """Return the object with its metadata only.

        Raises:
            msgspec.DecodeError, UnicodeDecodeError, RecursionError: ``raw`` is not one JSON object with a well-typed
                apiVersion and kind (``UNREADABLE``).
        """
        if raw.startswith(_START):
            return self._start + raw[len(_START) :] if self._start else raw
        found = _documents.decode(raw)
        if not found.api_version.startswith(VIEWS):
            self._on_whole()
            start = _start(found.api_version, found.kind)
        elif found.kind == PARTIAL:
            start = self._start or _START
        else:
            return raw  # a Table, for example, which the caller refuses
        return b"%b%b}" % (start, bytes(found.metadata))


def _start(api_version: str, kind: str) -> bytes:
    return msgspec.json.encode({"apiVersion": api_version, "kind": kind})[:-1] + b',"metadata":'
