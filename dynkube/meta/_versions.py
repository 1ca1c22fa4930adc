"""Comparison of resourceVersions."""

from __future__ import annotations


def is_older(version: str, than: str) -> bool:
    """Whether one resourceVersion is older than another.

    Returns ``False`` where they cannot be compared. Comparison as decimal numbers is specified since KEP-5504
    (Kubernetes 1.35) for all built-in and custom resources; aggregated API servers may use opaque strings, which count
    as newer.
    """
    if version == than or not (_is_number(version) and _is_number(than)):
        return False
    # By length and then by digits, which is numeric order: int() raises on thousands of digits, and server input must
    # not raise here. kube-apiserver writes no leading zeros.
    version, than = version.lstrip("0"), than.lstrip("0")
    return (len(version), version) < (len(than), than)


def _is_number(version: str) -> bool:
    return version.isascii() and version.isdigit()
