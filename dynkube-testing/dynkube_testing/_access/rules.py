"""RBAC policy rules: decoding, matching and comparison."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from dynkube_testing._access.attributes import Attributes, PolicyRule
from dynkube_testing._calls.api import JSONObject

_FIELDS = ("verbs", "apiGroups", "resources", "resourceNames", "nonResourceURLs")


def read_rules(role: JSONObject) -> tuple[PolicyRule, ...]:
    """Return the rules of a Role or ClusterRole; malformed parts are ignored."""
    rules = role.get("rules")
    return tuple(_read(rule) for rule in rules if isinstance(rule, dict)) if isinstance(rules, list) else ()


def _read(rule: JSONObject) -> PolicyRule:
    return PolicyRule(*(tuple(text for text in rule.get(field) or () if isinstance(text, str)) for field in _FIELDS))


def write_rule(rule: PolicyRule) -> JSONObject:
    """Return a rule as it is in a role, without empty fields except ``verbs``."""
    values = (rule.verbs, rule.groups, rule.resources, rule.names, rule.urls)
    return {field: list(value) for field, value in zip(_FIELDS, values, strict=True) if value or field == "verbs"}


def allows(rule: PolicyRule, attributes: Attributes) -> bool:
    """Return whether ``rule`` alone allows the request."""
    if attributes.verb not in rule.verbs and "*" not in rule.verbs:
        return False
    if not attributes.resource:
        return any(_url_matches(url, attributes.path) for url in rule.urls)
    return (
        (attributes.group in rule.groups or "*" in rule.groups)
        and any(_resource_matches(resource, attributes) for resource in rule.resources)
        and (not rule.names or attributes.name in rule.names)
    )


def _resource_matches(resource: str, attributes: Attributes) -> bool:
    if resource in {"*", attributes.full_resource}:
        return True
    return bool(attributes.subresource) and resource == f"*/{attributes.subresource}"


def _url_matches(url: str, path: str) -> bool:
    return url in {"*", path} or (url.endswith("*") and path.startswith(url.rstrip("*")))


def missing_rules(held: Iterable[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Return the permissions in ``wanted`` that ``held`` does not have.

    Each rule in ``wanted`` is split into rules with one verb, one group, one resource and at most one name, or with one
    verb and one URL. Those are returned that no single rule in ``held`` covers.
    """
    held = tuple(held)
    parts = (part for rule in wanted for part in _split(rule))
    return [part for part in parts if not any(_covers(rule, part) for rule in held)]


def _split(rule: PolicyRule) -> Iterator[PolicyRule]:
    """Split ``rule`` into rules with one verb, and one resource or URL."""
    for group in rule.groups:
        for resource in rule.resources:
            for verb in rule.verbs:
                for names in _each(rule.names):
                    yield PolicyRule((verb,), (group,), (resource,), names)
    for url in rule.urls:
        for verb in rule.verbs:
            yield PolicyRule((verb,), urls=(url,))


def _each(names: tuple[str, ...]) -> list[tuple[str, ...]]:
    return [(name,) for name in names] if names else [()]


def _covers(held: PolicyRule, part: PolicyRule) -> bool:
    if not ("*" in held.verbs or part.verbs[0] in held.verbs):
        return False
    if part.urls:
        # For example, "/api/*" covers "/api/*" and "/api/v1", and "*" covers all URLs.
        return any(_url_matches(url, part.urls[0]) for url in held.urls)
    return (
        ("*" in held.groups or part.groups[0] in held.groups)
        and _resource_covered(held.resources, part.resources[0])
        and (not held.names or (bool(part.names) and part.names[0] in held.names))
    )


def _resource_covered(held: tuple[str, ...], resource: str) -> bool:
    if "*" in held or resource in held:
        return True
    _, slash, subresource = resource.partition("/")
    return bool(slash) and f"*/{subresource}" in held


def describe_rules(rules: Iterable[PolicyRule]) -> list[str]:
    """Format rules for the error message of the escalation check, sorted.

    Resource rules that differ only in their verbs are merged.
    """
    merged: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    for index, rule in enumerate(rules):
        key = (rule.groups, rule.resources, rule.names, rule.urls, (str(index),) if rule.urls else ())
        merged.setdefault(key, []).extend(rule.verbs)
    return sorted({_describe(key, verbs) for key, verbs in merged.items()})


def _describe(key: tuple[tuple[str, ...], ...], verbs: list[str]) -> str:
    groups, resources, names, urls, _ = key
    named = (("APIGroups", groups), ("Resources", resources), ("NonResourceURLs", urls), ("ResourceNames", names))
    fields = [f"{name}:[{_quoted(values)}]" for name, values in named if values]
    return "{" + ", ".join([*fields, f"Verbs:[{_quoted(verbs)}]"]) + "}"


def _quoted(values: Iterable[str]) -> str:
    return " ".join(f'"{value}"' for value in values)
