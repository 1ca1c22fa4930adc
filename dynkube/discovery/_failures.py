"""Errors for discovery that failed completely.

They are converted to the errors that any other request to the server would raise.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from dynkube.discovery._resources import EVERYTHING
from dynkube.errors import APIError, ConfigError, DiscoveryFailed, DynkubeError, TransportError
from dynkube.errors._base import another


@contextmanager
def plain_failures() -> Iterator[None]:
    """Convert DiscoveryFailed to the underlying error if the whole server failed.

    A context manager around a lookup by name. If the server was not reached, or rejected the user, that error is
    raised, with DiscoveryFailed as its cause. So a call raises the same error whether or not the name was looked up
    before. If the server responded, but not for a group that could have the name, DiscoveryFailed is raised on.
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
        return None  # an error response for one group, or its aggregated API server is unavailable
    # A copy for each caller: several callers wait for one read, and raising attaches a traceback to the exception.
    match failures:
        case [*_, APIError() as error]:
            return another(error)
        case [*_, (TransportError() | ConfigError()) as error]:
            return type(error)(str(error))
    return None
