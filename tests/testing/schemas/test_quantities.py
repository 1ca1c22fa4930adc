"""Quantities of any size are written as kube-apiserver 1.36 writes them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from dynkube_testing._schemas.quantities import canonical, parse

# The quantity sent, and the quantity stored.
WRITTEN = [
    ("9.3E", "9300P"),
    ("100E", "100E"),
    ("20Ei", "9223372036854775807"),
    ("-20Ei", "-9223372036854775807"),
    ("0.1Ki", "102400m"),
    ("1.5Gi", "1536Mi"),
    ("1e30", "1e30"),
    ("1e9999999", "1e9999999"),
    ("123456789012345678901.5", "123456789012345678901500m"),
]


@pytest.mark.parametrize(("sent", "written"), WRITTEN)
def test_a_quantity_is_written_in_its_canonical_form(sent: str, written: str) -> None:
    assert canonical(sent) == written


@pytest.mark.parametrize("text", ["", "Ki", "1kb", "1 Gi", "0x10", "1e", "--1"])
def test_invalid_quantities_stay_unchanged(text: str) -> None:
    assert parse(text) is None
    assert canonical(text) == text


def test_quantities_are_rounded_up_to_a_billionth() -> None:
    assert parse("1.0000000001") == Decimal("1.000000001")
    assert parse("1e-999999999") == Decimal("1e-9")
