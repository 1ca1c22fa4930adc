"""The Deployments of the demo cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class App:
    """A Deployment.

    Attributes:
        namespace: its namespace.
        name: its name, also that of its container, and the value of the label ``app``.
        image: the image of its container.
        replicas: the number of pods.
        age: how long ago it was created.
        tier: the value of the label ``tier``.
        crashes: the message with which its container exits again and again; empty for one that runs.
        env: the environment variables of its container.
        sidecars: its other containers.
    """

    namespace: str
    name: str
    image: str
    replicas: int
    age: timedelta
    tier: str
    crashes: str = ""
    env: Sequence[Mapping[str, str]] = ()
    sidecars: Sequence[Mapping[str, Any]] = ()


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
