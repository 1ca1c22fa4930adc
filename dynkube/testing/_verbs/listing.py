"""Lists: which state of history to show, and how to cut it into chunks of one consistent snapshot."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence

import msgspec

from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import Call
from dynkube.testing._calls.options import ListOptions
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._store.documents import ListDocument
from dynkube.testing._store.selectors import Selection, parse_fields, parse_labels
from dynkube.testing._store.storage import Storage, Version


class _Token(msgspec.Struct, frozen=True):
    """A continue token: behind which key to go on, in the state of which revision (-1: the present)."""

    rv: int
    start: str
    v: str = "meta.k8s.io/v1"

    @classmethod
    def parse(cls, text: str) -> _Token:
        try:
            raw = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
            token = msgspec.json.decode(raw, type=cls)
        except (binascii.Error, ValueError, msgspec.DecodeError) as error:
            raise refuse.bad_request(f"continue key is not valid: {error}") from None
        if token.v != "meta.k8s.io/v1" or not token.start or token.rv < -1:
            raise refuse.bad_request("continue key is not valid: server does not recognize this encoded version")
        return token

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


def selection(call: Call) -> Selection:
    """What the namespace and the selectors of ``call`` select.

    Raises:
        BadRequest: A selector does not parse, or selects by a field that cannot be selected by.
    """
    return Selection(
        call.namespace if call.kind.namespaced else "",
        parse_labels(call.params.get("labelSelector", "")),
        parse_fields(call.params.get("fieldSelector", ""), call.kind),
    )


def list_objects(storage: Storage, call: Call) -> ListDocument:
    """Carry out a list.

    Raises:
        BadRequest: A parameter does not parse.
        Invalid: Parameters contradict each other.
        Gone: The revision or the continue token is older than history.
        ServerTimeout: The revision has not happened yet.
    """
    options, wanted = ListOptions.for_list(call), selection(call)
    if options.continue_token:
        return _continued(storage, call.kind, options, wanted)
    revision = _revision(storage, options)
    # The watch cache, which answers for "0", does not chunk.
    limit = 0 if options.resource_version == 0 else options.limit
    return _chunk(storage, call.kind, wanted, revision, limit)


def check_reached(storage: Storage, revision: int | None) -> None:
    """Refuse a revision that has not happened yet, as a server does whose cache does not get there in time.

    Raises:
        ServerTimeout: It has not happened yet.
    """
    if revision is not None and revision > storage.revision:
        raise refuse.revision_too_large(revision, storage.revision)


def _revision(storage: Storage, options: ListOptions) -> int:
    wanted = options.resource_version
    check_reached(storage, wanted)
    exact = options.match == "Exact" or (options.limit > 0 and not options.match)
    if not wanted or not exact:
        return storage.revision
    if wanted < storage.compacted:
        raise refuse.revision_expired(wanted, storage.compacted)
    return wanted


def _continued(storage: Storage, kind: Kind, options: ListOptions, wanted: Selection) -> ListDocument:
    token = _Token.parse(options.continue_token)
    revision = storage.revision if token.rv == -1 else token.rv
    if revision < storage.compacted:
        raise refuse.continue_expired(str(_Token(-1, token.start)))
    check_reached(storage, revision)
    return _chunk(storage, kind, wanted, revision, options.limit, after=token.start)


def _chunk(
    storage: Storage, kind: Kind, wanted: Selection, revision: int, limit: int, *, after: str = ""
) -> ListDocument:
    prefix = f"{wanted.namespace}/" if wanted.namespace else ""
    candidates = storage.collection(kind.storage_group).at(revision, prefix, after)
    if not wanted.selective:
        if not limit or len(candidates) <= limit:
            return ListDocument(kind, revision, candidates)
        page = candidates[:limit]
        return ListDocument(kind, revision, page, _next(page, revision), len(candidates) - limit)
    page, more = _select(candidates, wanted, limit)
    # The rest is not counted where a selector applies: the real server does not know it either.
    return ListDocument(kind, revision, page, _next(page, revision) if more else "")


def _select(candidates: Sequence[Version], wanted: Selection, limit: int) -> tuple[list[Version], bool]:
    page: list[Version] = []
    for candidate in candidates:
        if wanted.matches(candidate):
            if limit and len(page) == limit:
                return page, True
            page.append(candidate)
    return page, False


def _next(page: Sequence[Version], revision: int) -> str:
    return str(_Token(revision, page[-1].key))
