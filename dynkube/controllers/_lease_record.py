"""The settings of a leader election, its record in a Lease, and who may write that next. Pure.

The semantics are those of client-go v0.37 (``tools/leaderelection``, ``resourcelock/leaselock.go``), except that the
deletion of a Lease counts as a change of it: a candidate that has seen it gives its holder time to create it again.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Final

from dynkube._server_text import word
from dynkube.errors import InvalidInput
from dynkube.meta import GVR, LabelSelector, Unstructured
from dynkube.meta._arguments import brief, is_number
from dynkube.meta._names import MAX_SUBDOMAIN, namespace_problem

JITTER: Final = 1.2
"""A candidate waits for up to 2.2 retry periods (client-go's ``JitterFactor``)."""

LEASES: Final = GVR("coordination.k8s.io", "v1", "leases")
MAX_INT32: Final = 2**31 - 1  # leaseDurationSeconds and leaseTransitions are int32

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_MAX_IDENTITY: Final = 512  # the API has no limit
_RFC3339: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")


@dataclass(frozen=True, slots=True)
class LeaderElection:
    """Settings of a leader election: the Lease, and its timing. The defaults are those of Kubernetes' own components.

    After the last successful renewal the leader's work is cancelled within ``renew_deadline``, and another candidate
    takes over after ``lease_duration`` at the earliest. What is between them is the time for the work to clean up, and
    for clocks that run at different speeds. All candidates of a lease should have the same settings.

    Attributes:
        name: name of the Lease; by convention that of the program.
        namespace: of the Lease; ``None`` means the context's namespace, in a pod that of the pod.
        identity: identifies this candidate, and must be unique: two electors with the same identity both lead.
            ``None`` means the host name, in a pod the pod's name, and a random suffix.
        lease_duration: seconds without a renewal after which other candidates may take over. Rounded up to whole
            seconds in the Lease.
        renew_deadline: seconds after the start of the last successful renewal at which the work is cancelled. Each
            attempt to renew may take half of it.
        retry_period: seconds between renewals, and between attempts. Candidates wait for up to 2.2 times as long, at
            random.
        release_on_exit: whether the lease is released when the work has ended, so that other candidates take over at
            their next attempt. ``False`` leaves it to expire.
        labels: labels of the Lease, set whenever it is written; its other labels are kept (client-go's
            ``LeaseLock.Labels``).

    Raises:
        InvalidInput: a name or a label is invalid, or not ``lease_duration > renew_deadline > 1.2 * retry_period > 0``.
    """

    name: str
    _: KW_ONLY
    namespace: str | None = None
    identity: str | None = None
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    release_on_exit: bool = True
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        name: object = self.name  # callers are not always type-checked
        namespace: object = self.namespace
        identity: object = self.identity
        if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_SUBDOMAIN:
            raise InvalidInput(f"name={brief(name)}: pass a lowercase DNS name for the Lease, like 'my-operator'")
        if namespace is not None:
            problem = namespace_problem(namespace) if isinstance(namespace, str) else "is not a string"
            if problem is not None:
                raise InvalidInput(f"namespace={brief(namespace)} {problem}: pass a name, or None for the context's")
        if identity is not None and not (
            isinstance(identity, str) and identity.isprintable() and 0 < len(identity) <= _MAX_IDENTITY
        ):
            raise InvalidInput(f"identity={brief(identity)}: pass 1 to {_MAX_IDENTITY} printable characters, or None")
        labels: object = self.labels
        if not isinstance(labels, Mapping):
            raise InvalidInput(f"labels={brief(labels)}: pass a dict of labels for the Lease")
        LabelSelector.parse({**labels})  # raises for a key or a value that the server would reject
        object.__setattr__(self, "labels", dict(labels))
        self._check_times()

    def _check_times(self) -> None:
        for name in ("lease_duration", "renew_deadline", "retry_period"):
            value: object = getattr(self, name)
            if not is_number(value) or not 0 < value < math.inf:
                raise InvalidInput(f"{name}={brief(value)}: pass a positive number of seconds")
        if not 1 <= self.lease_duration <= MAX_INT32:
            raise InvalidInput(f"lease_duration={self.lease_duration!r}: pass 1 to {MAX_INT32} seconds")
        if not self.lease_duration > self.renew_deadline:
            raise InvalidInput(
                f"lease_duration={self.lease_duration!r} is not greater than renew_deadline={self.renew_deadline!r}: "
                "the work has to end before others may take over"
            )
        if not self.renew_deadline > JITTER * self.retry_period:
            raise InvalidInput(
                f"renew_deadline={self.renew_deadline!r} is not greater than {JITTER} * retry_period="
                f"{self.retry_period!r}: there has to be time for a renewal"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderElectionStatus:
    """The state of a :class:`LeaderElector`, for health endpoints and logs.

    Attributes:
        identity: of this elector.
        leading: whether this elector leads: its work is running or cleaning up, and the leadership was not lost.
        holder: the identity that was seen last in the Lease; ``""`` if there was none.
        since: when this elector first saw that holder, by its wall clock; ``None`` if it has not seen the Lease.
        transitions: how often the lease has had a new holder (``leaseTransitions``).
        error: why the last attempt to acquire or renew failed; ``""`` if it did not.
    """

    identity: str
    leading: bool
    holder: str
    since: datetime | None
    transitions: int
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRecord:
    """The ``spec`` of a Lease. A field with a wrong type, which another tool may have written, counts as absent.

    Attributes:
        holder: ``holderIdentity``; ``""`` if no process holds the lease, ``None`` if the field is not a string, so that
            the holder is unknown.
        seconds: ``leaseDurationSeconds``; ``None`` if absent.
        transitions: ``leaseTransitions``; 0 if absent.
        acquired: ``acquireTime``; ``""`` if absent.
        renewed: ``renewTime``; ``""`` if absent.
        strategy: ``strategy`` of coordinated leader election (KEP-4355); ``""`` if absent.
        preferred: ``preferredHolder`` of coordinated leader election; ``""`` if absent, or if there is no strategy.
    """

    holder: str | None
    seconds: int | None = None
    transitions: int = 0
    acquired: str = ""
    renewed: str = ""
    strategy: str = ""
    preferred: str = ""

    def spec(self) -> dict[str, object]:
        """Return the ``spec`` to write; absent fields are left out."""
        fields = {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.seconds,
            "leaseTransitions": self.transitions,
            "acquireTime": self.acquired or None,
            "renewTime": self.renewed or None,
            "strategy": self.strategy or None,
            "preferredHolder": self.preferred or None,
        }
        return {name: value for name, value in fields.items() if value is not None}


def read_record(lease: Unstructured) -> LeaseRecord:
    """Read the record of a Lease.

    Raises:
        InvalidObject: the body of the object cannot be decoded.
    """
    spec = lease.get("spec")
    if spec is None:
        return LeaseRecord(holder="")
    if not isinstance(spec, Mapping):
        return LeaseRecord(holder=None)
    holder = spec.get("holderIdentity")
    acquired = _text(spec, "acquireTime")
    strategy = _text(spec, "strategy")
    return LeaseRecord(
        holder="" if holder is None else holder if isinstance(holder, str) else None,
        seconds=_int32(spec, "leaseDurationSeconds") or None,
        transitions=_int32(spec, "leaseTransitions"),
        acquired=acquired if _RFC3339.fullmatch(acquired) else "",  # it is written again
        renewed=_text(spec, "renewTime"),
        strategy=strategy,
        preferred=_text(spec, "preferredHolder") if strategy else "",
    )


def _text(spec: Mapping[str, object], name: str) -> str:
    value = spec.get(name)
    return value if isinstance(value, str) else ""


def _int32(spec: Mapping[str, object], name: str) -> int:
    value = spec.get(name)
    return value if type(value) is int and 0 <= value <= MAX_INT32 else 0


@dataclass(frozen=True, slots=True)
class Observation:
    """A Lease as an elector has seen it last.

    Attributes:
        record: its record, or the last one if it was deleted; ``None`` if it never existed as far as is known.
        exists: whether it exists.
        since: when it was first seen like this, on trio's clock; ``math.inf`` if that was too long ago to be sure.
    """

    record: LeaseRecord | None
    exists: bool
    since: float

    @property
    def holder(self) -> str:
        """The identity of the holder; ``""`` if there is none, or if it is not known."""
        return (self.exists and self.record is not None and self.record.holder) or ""

    def obstacle(self, identity: str) -> str:
        """Return why an elector cannot write the record, for messages."""
        record = self.record
        if record is None or not self.exists:
            return "it was deleted"
        if record.preferred not in ("", identity):
            return f"'{word(record.preferred)}' is its preferred holder"
        if record.holder is None:
            return "its holderIdentity is not a string"
        return f"it is held by '{word(record.holder)}'"

    def expires(self, lease_duration: float) -> float:
        """Return when the lease expires unless its record changes, on trio's clock.

        Args:
            lease_duration: seconds to assume where the record has none; that of a released lease means nothing.
        """
        stated = self.record.seconds if self.record is not None and self.record.holder != "" else None
        return self.since + (stated or lease_duration)


UNSEEN: Final = Observation(None, exists=False, since=-math.inf)
"""Before the first response. The same as a Lease that does not exist, as then it may be created at once, too."""


def observed(before: Observation, record: LeaseRecord | None, now: float) -> Observation:
    """Return what is known about a Lease after a response.

    The time of the observation is that of the last *change*: a holder that does not renew its lease does not change it.

    Args:
        before: what was known before.
        record: the record in the response; ``None`` if the Lease does not exist.
        now: when the response was received, on trio's clock.
    """
    if record is None:
        known = not before.exists and before.since < math.inf
        return before if known else replace(before, exists=False, since=now)
    if before.exists and before.record == record:
        return before
    return Observation(record, exists=True, since=now)


def unobserved(before: Observation) -> Observation:
    """Return what is known about a Lease after a time without responses.

    A Lease that does not exist may have been created and deleted again: its deletion is as old as the next response. If
    it exists, no process can have held it in between without changing its record.
    """
    return before if before.exists else replace(before, since=math.inf)


class Claim(Enum):
    """What a candidate, or the leader, may do with a lease."""

    RENEW = "it holds the lease"
    TAKE = "no process holds the lease, or it has expired"
    WAIT = "another process holds the lease"


def claim(seen: Observation, identity: str, *, leading: bool, now: float, lease_duration: float) -> Claim:
    """Decide what an elector may do with a lease.

    ==========================================  ===========  =======
    the Lease                                   not expired  expired
    ==========================================  ===========  =======
    never existed                               TAKE         TAKE
    was deleted, while this elector leads       RENEW        RENEW
    was deleted: it may have been held          WAIT         TAKE
    has a preferred holder, another elector     WAIT         TAKE
    is held by this elector                     RENEW        RENEW
    has no holder                               TAKE         TAKE
    is held by another process                  WAIT         TAKE
    ==========================================  ===========  =======

    Timestamps in the record are not compared with a clock, as the clocks of machines differ.

    Args:
        seen: the lease.
        identity: of the elector.
        leading: whether it leads.
        now: trio's clock.
        lease_duration: seconds until expiry where the record has none.
    """
    record = seen.record
    if record is None:
        return Claim.TAKE
    otherwise = Claim.TAKE if now >= seen.expires(lease_duration) else Claim.WAIT
    if not seen.exists:
        return Claim.RENEW if leading and record.holder == identity else otherwise
    if record.preferred not in ("", identity):
        return otherwise
    if record.holder == identity:
        return Claim.RENEW
    return Claim.TAKE if record.holder == "" else otherwise


def held_record(before: LeaseRecord | None, identity: str, *, seconds: int, time: str) -> LeaseRecord:
    """Return the record to write in order to acquire or renew a lease.

    ``acquireTime`` and ``leaseTransitions`` change only with the holder. The preferred holder is removed.

    Args:
        before: the record as it is; ``None`` if there is none.
        identity: of the elector.
        seconds: ``leaseDurationSeconds``.
        time: the current time, from :func:`micro_time`.
    """
    new = LeaseRecord(holder=identity, seconds=seconds, acquired=time, renewed=time)
    if before is None:
        return new
    if before.holder == identity:
        new = replace(new, transitions=before.transitions, acquired=before.acquired or time)
    else:
        new = replace(new, transitions=min(before.transitions + 1, MAX_INT32))
    return replace(new, strategy=before.strategy)


def released_record(before: LeaseRecord, *, time: str) -> LeaseRecord:
    """Return the record to write in order to release a lease, for all others to take at once.

    The API accepts no duration of zero.
    """
    return replace(before, holder="", seconds=1, renewed=time)


def micro_time(now: datetime) -> str:
    """Return a ``metav1.MicroTime``.

    Raises:
        InvalidInput: ``now`` has no time zone.
    """
    if now.tzinfo is None:
        raise InvalidInput(f"now() returned {now!r}, which has no time zone: pass a function like datetime.now(UTC)")
    return now.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Timestamps:
    """The times to write, all different: even if the wall clock stands still.

    An update that changes nothing is not stored, and a renewal that changes nothing is not seen by others.

    Args:
        now: returns the current time.

    Raises:
        InvalidInput: the result of ``now`` has no time zone.
    """

    def __init__(self, now: Callable[[], datetime]) -> None:
        self._now = now
        self._count = 0
        self.next()

    def next(self) -> str:
        """Return the current time; the last three digits of its microseconds also count the calls."""
        self._count = (self._count + 1) % 1000
        return micro_time(self._now() + timedelta(microseconds=self._count))
