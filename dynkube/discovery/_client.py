"""``DiscoveryClient``: reads discovery documents in few requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final, TypeVar
from urllib.parse import quote

import trio

from dynkube.discovery._documents import ACCEPT, RootDocument, parse_resource_list, parse_root, parse_version
from dynkube.discovery._resources import EVERYTHING, APIDiscovery, APIResource, ServerVersion
from dynkube.discovery._snapshot import Documents, assemble
from dynkube.errors import (
    ClosedError,
    DeadlineExceeded,
    DiscoveryFailed,
    DynkubeError,
    InvalidInput,
    NotFound,
    ProtocolError,
)
from dynkube.errors._evidence import Evidence, evidence_of
from dynkube.meta import GroupVersion
from dynkube.rest import Answer
from dynkube.rest._client import RESTClient
from dynkube.rest._messages import Request

_T = TypeVar("_T")
_R = TypeVar("_R")

_CORE: Final = GroupVersion("", "v1")
_MOST_AT_ONCE: Final = 256 << 10  # maximum bytes parsed on the event loop, within some milliseconds


class DiscoveryClient:
    """Reads the discovery documents of one server.

    It requests aggregated discovery (v2 and v2beta1), which is two documents in total. From a server that returns the
    legacy form it reads one document for each group-version, several concurrently. Aggregated documents have an ETag,
    so unchanged documents are neither sent nor decoded again.

    Args:
        rest: the client for requests.
        parallel: maximum concurrent requests to a server with the legacy form.
        timeout: seconds for all documents of group-versions together. Documents that have not arrived by then become
            failures in the result.
    """

    def __init__(self, rest: RESTClient, *, parallel: int = 16, timeout: float = 60.0) -> None:
        self._rest = rest
        self._timeout = timeout
        self._parallel = parallel
        self._cached: dict[str, tuple[str, RootDocument]] = {}
        # Once True, a 404 for /api or /api/v1 is a failure, as of a load balancer, not the absence of the core group.
        self._core_seen = False

    async def fetch(self, *, last_known: APIDiscovery | None = None) -> APIDiscovery:
        """Read all resources that the server serves.

        A part that cannot be read is a failure in the result, and keeps its resources from ``last_known``. Such a part
        is a group-version whose aggregated API is unavailable (``freshness: Stale``), a document with an error
        response, or the whole list of groups. Cancellation is safe: the client's state stays consistent.

        Args:
            last_known: the previous snapshot.

        Raises:
            DiscoveryFailed: neither ``/api`` nor ``/apis`` could be read, and ``last_known`` is ``None``.
        """
        core, groups = await self._settle(self._root, ("/api", "/apis"))
        if isinstance(core, NotFound) and isinstance(groups, NotFound):
            core = groups = ProtocolError(
                "the server has neither /api nor /apis: not a Kubernetes API server, or its URL lacks a path prefix"
            )
        if self._may_lack_core(core) and not isinstance(groups, DynkubeError):
            (core,) = await self._settle(self._root, ("/api",))  # one answer is no evidence
            if self._may_lack_core(core):
                core = RootDocument(aggregated=True)  # an API server without the core group, as aggregated ones are
        if isinstance(core, DynkubeError) and isinstance(groups, DynkubeError) and last_known is None:
            failures = {"v1": core, EVERYTHING: groups}
            raise DiscoveryFailed(f"discovery failed: {groups}", failures=failures) from groups
        roots = {"v1": core, EVERYTHING: groups}
        documents = await self._missing(root for root in roots.values() if isinstance(root, RootDocument))
        return assemble(roots, documents, last_known or APIDiscovery())

    def _may_lack_core(self, answer: RootDocument | DynkubeError) -> bool:
        unknown = isinstance(answer, NotFound) and evidence_of(answer) is Evidence.RESOURCE_UNKNOWN
        return unknown and not self._core_seen

    async def fetch_group(self, group: str, *, last_known: APIDiscovery | None = None) -> APIDiscovery:
        """Read all versions of one group.

        One request, and on legacy servers one more for each version.

        Args:
            group: the API group; ``""`` for core.
            last_known: the previous snapshot.

        Returns:
            A snapshot of this group only; empty and complete if the server has no such group, which its list of groups
            confirms. A version that could not be read is a failure in it and keeps its resources from ``last_known``.

        Raises:
            InvalidInput: not a valid group name.
            APIError: an error response for the group's own document; also a 404 for the core group if it was served
                before.
            TransportError: the group's document did not arrive, or is not a discovery document.
        """
        try:
            root = await self._root(f"/apis/{_segment('group', group)}" if group else "/api")
        except NotFound as exc:
            await self._check_unlisted(GroupVersion(group, ""), exc)
            return APIDiscovery()
        documents = await self._missing([root])
        return assemble({str(GroupVersion(group, "v1")): root}, documents, last_known or APIDiscovery())

    async def fetch_group_version(self, gv: GroupVersion) -> tuple[APIResource, ...] | None:
        """Read one group-version, in one request.

        Returns:
            Its resources, with the version of ``gv`` as ``group_preferred_version``, since this document does not
            contain the preferred one; ``None`` if the server does not serve it, which its list of groups confirms.

        Raises:
            InvalidInput: not a valid group or version name.
            APIError: an error response other than 404, e.g. 503 of an aggregated API that is unavailable; also a 404
                for the core group if it was served before.
            TransportError: no usable response.
        """
        try:
            return await self._group_version(gv, gv.version)
        except NotFound as exc:
            await self._check_unlisted(gv, exc)
            return None

    async def _check_unlisted(self, gv: GroupVersion, failure: NotFound) -> None:
        """Check that the server's list of groups does not have one either whose document got a 404.

        The document of a group may get one from a proxy, or from a server that has not installed all of its APIs yet.

        Raises:
            NotFound: ``failure``, if it is not about the document, or the core group was served before.
            DiscoveryFailed: the list has it.
            DynkubeError: the list could not be read; for the core group, whose list is its document, also if the list
                of groups could not be read.
        """
        core_seen = self._core_seen and not gv.group and gv.version in {"", _CORE.version}
        if evidence_of(failure) is not Evidence.RESOURCE_UNKNOWN or core_seen:
            raise failure
        try:
            listed = await self.lists(gv)
        except NotFound as exc:
            if gv.group or not self._may_lack_core(exc):
                raise
            await self._root("/apis")  # an API server without the core group, as aggregated ones are, has groups
            listed = False
        if listed:
            what = gv if gv.version else gv.group or "the core group"
            raise DiscoveryFailed(f"the server lists {what}, but responds 404 for its discovery document") from failure

    async def lists(self, gv: GroupVersion) -> bool:
        """Whether the server's list of group-versions contains ``gv``; any of its group if it has no version.

        Sends one request, which is cheap due to an ETag.

        Raises:
            APIError: an error response.
            TransportError: the list did not arrive, or is not a discovery document.
        """
        root = await self._root("/apis" if gv.group else "/api")
        versions = {GroupVersion(group.name, version.version) for group in root.groups for version in group.versions}
        return gv in versions or (not gv.version and any(each.group == gv.group for each in versions))

    async def server_version(self, *, timeout: float | None = None) -> ServerVersion:
        """Return the server's version (``/version``).

        Args:
            timeout: seconds for the request; ``None`` means the client's default.

        Raises:
            APIError: an error response.
            TransportError: no usable response.
        """
        answer = await self._rest.request(Request(method="GET", path="/version", timeout=timeout))
        return await _read(partial(parse_version, answer.body, path="/version"), answer)

    async def _root(self, path: str) -> RootDocument:
        etag, known = self._cached.get(path, ("", None))
        headers = {"If-None-Match": etag} if etag else {}
        answer = await self._rest.request(Request(method="GET", path=path, accept=ACCEPT, headers=headers))
        if answer.status == 304 and known is not None:
            return known
        root = await _read(partial(parse_root, answer.body, path=path), answer)
        self._core_seen = self._core_seen or path == "/api"
        # Only aggregated documents have an ETag.
        if root.aggregated and (etag := answer.headers.get("etag", "")):
            self._cached[path] = (etag, root)
        return root

    async def _group_version(self, gv: GroupVersion, preferred: str) -> tuple[APIResource, ...]:
        version = _segment("version", gv.version)
        path = f"/apis/{_segment('group', gv.group)}/{version}" if gv.group else f"/api/{version}"
        answer = await self._rest.request(Request(method="GET", path=path))
        return await _read(partial(parse_resource_list, answer.body, path=path, gv=gv, preferred=preferred), answer)

    async def _missing(self, roots: Iterable[RootDocument]) -> Documents:
        """Read the documents of the group-versions that a legacy server lists."""
        preferred = {
            GroupVersion(group.name, version.version): group.versions[0].version
            for root in roots
            for group in root.groups
            for version in group.versions
            if version.resources is None
        }
        answers = await self._settle(lambda gv: self._group_version(gv, preferred[gv]), tuple(preferred))
        return dict(zip(preferred, answers, strict=True))

    async def _settle(self, read: Callable[[_T], Awaitable[_R]], wanted: tuple[_T, ...]) -> list[_R | DynkubeError]:
        """Read several documents concurrently, up to the limit.

        Returns:
            The results in the order of ``wanted``; for a failed read, its error.
        """
        limiter = trio.CapacityLimiter(self._parallel)
        results: dict[int, _R | DynkubeError] = {}

        async def one(place: int, item: _T) -> None:
            async with limiter:
                try:
                    results[place] = await read(item)
                except ClosedError as error:
                    results[place] = error
                    nursery.cancel_scope.cancel()  # the other requests would fail, too
                except DynkubeError as error:
                    results[place] = error

        with trio.move_on_after(self._timeout):
            async with trio.open_nursery() as nursery:
                for place, item in enumerate(wanted):
                    nursery.start_soon(one, place, item)
        for result in results.values():
            if isinstance(result, ClosedError):
                raise result
        late = DeadlineExceeded(
            f"discovery read {len(results):,} of {len(wanted):,} documents within {self._timeout:g} s; the others are "
            "read at the next lookup"
        )
        return [results.get(place, late) for place in range(len(wanted))]


async def _read(parse: Callable[[], _T], answer: Answer) -> _T:
    """Parse a document; a large one in a worker thread, not to block the event loop.

    Raises:
        ProtocolError: it is not the expected document.
    """
    try:
        if len(answer.body) <= _MOST_AT_ONCE:
            return parse()
        return await trio.to_thread.run_sync(parse)
    except ProtocolError as exc:
        answer.redact.error(exc)
        raise


def _segment(what: str, text: str) -> str:
    """Return a percent-encoded path segment.

    Raises:
        InvalidInput: the text would change the structure of the path.
    """
    # Groups and versions are ASCII; quote() would raise for lone surrogates.
    if text in {"", ".", ".."} or "/" in text or "%" in text or not text.isascii():
        raise InvalidInput(f"invalid {what} {text!r}: expected an API group like 'apps' or a version like 'v1'")
    return quote(text, safe="")
