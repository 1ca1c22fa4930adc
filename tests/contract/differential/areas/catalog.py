"""All areas."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from tests.contract.differential.areas import access, applied, data, definitions, pods, services, workloads
from tests.contract.differential.areas.custom import GADGET_GROUND, GADGETS, WIDGET_GROUND, WIDGETS
from tests.contract.differential.asking import Request
from tests.contract.differential.side_by_side import Ground


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A part of the API that sequences stay in.

    Attributes:
        ground: What there has to be.
        requests: Single requests.
        length: At most so many in a sequence.
        left: What is still known to differ, where that is too much for the usual run; surveys play it all the same.
        older: Whether surveys also play it against older releases.
    """

    ground: Ground
    requests: st.SearchStrategy[Request]
    length: int = 16
    left: str = ""
    older: bool = False

    def scripts(self) -> st.SearchStrategy[list[Request]]:
        """Sequences of requests."""
        return st.lists(self.requests, min_size=1, max_size=self.length)


AREAS = {
    "widgets": Area(ground=WIDGET_GROUND, requests=WIDGETS.requests()),
    "gadgets": Area(ground=GADGET_GROUND, requests=GADGETS.requests()),
    "data": Area(ground=data.GROUND, requests=st.one_of(data.CONFIGS.requests(), data.SECRETS.requests())),
    "pods": Area(ground=pods.GROUND, requests=pods.PODS.requests()),
    "services": Area(ground=services.GROUND, requests=services.SERVICES.requests()),
    "deployments": Area(ground=workloads.GROUND, requests=workloads.DEPLOYMENTS.requests()),
    "definitions": Area(ground=definitions.GROUND, requests=definitions.requests(), length=5),
    "access": Area(ground=access.GROUND, requests=access.requests, length=12),
    **{
        name: Area(ground=ground, requests=requests, length=12, older=name in applied.AGELESS)
        for name, ground, requests in applied.AREAS
    },
}
