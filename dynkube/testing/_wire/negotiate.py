"""The Accept header: in which form a client wants its answer, and how it is to be written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dynkube.testing._wire import refusals
from dynkube.testing._wire.http import HTTPRequest
from dynkube.testing._wire.layouts import JSON, JSON_TYPE, YAML, YAML_TYPE, Layout, Pretty

DISCOVERY_V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

Conversion: TypeAlias = Literal["Table", "PartialObjectMetadata", "PartialObjectMetadataList"]
_CONVERSIONS: tuple[Conversion, ...] = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")

# In the order in which an open choice (``*/*``) is decided. There is no protobuf here, which clients that ask for it
# do without: they name JSON behind it.
_WRITTEN: Mapping[str, type[Layout]] = {JSON_TYPE: JSON, YAML_TYPE: YAML}
_STREAMED = (f"{JSON_TYPE};stream=watch",)

# Parameters that change nothing here, or that are decided elsewhere.
_CONVERT_PARAMS = {"as", "g", "v"}
_HUMANS = ("curl", "Wget", "Mozilla/5.0")


@dataclass(frozen=True, slots=True)
class MediaRange:
    """One entry of an Accept header."""

    media_type: str
    params: Mapping[str, str]
    quality: float

    def admits(self, media_type: str) -> bool:
        """Whether ``media_type`` is within the range."""
        main, _, _ = media_type.partition("/")
        return self.media_type in {media_type, f"{main}/*", "*/*"}

    @property
    def _rank(self) -> tuple[float, int]:
        return -self.quality, self.media_type.count("*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What an answer is to be.

    Attributes:
        layout: How it is written.
        conversion: What the object is turned into; ``None`` for the object itself.
        version: The version of ``meta.k8s.io`` that the conversion is to have.
    """

    layout: Layout
    conversion: Conversion | None = None
    version: str = ""


def parse_accept(header: str) -> tuple[MediaRange, ...]:
    """The entries of an Accept header, best first; equal quality keeps the client's order, wildcards come last."""
    return tuple(sorted(_ranges(header), key=lambda entry: entry._rank))


def _ranges(header: str) -> Iterator[MediaRange]:
    for entry in header.split(","):
        media_type, *fields = (part.strip() for part in entry.split(";"))
        if not media_type:
            continue
        params = {name.strip(): value.strip() for name, _, value in (part.partition("=") for part in fields)}
        try:
            # Zero is no "not at all" to kube-apiserver, only the last choice.
            quality = float(params.pop("q", "1"))
        except ValueError:
            quality = 1.0
        yield MediaRange(media_type, params, quality)


def negotiate(request: HTTPRequest, *, custom: bool = False, tables: bool = True) -> Wanted:
    """What to answer a request to a resource with.

    Args:
        request: Whose header it is.
        custom: Whether it is about a custom resource: the two are refused in other words, and only custom ones
            are found by ``application/*``.
        tables: Whether the answer could be a table.

    Raises:
        APIError: 406, nothing in the header can be produced.
    """
    entries = parse_accept(request.headers.get("accept") or "*/*")
    if not custom:
        _check_representable(entries, request)
    for entry in entries:
        for media_type in _WRITTEN:
            wanted = _wanted(entry, media_type, request) if entry.admits(media_type) else None
            if wanted is not None and (tables or wanted.conversion != "Table"):
                return wanted
    raise refusals.not_acceptable(_WRITTEN)


def negotiate_stream(request: HTTPRequest, *, custom: bool = False) -> Wanted:
    """What the events of a watch are to be: the same, but only JSON can be streamed.

    Raises:
        APIError: 406, the first choice among what can be produced is not JSON.
    """
    wanted = negotiate(request, custom=custom)
    if wanted.layout.content_type != JSON_TYPE:
        raise refusals.not_acceptable(_STREAMED)
    return wanted


def negotiate_document(request: HTTPRequest) -> Layout:
    """How to write what has one form only, such as discovery.

    Raises:
        APIError: 406, nothing in the header can be produced.
    """
    entries = parse_accept(request.headers.get("accept") or "*/*")
    _check_representable(entries, request)
    layout = _plain_layout(entries, request)
    if layout is None:
        raise refusals.not_acceptable(_WRITTEN)
    return layout


def negotiate_error(request: HTTPRequest) -> Layout:
    """How to write a Status: what cannot be had is not insisted on."""
    return _plain_layout(parse_accept(request.headers.get("accept") or "*/*"), request) or Pretty()


def _check_representable(entries: Iterable[MediaRange], request: HTTPRequest) -> None:
    """What the router before the handlers of built-in paths checks: exact media types, whatever their parameters."""
    if not any(entry.media_type in {*_WRITTEN, "*/*"} for entry in entries):
        raise refusals.not_representable([*_WRITTEN, *(_STREAMED if request.flag("watch") else ())])


def _plain_layout(entries: Iterable[MediaRange], request: HTTPRequest) -> Layout | None:
    for entry in entries:
        if _CONVERT_PARAMS.isdisjoint(entry.params):
            for media_type in _WRITTEN:
                if entry.admits(media_type):
                    return _layout(media_type, entry, request)
    return None


def _wanted(entry: MediaRange, media_type: str, request: HTTPRequest) -> Wanted | None:
    if entry.params.get("stream", "") not in {"", "watch"}:
        return None
    layout = _layout(media_type, entry, request)
    group, version, kind = (entry.params.get(name, "") for name in ("g", "v", "as"))
    if _CONVERT_PARAMS.isdisjoint(entry.params) or not (group or version or kind):
        return Wanted(layout=layout)
    conversion = next((known for known in _CONVERSIONS if known == kind), None)
    if conversion is None or group != "meta.k8s.io" or version not in {"v1", "v1beta1"}:
        return None
    return Wanted(layout=layout, conversion=conversion, version=version)


def _layout(media_type: str, entry: MediaRange, request: HTTPRequest) -> Layout:
    if media_type == JSON_TYPE and (entry.params.get("pretty") == "1" or _for_people(request)):
        return Pretty()
    return _WRITTEN[media_type]()


def _for_people(request: HTTPRequest) -> bool:
    asked = request.params.get("pretty", "")
    if asked:
        return asked in {"1", "t", "T", "true", "TRUE", "True"}
    return request.headers.get("user-agent", "").startswith(_HUMANS)


def accepts_aggregated_discovery(header: str | None) -> bool:
    """Whether the client asks for the aggregated document (v2).

    Wherever it does in the header: a plain ``application/json`` before it asks for nothing that could be had instead.
    """
    wanted = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}
    return any(
        entry.admits("application/json") and entry.params.items() >= wanted.items()
        for entry in parse_accept(header or "")
    )


def accepts_gzip(request: HTTPRequest) -> bool:
    """Whether the client takes gzip; as kube-apiserver reads the header, without looking at qualities."""
    return "gzip" in _tokens(request.headers.get("accept-encoding", ""))


def _tokens(header: str) -> Iterable[str]:
    return (token.strip() for token in header.split(","))
