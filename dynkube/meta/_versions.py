"""Comparison of resourceVersions."""

from __future__ import annotations


def is_older(version: str, than: str) -> bool:
    """Whether one resourceVersion is older than another.

    Returns ``False`` if they cannot be compared. Comparison as decimal numbers is specified since KEP-5504 (Kubernetes
    1.35) for all built-in and custom resources. Aggregated API servers may use opaque strings, which are never older.
    """
    if version == than or not (_is_number(version) and _is_number(than)):
        return False
    # Compared by length and then by digits, which is numeric order. int() is not used, as it raises on thousands of
    # digits, which a server might send.
    version, than = version.lstrip("0"), than.lstrip("0")
    return (len(version), version) < (len(than), than)


def version_order(version: str) -> tuple[int, str] | None:
    """Return a sort key for resourceVersions; ``None`` for an opaque string, which cannot be compared."""
    if not _is_number(version):
        return None
    digits = version.lstrip("0")
    return len(digits), digits


def _is_number(version: str) -> bool:
    return version.isascii() and version.isdigit()
