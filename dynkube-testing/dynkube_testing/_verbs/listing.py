"""Lists of a resource at one revision, optionally in chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call
from dynkube_testing._calls.options import ListOptions
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.documents import ListDocument
from dynkube_testing._store.history import Past
from dynkube_testing._store.selectors import (
    FieldRequirement,
    FieldTerm,
    Requirement,
    Selection,
    field_requirements,
    parse_labels,
    split_fields,
)
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version, remote_content
from dynkube_testing._verbs.continue_tokens import ContinueToken
from dynkube_testing._verbs.stored_versions import check_cached, check_convertible, convert_all


@dataclass(frozen=True, slots=True)
class Selectors:
    """The selectors of a list or watch, which are well-formed."""

    labels: tuple[Requirement, ...]
    terms: tuple[FieldTerm, ...]

    @classmethod
    def read(cls, params: Mapping[str, str]) -> Selectors:
        """Parse the selectors of a request; a real server does this before it validates the parameters of a list.

        Raises:
            BadRequest: A selector is malformed.
        """
        return cls(parse_labels(params.get("labelSelector", "")), split_fields(params.get("fieldSelector", "")))

    def selection(self, call: Call) -> Selection:
        """Return the selection of objects by the selectors, and by the namespace and the name of ``call``.

        Raises:
            BadRequest: A selector has an unsupported field, or another name than the path.
        """
        fields = field_requirements(self.terms, call.kind)
        if call.name:
            named = FieldRequirement("metadata.name", call.name, negated=False)
            if fields and named not in fields:
                raise refuse.bad_request("fieldSelector metadata.name doesn't match requested name")
            fields = fields or (named,)
        return Selection(call.namespace if call.kind.namespaced else "", self.labels, fields)


def list_objects(storage: Storage, call: Call) -> ListDocument:
    """Handle a list.

    Raises:
        TooManyRequests: An object is stored in a version that its CRD has no more, or cannot be converted.
        ServerError: The same, for a list in chunks.
        AnswersNeeded: Webhooks must convert objects.
        APIError: As by :func:`select_objects`.
    """
    options, wanted = _read(call)
    if options.resource_version == 0 or not (options.limit or options.continue_token or options.match == "Exact"):
        check_cached(storage, call.kind)
    found = _selected(storage, call.kind, options, wanted)
    check_convertible(call.kind, *found.versions)
    convert_all(call.kind, found.versions)
    return found


def select_objects(storage: Storage, call: Call) -> ListDocument:
    """Return the objects that a list would return.

    Raises:
        BadRequest: A parameter is malformed.
        Invalid: Parameters contradict each other.
        Gone: The requested revision, or the revision of the continue token, has been compacted.
        ServerTimeout: The requested revision is in the future.
    """
    return _selected(storage, call.kind, *_read(call))


def _read(call: Call) -> tuple[ListOptions, Selection]:
    """Read the parameters of a list, in the order of a real server."""
    options = ListOptions.read(call.params)
    selectors = Selectors.read(call.params)
    options = options.for_list()
    wanted = selectors.selection(call)
    return options.at_version(), wanted


def _selected(storage: Storage, kind: Kind, options: ListOptions, wanted: Selection) -> ListDocument:
    if options.continue_token:
        return _continued(storage, kind, options, wanted)
    revision = _revision(storage, options)
    # Lists with resourceVersion "0" are served from the watch cache, which ignores the limit.
    limit = 0 if options.resource_version == 0 else options.limit
    return _chunk(storage, kind, wanted, revision, limit)


def check_reached(storage: Storage, revision: int | None) -> None:
    """Check that ``revision`` is not in the future; ``None`` is always valid.

    Raises:
        ServerTimeout: It is in the future. A real server waits for its watch cache and then returns the same error.
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
        raise refuse.expired("The resourceVersion for the provided list is too old.")
    return wanted


def _continued(storage: Storage, kind: Kind, options: ListOptions, wanted: Selection) -> ListDocument:
    token = ContinueToken.parse(options.continue_token)
    if options.resource_version:
        raise refuse.bad_request("specifying resource version is not allowed when using continue")
    revision = storage.revision if token.rv < 0 else token.rv
    if revision < storage.compacted:
        raise refuse.continue_expired(str(msgspec.structs.replace(token, rv=-1)))
    check_reached(storage, revision)
    # Lists with resourceVersion "0" are served from the watch cache, which ignores the limit.
    limit = 0 if options.resource_version == 0 else options.limit
    return _chunk(storage, kind, wanted, revision, limit, start=token.key)


def _chunk(
    storage: Storage, kind: Kind, wanted: Selection, revision: int, limit: int, *, start: str = ""
) -> ListDocument:
    prefix = f"{wanted.namespace}/" if wanted.namespace else ""
    candidates = storage.collection(kind.storage_group).past(revision, prefix, prefix + start)
    if not wanted.selective:
        page = candidates.first(limit)
        remaining = len(candidates) - len(page)
        token = _behind(page, prefix, revision) if remaining else ""
        return ListDocument(kind, revision, page, token, remaining or None)
    convert_all(kind, candidates)
    page, more = _select(kind, candidates, wanted, limit)
    # As in a real server, remainingItemCount is not set if there is a selector.
    return ListDocument(kind, revision, page, _behind(page, prefix, revision) if more else "")


def _select(kind: Kind, candidates: Past, wanted: Selection, limit: int) -> tuple[list[Version], bool]:
    """Return the first matching versions, and whether any candidates are left."""
    page: list[Version] = []
    remote = remote_content(kind) is not None
    for candidate in candidates:
        if limit and len(page) == limit:
            return page, True
        if wanted.matches(candidate.shown(kind) if remote else candidate):
            page.append(candidate)
    return page, False


def _behind(page: Sequence[Version], prefix: str, revision: int) -> str:
    return str(ContinueToken.behind(page[-1].key.removeprefix(prefix), revision))
