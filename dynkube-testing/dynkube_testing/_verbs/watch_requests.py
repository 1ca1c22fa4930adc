"""Open watches: create the event stream for the parameters of a request."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from dynkube.errors import APIError, Gone, ServerError, TooManyRequests
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call
from dynkube_testing._calls.options import ListOptions
from dynkube_testing._store.selectors import Selection
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version, remote_content
from dynkube_testing._store.watching import Converter, Stream, Watches, WatchSettings
from dynkube_testing._verbs.listing import Selectors, check_reached
from dynkube_testing._verbs.stored_versions import check_cached


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRequests:
    """Opens watches on one storage.

    Attributes:
        storage: The storage to watch.
        watches: The open streams.
        random: Randomizes the duration of watches without ``timeoutSeconds``.
        watch_list: Whether ``sendInitialEvents`` is supported.
        bookmark_interval: Seconds between bookmarks.
        min_request_timeout: Minimum duration in seconds of a watch without ``timeoutSeconds``; it can be up to twice as
            long.
        expired_as_event: Whether an expired revision is reported by an ERROR event in a 200 response, as by current
            servers. If false, it is reported by the HTTP status 410.
    """

    storage: Storage
    watches: Watches
    random: random.Random
    watch_list: bool
    bookmark_interval: float
    min_request_timeout: float
    expired_as_event: bool

    def open(self, call: Call, convert: Converter | None = None) -> Stream:
        """Open a watch, whose objects ``convert`` lets webhooks convert.

        Raises:
            BadRequest: A parameter is malformed.
            Invalid: Parameters contradict each other, or are not supported by this server.
            Gone: The revision has expired, and ``expired_as_event`` is false.
            TooManyRequests: An object is stored in a version that its CRD has no more, or cannot be converted.
            AnswersNeeded: Webhooks must convert objects.
        """
        options = ListOptions.read(call.params)
        selectors = Selectors.read(call.params)
        options = options.for_watch(watch_list=self.watch_list, old_path=call.old_watch)
        wanted = selectors.selection(call)
        try:
            self._check_cached(call)
            revision, initial = self._place(call, options, wanted)
        except APIError as error:
            # As in a real server, errors after the validation of the parameters are reported by an ERROR event.
            if isinstance(error, TooManyRequests) or (isinstance(error, Gone) and not self.expired_as_event):
                raise
            stream = self._stream(call, options, wanted, self.storage.revision, [], None)
            stream.fail(error)
            return stream
        return self._stream(call, options, wanted, revision, initial, convert)

    def _check_cached(self, call: Call) -> None:
        """Check that a real server's watch cache could be filled, and is up to date.

        Raises:
            TooManyRequests: It could not be filled.
            ServerTimeout: A webhook has failed to convert an object since.
        """
        try:
            check_cached(self.storage, call.kind)
        except ServerError:
            versions = self.storage.collection(call.kind.storage_group).current.values()
            newest = min(each.revision for each in versions if not each.readable(call.kind))
            raise refuse.revision_too_large(self.storage.revision, newest - 1) from None

    def _place(self, call: Call, options: ListOptions, wanted: Selection) -> tuple[int, list[Version]]:
        given, present = options.resource_version, self.storage.revision
        if options.send_initial_events:
            check_reached(self.storage, given)
            return present, self._present(call, wanted)
        if not given:
            # "Get state and start": existing objects are sent first unless sendInitialEvents is false.
            return present, [] if options.send_initial_events is False else self._present(call, wanted)
        oldest = max(self.storage.compacted, self.storage.collection(call.kind.storage_group).watched_since)
        if given < oldest:
            raise refuse.expired(f"too old resource version: {given} ({oldest})")
        return given, []

    def _present(self, call: Call, wanted: Selection) -> list[Version]:
        prefix = f"{wanted.namespace}/" if wanted.namespace else ""
        versions = self.storage.collection(call.kind.storage_group).at(self.storage.revision, prefix)
        if remote_content(call.kind) is None:
            return [version for version in versions if wanted.matches(version)]
        return [version for version in versions if wanted.matches(version.shown(call.kind))]

    def _stream(
        self,
        call: Call,
        options: ListOptions,
        wanted: Selection,
        revision: int,
        initial: list[Version],
        convert: Converter | None,
    ) -> Stream:
        settings = WatchSettings(
            timeout=options.timeout or self.min_request_timeout * (1 + self.random.random()),
            bookmark_interval=self.bookmark_interval if options.bookmarks else math.inf,
            initial_end=bool(options.send_initial_events) and options.bookmarks,
        )
        stream = Stream(
            call.kind,
            wanted,
            self.storage,
            revision=revision,
            initial=initial,
            settings=settings,
            watches=self.watches,
            convert=convert,
        )
        self.watches.add(stream)
        return stream
