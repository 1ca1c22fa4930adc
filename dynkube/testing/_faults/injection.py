"""How faults are put into a server: the same functions for every server that has faults."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dynkube.meta import GVR
from dynkube.testing._faults.effects import Effect
from dynkube.testing._faults.endings import Ending
from dynkube.testing._faults.facts import When, means, resource_arg
from dynkube.testing._faults.faults import Fault, Faults
from dynkube.testing._faults.refusals import Refuse


class Injection:
    """Faults in the way of requests, as ``_faults`` has them."""

    _faults: Faults

    def inject(
        self,
        effect: Effect,
        *,
        verb: str | None = None,
        resource: str | GVR | None = None,
        path_prefix: str = "",
        when: When | None = None,
        times: int | None = None,
        skip: int = 0,
        chance: float = 1.0,
        start: float = 0.0,
        duration: float = math.inf,
    ) -> Fault:
        """Let ``effect`` happen to matching requests from now on.

        A request meets all faults that match it, the oldest first: what that lets pass comes to the next, and in the
        end to the server. The answer takes the same way back. Plain functions of the server meet none.

        Args:
            effect: What happens: ``Refuse(503)``, ``Delay(2)``, ``Cut("reset", after_lines=3)``, ... or an own one.
            verb: Only this verb (``"list"``, ``"watch"``, ...; ``""`` for paths that are no resources).
            resource: Only this resource: ``"pods"``, ``"deployments.apps"`` or a GVR; served or not.
            path_prefix: Only paths that begin so (``"/apis"`` for discovery).
            when: Only requests for which this function of :class:`RequestFacts` is true.
            times: How many requests it strikes; ``None`` until the fault is removed.
            skip: How many matching requests pass before.
            chance: The probability that it strikes, for each request; the server's ``random`` decides.
            start: Seconds from now until it is in force, on trio's clock.
            duration: Seconds from then until it is over.

        Returns:
            The fault: ``hits`` counts how often it struck, ``remove()`` (or leaving its ``with`` block) ends it.

        Raises:
            InvalidInput: An argument is out of range.
            RuntimeError: ``start`` or ``duration`` is given outside of trio.
        """
        return self._faults.inject(
            effect,
            verb=verb,
            resource=resource,
            path_prefix=path_prefix,
            when=when,
            times=times,
            skip=skip,
            chance=chance,
            start=start,
            duration=duration,
        )

    def fail(
        self,
        *,
        status: int,
        verb: str | None = None,
        resource: str | GVR | None = None,
        path_prefix: str = "",
        retry_after: float | str | None = None,
        times: int | None = None,
        body: Mapping[str, object] | str | bytes | None = None,
        content_type: str | None = None,
    ) -> Fault:
        """Answer matching requests with ``status`` from now on: the short form of injecting :class:`Refuse`.

        Args:
            status: The HTTP status, 200 to 599.
            verb: Only this verb (``"list"``, ``"watch"``, ...; ``""`` for paths that are no resources).
            resource: Only this resource: ``"pods"``, ``"deployments.apps"`` or a GVR; served or not.
            path_prefix: Only paths that begin so (``"/apis"`` for discovery).
            retry_after: The Retry-After header: seconds, or text as it is to be sent (an HTTP date).
            times: How often; ``None`` until the fault is removed.
            body: What to send: a mapping as JSON, text or bytes as they are; a fitting Status if not given.
            content_type: Of the body; JSON, or HTML for text, unless given.

        Returns:
            The fault: ``hits`` counts how often it struck, ``remove()`` ends it.

        Raises:
            InvalidInput: An argument is out of range.
        """
        refuse = Refuse(status, retry_after=retry_after, body=body, content_type=content_type)
        return self._faults.inject(refuse, verb=verb, resource=resource, path_prefix=path_prefix, times=times)

    def end_watches(self, resource: str | GVR | None = None, how: Ending = "clean") -> int:
        """End the watches that are open now; how many there were.

        Args:
            resource: Only those of this resource; all by default.
            how: ``"clean"`` ends the answer properly; ``"cut"`` ends the connection (FIN) and not the answer;
                ``"reset"`` resets it (RST); ``"mid-line"`` sends half an event before the cut; ``"mid-chunk"`` cuts
                inside of a chunk of HTTP; ``"silent"`` leaves it open and never sends anything again, bookmarks
                included. What was silenced can be ended once more.

        Raises:
            InvalidInput: An argument is malformed.
        """
        arg = None if resource is None else resource_arg(resource)
        return self._faults.end_watches(how, lambda request: arg is None or means(arg, request.resource))
