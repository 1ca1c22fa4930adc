"""All areas."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from tests.contract.differential.areas import access, applied, crds, data, pods, services, workloads
from tests.contract.differential.areas.custom import GADGET_SETUP, GADGETS, WIDGET_SETUP, WIDGETS
from tests.contract.differential.requests import Request
from tests.contract.differential.side_by_side import Setup


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """A part of the API; all requests of a sequence are in one area.

    Attributes:
        setup: the objects and CRDs that the sequences require.
        requests: generates single requests.
        length: the maximum number of requests in a sequence.
        skip_reason: a known difference that excludes the area from the usual run; surveys play it nevertheless.
        older: whether surveys also compare with older releases.
    """

    setup: Setup
    requests: st.SearchStrategy[Request]
    length: int = 16
    skip_reason: str = ""
    older: bool = False

    def scripts(self) -> st.SearchStrategy[list[Request]]:
        """Return a strategy for sequences of requests."""
        return st.lists(self.requests, min_size=1, max_size=self.length)


AREAS = {
    "widgets": Area(setup=WIDGET_SETUP, requests=WIDGETS.requests()),
    "gadgets": Area(setup=GADGET_SETUP, requests=GADGETS.requests()),
    "data": Area(setup=data.SETUP, requests=st.one_of(data.CONFIGS.requests(), data.SECRETS.requests())),
    "pods": Area(setup=pods.SETUP, requests=pods.PODS.requests()),
    "services": Area(setup=services.SETUP, requests=services.SERVICES.requests()),
    "deployments": Area(setup=workloads.SETUP, requests=workloads.DEPLOYMENTS.requests()),
    "crds": Area(setup=crds.SETUP, requests=crds.requests(), length=5),
    "access": Area(setup=access.SETUP, requests=access.requests, length=12),
    **{
        name: Area(setup=setup, requests=requests, length=12, older=name in applied.AGELESS)
        for name, setup, requests in applied.AREAS
    },
}
