"""The user's rights in a script, and wrong answers about rights, discovery and old lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import trio

from dynkube import NamespaceSet
from dynkube_testing import APIServer, Effect, Fault, Freeze, Hang, Refuse, RequestFacts, Rewrite, rewrites
from tests.informers.kit import CRDS
from tests.informers.model.expected_state import EXTRA, GROUP
from tests.informers.model.faults import Late
from tests.informers.model.rights_ledger import CONFIRMED, RightsLedger

if TYPE_CHECKING:
    from tests.informers.model.world import World

USER: Final = "alice"
NAMES: Final = ("blue", "default", "green")
"""The namespaces that may have objects."""
READ: Final = ("widgets.example.com", "gadgets.example.com", "configmaps", f"extras.{EXTRA}")
REVIEWS: Final = "selfsubjectaccessreviews"
HALF: Final = "half of the reviews fail"
HTML: Final = "<html>403 by a proxy</html>"
_SHORT: Final = 0.8 * CONFIRMED


def _denied(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "status": {"allowed": False, "reason": "RBAC: role not found"}}


def _not_evaluated(document: dict[str, Any]) -> dict[str, Any]:
    return {**document, "status": {"allowed": False, "evaluationError": "the webhook timed out"}}


def _lists(request: RequestFacts) -> bool:
    resource = request.resource
    return resource is not None and f"{resource.resource}.{resource.group}".rstrip(".") in READ


def _half() -> Callable[[RequestFacts], bool]:
    """Return a condition that holds for half of the reviews, never for three in a row, and without a period.

    Otherwise it could hold for the same ones in each round. This is the Thue-Morse sequence.
    """
    numbers = count()
    return lambda request: request.method == "POST" and next(numbers).bit_count() % 2 == 1


def _on_reviews(effect: Effect, **options: Any) -> Callable[[APIServer], list[Fault]]:
    return lambda server: [server.inject(effect, resource=REVIEWS, **options)]


def _on_lists(effect: Effect, **options: Any) -> Callable[[APIServer], list[Fault]]:
    return lambda server: [server.inject(effect, when=_lists, **options)]


def _on_both(lists: Effect, reviews: Effect, **options: Any) -> Callable[[APIServer], list[Fault]]:
    return lambda server: [*_on_lists(lists, **options)(server), *_on_reviews(reviews, **options)(server)]


DENIALS: Final[Mapping[str, Callable[[APIServer], list[Fault]]]] = {
    "a list": _on_lists(Refuse(403), times=1, verb="list"),
    "a list, by a proxy": _on_lists(Refuse(403, body=HTML), times=1, verb="list"),
    "lists": _on_lists(Refuse(403)),
    "lists, by a proxy": _on_lists(Refuse(403, body=HTML)),
    "a review": _on_reviews(Rewrite(_denied), times=1),
    "reviews": _on_reviews(Rewrite(_denied)),
    "reviews not evaluated": _on_reviews(Rewrite(_not_evaluated)),
    "reviews late": lambda server: [server.inject(Late(12), resource=REVIEWS)],
    "reviews fail": _on_reviews(Refuse(500)),
    HALF: lambda server: [server.inject(Refuse(500), resource=REVIEWS, when=_half())],
    "no right to review": _on_reviews(Refuse(403)),
    "lists, and reviews not evaluated": _on_both(Refuse(403), Rewrite(_not_evaluated)),
    "lists, and reviews fail": _on_both(Refuse(403), Refuse(500)),
    "lists by a proxy, and reviews": _on_both(Refuse(403, body=HTML), Rewrite(_denied)),
    "both for seconds": _on_both(Refuse(403), Rewrite(_denied), duration=_SHORT),
}
"""Negative answers that must not be taken for the loss of a right, however long they last."""
HARMLESS: Final = ("", HALF, "no right to review", "a forbidden list hangs")
"""What may be in force when the user's rights have to be noticed all the same."""
_BOTH: Final = "both for seconds"


def _is_discovery(request: RequestFacts) -> bool:
    return request.verb == "" and request.path.startswith(("/api", "/apis"))


