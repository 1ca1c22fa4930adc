"""The Accept header: in which form a client wants its answer."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dynkube.testing._wire import refusals

DISCOVERY_V2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


class Form(enum.Enum):
    """A form the server can answer in."""

    JSON = "application/json"
    YAML = "application/yaml"
    DISCOVERY = DISCOVERY_V2


@dataclass(frozen=True, slots=True)
class MediaRange:
    """One entry of an Accept header."""

    media_type: str
    params: Mapping[str, str]
    quality: float


def parse_accept(header: str) -> tuple[MediaRange, ...]:
    """The entries of an Accept header, best first; equal quality keeps the client's order."""
    return tuple(sorted(_ranges(header), key=lambda entry: -entry.quality))


def _ranges(header: str) -> Iterator[MediaRange]:
    for entry in header.split(","):
        media_type, *fields = (part.strip() for part in entry.split(";"))
        if not media_type:
            continue
        params = {name.strip().lower(): value.strip() for name, _, value in (field.partition("=") for field in fields)}
        try:
            quality = float(params.pop("q", "1"))
        except ValueError:
            quality = 0.0
        if quality > 0:
            yield MediaRange(media_type.lower(), params, quality)


def negotiate(header: str | None) -> Form:
    """The form to answer an object, a list or a Status in.

    Forms that are not built here (Table, PartialObjectMetadata, protobuf) are passed over: clients that ask
    for them list plain JSON behind, as kubectl and client-go do.

    Raises:
        APIError: 406, nothing in the header can be produced.
    """
    for entry in parse_accept(header or "*/*"):
        if entry.params.get("as"):
            continue
        match entry.media_type:
            case "application/json" | "application/*" | "*/*":
                return Form.JSON
            case "application/yaml":
                return Form.YAML
    raise refusals.not_acceptable(form.value for form in (Form.JSON, Form.YAML))


def accepts_aggregated_discovery(header: str | None) -> bool:
    """Whether the client's first choice among what the server has is the aggregated document (v2)."""
    for entry in parse_accept(header or ""):
        params = entry.params
        if entry.media_type == "application/json":
            if not params:
                return False
            if (params.get("g"), params.get("v"), params.get("as")) == (
                "apidiscovery.k8s.io",
                "v2",
                "APIGroupDiscoveryList",
            ):
                return True
    return False
