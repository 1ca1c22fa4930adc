"""The OpenAPI v3 documents of a server: an index, and a document for each group-version."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

import msgspec

from dynkube.client._client import APIClient
from dynkube.errors import NotFound, ProtocolError
from dynkube.errors._evidence import Evidence, evidence_of
from dynkube.meta import GroupVersion
from dynkube.rest import Answer


async def openapi_index(api: APIClient) -> Mapping[str, str] | None:
    """Return the URLs of the documents, by ``apis/GROUP/VERSION``; ``None`` if the server does not serve them.

    It does not before Kubernetes 1.24, nor at the moment at which it starts.

    Raises:
        APIError: any other error response.
        ProtocolError: the response is not an index.
    """
    try:
        index = await api.raw("GET", "/openapi/v3", accept="application/json")
        paths = msgspec.json.decode(index.body, type=_Index).paths
    except NotFound as exc:
        if evidence_of(exc) is not Evidence.RESOURCE_UNKNOWN:  # of a proxy
            raise
        return None
    except msgspec.MsgspecError as exc:
        raise ProtocolError(f"GET /openapi/v3: the response is not an index of OpenAPI v3: {exc}") from exc
    return {path: entry.url for path, entry in paths.items() if entry.url}


def openapi_path(version: GroupVersion) -> str:
    """Return the key of a group-version in the index."""
    return f"apis/{version}" if version.group else f"api/{version}"


async def openapi_document(api: APIClient, url: str) -> Answer:
    """Return the document at a URL of the index."""
    parts = urlsplit(url)
    return await api.raw("GET", parts.path, params=dict(parse_qsl(parts.query)), accept="application/json")


def schemas_of(answer: Answer) -> Mapping[str, msgspec.Raw]:
    """Return the schemas of a document, as JSON by name. Takes long for a large one: call it in a thread.

    Raises:
        ProtocolError: the response is not an OpenAPI v3 document.
    """
    try:
        return msgspec.json.decode(answer.body, type=_Document).components.schemas
    except msgspec.MsgspecError as exc:
        raise ProtocolError(f"{answer.request}: not an OpenAPI v3 document: {exc}") from exc


class _Entry(msgspec.Struct):
    url: str = msgspec.field(default="", name="serverRelativeURL")


class _Index(msgspec.Struct):
    paths: dict[str, _Entry] = {}


class _Components(msgspec.Struct):
    schemas: dict[str, msgspec.Raw] = {}


class _Document(msgspec.Struct):
    components: _Components = msgspec.field(default_factory=_Components)
