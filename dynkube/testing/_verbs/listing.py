"""Lists: which state of history to show, and how to cut it into chunks of one consistent snapshot."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Sequence

import msgspec

from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import Call
from dynkube.testing._calls.options import ListOptions
from dynkube.testing._kinds.kinds import Kind
from dynkube.testing._store.documents import ListDocument
from dynkube.testing._store.selectors import Selection, parse_fields, parse_labels
from dynkube.testing._store.storage import Storage, Version

_ENCODING = "meta.k8s.io/v1"


class _Token(msgspec.Struct, frozen=True):
    """A continue token: behind which key to go on, in the state of which revision (negative: the present)."""

    rv: int = 0
    start: str = ""
    v: str = ""

    @classmethod
    def parse(cls, text: str) -> _Token:
        try:
            raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
            token = msgspec.json.decode(raw, type=cls)
        except (binascii.Error, ValueError, msgspec.DecodeError) as error:
            raise _bad_token(f"{error}") from None
        if token.v != _ENCODING:
            raise _bad_token(f"server does not recognize this encoded version {token.v}")
        if token.rv == 0:
            raise _bad_token(f"incorrect encoded start resourceVersion (version {_ENCODING})")
        if not token.start:
            raise _bad_token(f"encoded start key empty (version {_ENCODING})")
        return token

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


def _bad_token(detail: str) -> Exception:
    return refuse.bad_request(f"invalid continue token: continue key is not valid: {detail}")


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
    if options.resource_version:
        raise refuse.bad_request("specifying resource version is not allowed when using continue")
    revision = storage.revision if token.rv < 0 else token.rv
    if revision < storage.compacted:
        raise refuse.continue_expired(str(_Token(-1, token.start, _ENCODING)))
    check_reached(storage, revision)
    # The watch cache, which answers for "0", does not chunk.
    limit = 0 if options.resource_version == 0 else options.limit
    return _chunk(storage, kind, wanted, revision, limit, after=token.start)


def _chunk(
    storage: Storage, kind: Kind, wanted: Selection, revision: int, limit: int, *, after: str = ""
) -> ListDocument:
    prefix = f"{wanted.namespace}/" if wanted.namespace else ""
    candidates = storage.collection(kind.storage_group).past(revision, prefix, after)
    if not wanted.selective:
        if not limit or len(candidates) <= limit:
            return ListDocument(kind, revision, candidates.first())
        page = candidates.first(limit)
        return ListDocument(kind, revision, page, _next(page, revision), len(candidates) - limit)
    page, more = _select(candidates, wanted, limit)
    # The rest is not counted where a selector applies: the real server does not know it either.
    return ListDocument(kind, revision, page, _next(page, revision) if more else "")


def _select(candidates: Iterable[Version], wanted: Selection, limit: int) -> tuple[list[Version], bool]:
    page: list[Version] = []
    for candidate in candidates:
        if wanted.matches(candidate):
            if limit and len(page) == limit:
                return page, True
            page.append(candidate)
    return page, False


def _next(page: Sequence[Version], revision: int) -> str:
    return str(_Token(revision, page[-1].key, _ENCODING))
