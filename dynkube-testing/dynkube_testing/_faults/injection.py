"""Methods to inject faults, shared by all servers that support them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from dynkube.errors import InvalidInput
from dynkube.meta import GVR
from dynkube_testing._faults.effects import Effect
from dynkube_testing._faults.endings import Ending
from dynkube_testing._faults.facts import Matcher, When, means, resource_arg
from dynkube_testing._faults.faults import Fault, Faults, Plan
from dynkube_testing._faults.refusals import Refuse


class Injection:
    """Mixin with methods that inject faults into ``_faults``."""

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
        """Apply ``effect`` to matching requests from now on.

        A request passes through all faults that match it, oldest first, and then reaches the server; the response
        passes through them in reverse order. The server's direct methods (``create``, ``list``, ...) are not affected.

        Args:
            effect: The effect: ``Refuse(503)``, ``Delay(2)``, ``Cut("reset", after_lines=3)``, ... or a custom
                :class:`Effect`.
            verb: Only this verb (``"list"``, ``"watch"``, ...; ``""`` for non-resource paths).
            resource: Only this resource: ``"pods"``, ``"deployments.apps"`` or a GVR; it need not be served.
            path_prefix: Only paths with this prefix (``"/apis"`` for discovery).
            when: Only requests for which this function of :class:`RequestFacts` returns true.
            times: Number of requests to which the effect is applied; ``None`` for no limit.
            skip: Number of matching requests to skip first.
            chance: Probability that the effect is applied, for each request; drawn from the server's ``random``.
            start: Seconds from now until the fault becomes active, on trio's clock.
            duration: Seconds from then until the fault becomes inactive.

        Returns:
            The fault. Its ``hits`` counts how often it was applied. Its ``remove()`` removes it, as does the end of a
            ``with`` block that it is used in.

        Raises:
            InvalidInput: An argument is out of range, or ``verb=""`` is given with a resource.
            RuntimeError: ``start`` or ``duration`` is given outside of trio.
        """
        if verb == "" and resource is not None:
            raise InvalidInput(f"verb='' with resource={resource!r} matches no request: verb=None is for all verbs")
        arg = None if resource is None else resource_arg(resource)
        matcher = Matcher(verb=verb, resource=arg, path_prefix=path_prefix, when=when)
        plan = Plan.scheduled(skip=skip, chance=chance, start=start, duration=duration)
        return self._faults.add(effect, matcher, plan, times)

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
        """Respond to matching requests with ``status``; shorthand for ``Refuse``.

        Args:
            status: HTTP status, 200 to 599.
            verb: Only this verb (``"list"``, ``"watch"``, ...; ``""`` for non-resource paths).
            resource: Only this resource: ``"pods"``, ``"deployments.apps"`` or a GVR; it need not be served.
            path_prefix: Only paths with this prefix (``"/apis"`` for discovery).
            retry_after: The Retry-After header: seconds, or a string to send unchanged (an HTTP date).
            times: Number of requests that get this response; ``None`` for no limit.
            body: Response body: a mapping is sent as JSON, a string or bytes unchanged. Default: a Status object for
                ``status``.
            content_type: Content type of the body; default: JSON, or HTML for a string.

        Returns:
            The fault. Its ``hits`` counts how often it was applied, and its ``remove()`` removes it.

        Raises:
            InvalidInput: An argument is out of range, or ``verb=""`` is given with a resource.
        """
        refuse = Refuse(status, retry_after=retry_after, body=body, content_type=content_type)
        return self.inject(refuse, verb=verb, resource=resource, path_prefix=path_prefix, times=times)

    def end_watches(self, resource: str | GVR | None = None, how: Ending = "clean") -> int:
        """End the open watches, and return their number.

        Args:
            resource: Only watches of this resource; default: all.
            how: How the responses end. ``"clean"``: complete. ``"cut"``: incomplete, the connection is closed (FIN).
                ``"reset"``: the connection is reset (RST). ``"mid-line"``: half an event is sent before the connection
                is closed. ``"mid-chunk"``: the connection is closed inside an HTTP chunk. ``"silent"``: the connection
                stays open and nothing is sent any more, not even bookmarks; such a watch can be ended again in another
                way.

        Raises:
            InvalidInput: An argument is malformed.
        """
        arg = None if resource is None else resource_arg(resource)
        return self._faults.end_watches(how, lambda request: arg is None or means(arg, request.resource))