def _of_the_past(request: RequestFacts) -> bool:
    return request.verb == "list" and request.params.get("resourceVersion") == "0"


class Rights:
    """What the user may read, and how the server answers wrongly about it.

    Args:
        world: has the server and its history.
    """

    def __init__(self, world: World) -> None:
        self.chosen = NamespaceSet(NAMES)
        self.ledger = RightsLedger(world.ledger, NAMES)
        self.denial = ""
        """The wrong answers in force, by name."""
        self.denied_since = 0
        """When they began, as a moment of the ledger."""
        self.lagging = False
        """Whether lists from the watch cache may show the past."""
        self._world = world
        self._faults: list[Fault] = []
        if world.oracle is not None:
            world.oracle.rights = self.ledger

    def begin(self) -> None:
        """Grant what is needed apart from the objects."""
        server = self._world.server
        server.grant(USER, verbs=["list", "watch"], resource="namespaces")
        if self._world.options.crd_rights:
            for resource in (f"{CRDS}.apiextensions.k8s.io", "apiservices.apiregistration.k8s.io"):
                server.grant(USER, verbs=["list", "watch"], resource=resource)

    def grant(self, place: str) -> None:
        """Let the user read the objects of a namespace."""
        if not self.ledger.holds(place):
            for resource in READ:
                self._world.server.grant(USER, verbs=["list", "watch"], resource=resource, namespace=place)
            self.ledger.grant(place)

    def revoke(self, place: str) -> None:
        """Take that right."""
        if self.ledger.holds(place):
            self._world.server.revoke(USER, namespace=place)
            self.ledger.revoke(place)

    async def replace(self, place: str) -> None:
        """Replace the binding: the right is missing for a second, as with ``kubectl replace --force``."""
        if self.ledger.holds(place):
            self.revoke(place)
            await trio.sleep(1)
            self.grant(place)

    def toggle(self, place: str) -> None:
        """Add a namespace to the changing set, or remove it."""
        names = self.chosen.names ^ {place}
        self.chosen.replace(names)
        self.ledger.name(names)

    # ── wrong answers ────────────────────────────────────────────────────────────────────────

    def deny(self, what: str) -> None:
        """Begin to answer wrongly, in one of the ways of :data:`DENIALS`, unless others could add to them."""
        if not self.ledger.may_deny():
            return
        self._begin(what, DENIALS[what](self._world.server))

    def hang_forbidden(self) -> None:
        """Do not respond to lists of namespaces that the user may not read; rights cannot be reviewed either."""

        def forbidden(request: RequestFacts) -> bool:
            return _lists(request) and request.namespace != "" and not self.ledger.holds(request.namespace)

        if not self.ledger.may_deny():
            return
        server = self._world.server
        hang = server.inject(Hang(), when=forbidden)
        self._begin("a forbidden list hangs", [server.inject(Refuse(403), resource=REVIEWS), hang])

    def _begin(self, what: str, faults: list[Fault]) -> None:
        self.ledger.denial_began(unanimous=_SHORT if what == _BOTH else 0.0)
        self.denial, self._faults, self.denied_since = what, faults, self._world.ledger.advance()
        self._world.add_faults(faults)

    def recover(self) -> None:
        """End the wrong answers."""
        for fault in self._faults:
            fault.remove()
        if self.denial:
            self.ledger.denial_ended()
        self.denial, self._faults = "", []

    def lag(self) -> None:
        """Let the watch cache lag: the lists that clients request from it show what the first such list did."""
        if not self.lagging:
            self.lagging = True
            self._world.add_faults([self._world.server.inject(Freeze(), when=_of_the_past)])

    def misdiscover(self, how: str) -> None:
        """Answer one request for discovery without the group of the CRDs, or all of them for three seconds."""
        limit: dict[str, Any] = {"times": 1} if how == "once" else {"duration": 3.0}
        left_out = Rewrite(rewrites.without_group(GROUP))
        self._world.add_faults([self._world.server.inject(left_out, when=_is_discovery, **limit)])

    def allowed(self, names: frozenset[str]) -> Iterator[str]:
        """Yield those of ``names`` that the user may read."""
        return (name for name in names if self.ledger.holds(name))
