"""Which resources live in namespaces."""

from __future__ import annotations

import pytest

from dynkube.testing._kinds.builtin import builtin_kinds


@pytest.fixture(scope="session")
def namespaced() -> set[str]:
    return {kind.gvr.resource for kind in builtin_kinds() if kind.namespaced}
