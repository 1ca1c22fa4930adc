"""What to raise where nothing at all could be read: what every other call on such a server raises."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dynkube.discovery._resources import EVERYTHING
from dynkube.errors import APIError, ConfigError, DiscoveryFailed, DynkubeError, TransportError


@contextmanager
def plain_failures() -> Iterator[None]:
    """Around a lookup by name: whether a name was looked up before must not decide which error a call raises.

    DiscoveryFailed stays where the server answered, only not for what could have had the name. Where it was not
    reached, or refuses whoever asks, that is what is raised, with DiscoveryFailed as its cause.
    """
    try:
        yield
    except DiscoveryFailed as exc:
        reason = _reason(exc)
        if reason is None:
            raise
        raise reason from exc


def _reason(exc: DiscoveryFailed) -> DynkubeError | None:
    everything = exc.failures.get(EVERYTHING)
    failures = [everything] if everything is not None else list(exc.failures.values())
    if everything is None and not all(isinstance(failure, TransportError) for failure in failures):
        return None  # a group that is refused, or whose server behind the API server is down
    # A copy for each caller: several wait for one read, and tracebacks are written into what is raised.
    match failures:
        case [*_, APIError() as error]:
            return type(error)(error.status, request=error.request)
        case [*_, (TransportError() | ConfigError()) as error]:
            return type(error)(str(error))
    return None
