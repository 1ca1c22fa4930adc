"""Webhooks for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dynkube_testing import APIServer
from tests.contract.admission.webhook_server import Webhooks, open_webhooks


@pytest.fixture
def webhooks(server: APIServer | None) -> Iterator[Webhooks]:
    with open_webhooks(server) as webhooks:
        yield webhooks
