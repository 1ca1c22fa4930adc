"""The engine of the embedded API server: one history of objects and everything the verbs do to it."""

from __future__ import annotations

from dynkube.testing._api import Call, Result, WatchStream
from dynkube.testing._kinds import Kind, Registry


class Engine:
    """Objects, history and semantics of a Kubernetes API server, without HTTP.

    All of it is plain functions except waiting: :meth:`run` drives what happens later (a definition becoming
    Established), and a watch waits for its next events. Nothing here blocks and nothing is shared between engines.
    """

    registry: Registry

    def handle(self, call: Call) -> Result:
        """Carry out any verb but ``watch``, at once.

        Raises:
            APIError: The call is refused; its ``status`` is what to send.
        """
        raise NotImplementedError

    def open_watch(self, call: Call) -> WatchStream:
        """Validate a ``watch`` and place it in history; events are read from the returned stream.

        Raises:
            APIError: The call is refused before the stream starts.
        """
        raise NotImplementedError

    def register(self, *kinds: Kind) -> None:
        """Serve built-in ``kinds``."""
        self.registry.add(*kinds)
