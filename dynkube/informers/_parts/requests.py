"""Creates what sends the requests of one cache: the reflectors of its parts, and reviews of the user's rights."""

from __future__ import annotations

from collections.abc import Callable

from dynkube.client._listwatch import ListWatch
from dynkube.informers._availability.readiness import ServerReadiness
from dynkube.informers._cache.failures import FailureLog
from dynkube.informers._cache.key import SharingKey
from dynkube.informers._cache.transform import decoder_for
from dynkube.informers._parts.access_reviews import AccessReviews, Reading, Reviewed
from dynkube.informers._parts.part import Part
from dynkube.informers._reflector.reflector import Reflector, ServerFeatures, Sink
from dynkube.informers._settings import InjectedSettings
from dynkube.meta import GVR, FieldSelector
from dynkube.meta._common import BodyCache
from dynkube.meta._wire.metadata_only import MetadataReader
from dynkube.meta._wire.objects import ObjectDecoder
from dynkube.rest._client import RESTClient
from dynkube.telemetry import Observers


class Requests:
    """Creates reflectors and reviews for the parts of one cache, which share a decoder.

    Args:
        rest: sends the requests.
        key: the collection, and how its objects are stored.
        settings: timing and paging.
        features: the known features of the server, shared by all reflectors of a client.
        observers: notified of lists and watches.
        failures: records what is wrong with objects.
        readiness: whether the API server is ready.
        stamp: returns the timestamp of a new request.
    """

    __slots__ = (
        "_decoder",
        "_failures",
        "_features",
        "_key",
        "_observers",
        "_readiness",
        "_rest",
        "_settings",
        "_stamp",
    )

    def __init__(
        self,
        rest: RESTClient,
        key: SharingKey,
        settings: InjectedSettings,
        features: ServerFeatures,
        observers: Observers,
        failures: FailureLog,
        readiness: ServerReadiness,
        stamp: Callable[[], float],
    ) -> None:
        self._rest = rest
        self._key = key
        self._settings = settings
        self._features = features
        self._observers = observers
        self._failures = failures
        self._readiness = readiness
        self._stamp = stamp
        self._decoder: ObjectDecoder | None = None  # an absent resource has none, as it must take little memory

    def decode(self, gvr: GVR, kind: str) -> None:
        """Use a new decoder, for a resource that is newly served."""
        settings, metadata = self._settings, None
        if self._key.metadata_only:
            metadata = MetadataReader(gvr.api_version, kind, self._failures.whole_object_received)
        self._decoder = decoder_for(
            self._key.transform,
            BodyCache(settings.decoded_bodies),
            self._failures.transform_failed,
            compactor=settings.compactor() if settings.compact else None,
            metadata=metadata,
        )

    def forget_decoder(self) -> None:
        """Free the decoder, as the resource is not served any more."""
        self._decoder = None

    def reflector(self, part: Part, gvr: GVR, sink: Sink, *, consistent: bool) -> Reflector:
        """Return what lists and watches the objects of a part."""
        return Reflector(
            self._source(gvr, part.namespace),
            sink,
            self._settings,
            self._features,
            self._observers,
            consistent=consistent,
            statistics=part.statistics,  # counters continue over generations
            stamp=self._stamp,
        )

    def reviews(self, reviewed: Reviewed, gvr: Callable[[], GVR]) -> AccessReviews:
        """Return what reviews the user's rights in the namespaces of a set."""
        key, settings = self._key, self._settings
        labels, fields = key.label_selector, key.field_selector
        reading = Reading(
            gvr,
            label_selector="" if labels.empty else str(labels),
            field_selector="" if fields.empty else str(fields),
            name=_only_name(fields),
            streams=self._may_stream,
            source=lambda namespace: self._source(gvr(), namespace),
        )
        readiness, stamp, note = self._readiness, self._stamp, self._failures.note
        return AccessReviews(self._rest, reading, readiness, stamp, settings.access_interval, reviewed, note)

    def _may_stream(self) -> bool:
        wanted = self._settings.streaming_lists
        return self._features.streaming_lists is not False if wanted is None else wanted

    def _source(self, gvr: GVR, namespace: str | None) -> ListWatch:
        key = self._key
        return ListWatch(
            self._rest,
            gvr,
            namespace=namespace,
            label_selector=key.label_selector,
            field_selector=key.field_selector,
            shard=key.shard,
            decoder=self._decoder,
            honor_retry_after=False,  # the reflector has its own backoff, so that failures are visible in the state
            on_malformed=self._failures.malformed,
        )


def _only_name(fields: FieldSelector) -> str:
    """Return the name in ``metadata.name=x``, which RequestInfoFactory of the API server takes as that of a request."""
    for each in fields.requirements:
        if (each.field, each.operator) == ("metadata.name", "="):
            return "" if each.value in {".", ".."} or set("/%") & set(each.value) else each.value
    return ""
