"""Content negotiation: form and encoding of a response by the Accept header."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from dynkube_testing._wire import refusals
from dynkube_testing._wire.http import HTTPRequest
from dynkube_testing._wire.layouts import JSON, JSON_TYPE, YAML, YAML_TYPE, Layout, Pretty

DISCOVERY_V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

Conversion: TypeAlias = Literal["Table", "PartialObjectMetadata", "PartialObjectMetadataList"]
_CONVERSIONS: tuple[Conversion, ...] = ("Table", "PartialObjectMetadata", "PartialObjectMetadataList")

# In the order of preference for ``*/*``. There is no protobuf; clients that ask for it also name JSON.
_WRITTEN: Mapping[str, type[Layout]] = {JSON_TYPE: JSON, YAML_TYPE: YAML}
_STREAMED = (f"{JSON_TYPE};stream=watch",)

# Parameters without effect, or handled elsewhere.
_CONVERT_PARAMS = {"as", "g", "v"}
_HUMANS = ("curl", "Wget", "Mozilla/5.0")


@dataclass(frozen=True, slots=True)
class MediaRange:
    """One entry of an Accept header."""

    media_type: str
    params: Mapping[str, str]
    quality: float

    def admits(self, media_type: str) -> bool:
        """Return whether ``media_type`` is within the range."""
        main, _, _ = media_type.partition("/")
        return self.media_type in {media_type, f"{main}/*", "*/*"}

    @property
    def _rank(self) -> tuple[float, int]:
        return -self.quality, self.media_type.count("*")


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedForm:
    """The negotiated form of a response.

    Attributes:
        layout: The encoding.
        conversion: The kind to which the object is converted; ``None`` for the object itself.
        version: The version of ``meta.k8s.io`` for the conversion.
    """

    layout: Layout
    conversion: Conversion | None = None
    version: str = ""


def parse_accept(header: str) -> tuple[MediaRange, ...]:
    """Parse an Accept header, best entry first.

    Entries of equal quality keep their order, except that wildcards come last.
    """
    return tuple(sorted(_ranges(header), key=lambda entry: entry._rank))


def _ranges(header: str) -> Iterator[MediaRange]:
    for entry in header.split(","):
        media_type, *fields = (part.strip() for part in entry.split(";"))
        if not media_type:
            continue
        params = {name.strip(): value.strip() for name, _, value in (part.partition("=") for part in fields)}
        try:
            # To kube-apiserver, quality zero is the last choice rather than an exclusion.
            quality = float(params.pop("q", "1"))
        except ValueError:
            quality = 1.0
        yield MediaRange(media_type, params, quality)


def negotiate(request: HTTPRequest, *, custom: bool = False, tables: bool = True) -> WantedForm:
    """Negotiate the response to a request to a resource.

    Args:
        request: The request.
        custom: Whether the request is for a custom resource. Built-in resources have another error message, and do not
            support ``application/*``.
        tables: Whether the response can be a table.

    Raises:
        APIError: 406 if the Accept header has no supported media type.
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


def check_streamed(wanted: WantedForm) -> None:
    """Check that a watch can have the form; a real server does that when the watch is open.

    Raises:
        APIError: 406 if the encoding is not JSON.
    """
    if wanted.layout.content_type != JSON_TYPE:
        raise refusals.not_acceptable(_STREAMED)


def check_indented(request: HTTPRequest) -> None:
    """Check that the client accepts JSON, the only form of the document with the version.

    Raises:
        APIError: 406 if it does not.
    """
    accepted = {entry.media_type for entry in parse_accept(request.headers.get("accept") or "*/*")}
    if accepted.isdisjoint({JSON_TYPE, "*/*"}):
        raise refusals.not_representable([JSON_TYPE])


def negotiate_document(request: HTTPRequest, *, routed: bool) -> Layout:
    """Negotiate the encoding of a document without conversions, like discovery.

    ``routed`` is whether a real server routes the path by the Accept header, before a handler sees the request.

    Raises:
        APIError: 406 if the Accept header has no supported media type.
    """
    entries = parse_accept(request.headers.get("accept") or "*/*")
    if routed:
        _check_representable(entries, request)
    layout = _plain_layout(entries, request)
    if layout is None:
        raise refusals.not_acceptable(_WRITTEN)
    return layout


def negotiate_error(request: HTTPRequest) -> Layout:
    """Negotiate the encoding of an error response.

    It is indented JSON if no media type is supported.
    """
    return _plain_layout(parse_accept(request.headers.get("accept") or "*/*"), request) or Pretty()


def _check_representable(entries: Iterable[MediaRange], request: HTTPRequest) -> None:
    """Check that the Accept header has a supported media type or ``*/*``.

    Parameters are ignored.

    In kube-apiserver, the router for built-in paths does this before it calls a handler.

    Raises:
        APIError: 406 if it has neither.
    """
    if not any(entry.media_type in {*_WRITTEN, "*/*"} for entry in entries):
        raise refusals.not_representable([*_WRITTEN, *(_STREAMED if request.flag("watch") else ())])


def _plain_layout(entries: Iterable[MediaRange], request: HTTPRequest) -> Layout | None:
    for entry in entries:
        if _CONVERT_PARAMS.isdisjoint(entry.params) and entry.params.get("stream", "") in {"", "watch"}:
            for media_type in _WRITTEN:
                if entry.admits(media_type):
                    return _layout(media_type, entry, request)
    return None


def _wanted(entry: MediaRange, media_type: str, request: HTTPRequest) -> WantedForm | None:
    if entry.params.get("stream", "") not in {"", "watch"}:
        return None
    layout = _layout(media_type, entry, request)
    group, version, kind = (entry.params.get(name, "") for name in ("g", "v", "as"))
    if _CONVERT_PARAMS.isdisjoint(entry.params) or not (group or version or kind):
        return WantedForm(layout=layout)
    conversion = next((known for known in _CONVERSIONS if known == kind), None)
    if conversion is None or group != "meta.k8s.io" or version not in {"v1", "v1beta1"}:
        return None
    return WantedForm(layout=layout, conversion=conversion, version=version)


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
    """Return whether the client accepts aggregated discovery (v2).

    The order in the header does not matter: the aggregated form is sent even if plain ``application/json`` comes first.
    """
    wanted = {"g": "apidiscovery.k8s.io", "v": "v2", "as": "APIGroupDiscoveryList"}
    return any(
        entry.admits("application/json") and entry.params.items() >= wanted.items()
        for entry in parse_accept(header or "")
    )


def accepts_gzip(request: HTTPRequest) -> bool:
    """Return whether the client accepts gzip.

    As in kube-apiserver, quality values are ignored.
    """
    return "gzip" in _tokens(request.headers.get("accept-encoding", ""))


def _tokens(header: str) -> Iterable[str]:
    return (token.strip() for token in header.split(","))
