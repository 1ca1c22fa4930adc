"""The rules of all built-in kinds, by storage group."""

from __future__ import annotations

import random
from functools import cache

from dynkube_testing._builtin import (
    access,
    autoscaling,
    certificates,
    cluster,
    containers,
    contents,
    events,
    extensions,
    flowcontrol,
    jobpolicies,
    jobs,
    networks,
    podchecks,
    poddefaults,
    podvolumes,
    selectors,
    services,
    variables,
    volumes,
    workloads,
)
from dynkube_testing._builtin.pods import pod_rules
from dynkube_testing._builtin.rules import BuiltinRules, Factory
from dynkube_testing._builtin.services import service_rules
from dynkube_testing._builtin.typechecks import TypeChecks
from dynkube_testing._builtin.typedefaults import TypeDefaults
from dynkube_testing._kinds.builtin import builtin_kinds
from dynkube_testing._kinds.kinds import Registry
from dynkube_testing._store.storage import Storage

_CRDS = "apiextensions.k8s.io"  # these have rules of their own
_KINDS = (
    access, autoscaling, certificates, cluster, contents, events, jobs, networks, volumes, workloads
)  # fmt: skip
_WITH_CHECKS = (
    access, autoscaling, certificates, cluster, containers, contents, extensions, flowcontrol, jobpolicies, jobs,
    networks, podchecks, podvolumes, selectors, services, variables, volumes, workloads,
)  # fmt: skip
_WITH_DEFAULTS = (
    access, autoscaling, cluster, contents, extensions, flowcontrol, jobs, networks, poddefaults, services,
    volumes, workloads,
)  # fmt: skip

CHECKS = tuple(module.CHECKS for module in _WITH_CHECKS)
DEFAULTS = tuple(module.DEFAULTS for module in _WITH_DEFAULTS)


def builtin_rules(storage: Storage, registry: Registry, random: random.Random) -> dict[str, BuiltinRules]:
    """Return the rules for one engine, by storage group.

    Args:
        storage: The storage in which PriorityClasses and allocated addresses are looked up.
        registry: The served kinds.
        random: Random numbers to choose addresses and ports.
    """
    kinds = (kind for kind in builtin_kinds() if kind.gvr.group != _CRDS)
    factories: dict[str, Factory] = {kind.storage_group: BuiltinRules for kind in kinds}
    for module in _KINDS:
        factories.update(module.RULES)
    factories.update(pod_rules(storage, registry))
    factories.update(service_rules(storage, random))
    checks, defaults = _type_rules()
    return {group: factory(type_checks=checks, type_defaults=defaults) for group, factory in factories.items()}


@cache
def _type_rules() -> tuple[TypeChecks, TypeDefaults]:
    """Return the rules of all types, which do not depend on an engine."""
    return TypeChecks(CHECKS), TypeDefaults(DEFAULTS)
