"""All areas."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from tests.contract.differential.areas import access, applied, crds, data, pods, services, workloads
from tests.contract.differential.areas.custom import GADGET_GROUND, GADGETS, WIDGET_GROUND, WIDGETS
from tests.contract.differential.asking import Request
from tests.contract.differential.side_by_side import Ground


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A part of the API; all requests of a sequence are in one area.

    Attributes:
        ground: the objects and CRDs that the sequences require.
        requests: generates single requests.
        length: the maximum number of requests in a sequence.
        left: a known difference that excludes the area from the usual run; surveys play it nevertheless.
        older: whether surveys also compare with older releases.
    """

    ground: Ground
    requests: st.SearchStrategy[Request]
    length: int = 16
    left: str = ""
    older: bool = False

    def scripts(self) -> st.SearchStrategy[list[Request]]:
        """Return a strategy for sequences of requests."""
        return st.lists(self.requests, min_size=1, max_size=self.length)


AREAS = {
    "widgets": Area(ground=WIDGET_GROUND, requests=WIDGETS.requests()),
    "gadgets": Area(ground=GADGET_GROUND, requests=GADGETS.requests()),
    "data": Area(ground=data.GROUND, requests=st.one_of(data.CONFIGS.requests(), data.SECRETS.requests())),
    "pods": Area(ground=pods.GROUND, requests=pods.PODS.requests()),
    "services": Area(ground=services.GROUND, requests=services.SERVICES.requests()),
    "deployments": Area(ground=workloads.GROUND, requests=workloads.DEPLOYMENTS.requests()),
    "crds": Area(ground=crds.GROUND, requests=crds.requests(), length=5),
    "access": Area(ground=access.GROUND, requests=access.requests, length=12),
    **{
        name: Area(ground=ground, requests=requests, length=12, older=name in applied.AGELESS)
        for name, ground, requests in applied.AREAS
    },
}
