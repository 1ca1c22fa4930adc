"""What identifies a row: the cluster, namespace and name of its object.

The cluster is ``""`` in a table of one cluster.
"""

from __future__ import annotations

from typing import TypeAlias

from dynkube.informers import ClusterObject

RowKey: TypeAlias = "tuple[str, str, str]"
"""Cluster, namespace and name, by which rows are sorted."""


def key_of(row: ClusterObject) -> RowKey:
    """Return the key of a row."""
    return (row.cluster, *row.object.key)


def id_of(row: ClusterObject) -> str:
    """Return the id of a row on the page: ``namespace/name``, after the cluster if there are several."""
    namespace, name = row.object.key
    return f"{row.cluster}/{namespace}/{name}" if row.cluster else f"{namespace}/{name}"


def parse_id(row_id: str) -> RowKey:
    """Return the key of the row with this id.

    A cluster's name may contain slashes; a namespace and a name cannot.
    """
    where, _, name = row_id.rpartition("/")
    cluster, _, namespace = where.rpartition("/")
    return cluster, namespace, name
