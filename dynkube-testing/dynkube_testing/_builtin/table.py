"""The rules of all built-in kinds, by storage group."""

from __future__ import annotations

import random

from dynkube_testing._builtin import (
    access,
    autoscaling,
    certificates,
    cluster,
    contents,
    jobs,
    networks,
    volumes,
    workloads,
)
from dynkube_testing._builtin.pods import pod_rules
from dynkube_testing._builtin.rules import BuiltinRules
from dynkube_testing._builtin.services import service_rules
from dynkube_testing._kinds.kinds import Registry
from dynkube_testing._store.storage import Storage

_TABLES = (access, autoscaling, certificates, cluster, contents, jobs, networks, volumes, workloads)


def builtin_rules(storage: Storage, registry: Registry, random: random.Random) -> dict[str, BuiltinRules]:
    """Return the rules for one engine, by storage group.

    Args:
        storage: The storage in which PriorityClasses and allocated addresses are looked up.
        registry: The served kinds.
        random: Random numbers to choose addresses and ports.
    """
    rules: dict[str, BuiltinRules] = {}
    for module in _TABLES:
        rules.update(module.RULES)
    return {**rules, **pod_rules(storage, registry), **service_rules(storage, random)}
