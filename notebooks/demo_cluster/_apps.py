"""What runs in the made-up cluster."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """A Deployment.

    Attributes:
        namespace: Where.
        name: Its name, also the label ``app`` and the container's name.
        image: Of its container.
        replicas: How many pods.
        age: Since when it is there.
        tier: The label ``tier``.
        crashes: Why its container ends over and over; empty for one that works.
    """

    namespace: str
    name: str
    image: str
    replicas: int
    age: timedelta
    tier: str
    crashes: str = ""


NODES = ("worker-1", "worker-2", "worker-3")

APPS = (
    App(namespace="shop", name="web", image="shop/web:1.14.2", replicas=3, age=timedelta(days=41), tier="front"),
    App(namespace="shop", name="cart", image="shop/cart:2.3.0", replicas=2, age=timedelta(days=41), tier="back"),
    App(namespace="search", name="index", image="shop/index:0.9.7", replicas=2, age=timedelta(days=12), tier="back"),
    App(namespace="payments", name="ledger", image="pay/ledger:5.1.0", replicas=2, age=timedelta(days=30), tier="back"),
    App(
        namespace="payments",
        name="fraud-check",
        image="pay/fraud-check:0.2.0",
        replicas=1,
        age=timedelta(hours=3),
        tier="back",
        crashes="no model at /models/latest",
    ),
)
