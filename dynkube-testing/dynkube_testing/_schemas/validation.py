"""Validation of objects against a schema, with the real server's status causes.

Schemas are in the dialect of OpenAPI 3.0, as implemented by kube-openapi. If no alternative of an ``anyOf`` or
``oneOf`` matches, kube-openapi reports the errors of the alternative with the highest number of checks (its
``MatchCount``), so checks are counted here in the same way.

Causes are in the order of the real server, except for those of different fields of one object, which have a random
order there and the order of the schema here.
"""

from __future__ import annotations

from typing import Any

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.gotext import quoted
from dynkube_testing._schemas.correlation import Link, same_json
from dynkube_testing._schemas.findings import REQUIRED, TOO_MANY, Finding, Findings, invalid, overall
from dynkube_testing._schemas.scalars import Scalars
from dynkube_testing._schemas.structural import Node


def schema_causes(value: Any, node: Node, link: Link | None = None, *, prefix: str = "") -> list[StatusCause]:
    """Return the causes for a value that does not fit the schema.

    Args:
        value: A whole object, or the value of a field.
        node: The schema of the value.
        link: The correlation with the old value, for an update: violations in unchanged parts are ignored (KEP-4008).
        prefix: The path of the value; ``""`` for a whole object.
    """
    return [finding.cause(prefix) for finding in _ratcheted(node, value, "", link).found]


def _ratcheted(node: Node, value: Any, path: str, link: Link | None) -> Findings:
    result = _validated(node, value, path, link)
    if result.found and link is not None and link.unchanged:
        return Findings(checks=result.checks)
    return result


def _validated(node: Node, value: Any, path: str, link: Link | None) -> Findings:
    rules = node.checks
    if not isinstance(rules, _Checks):
        node.checks = rules = _Checks(node)
    return rules.check(value, path, link)


class _Checks:
    """The checks of one node's keywords."""

    __slots__ = ("_alternatives", "_lengths", "_node", "_required", "_scalars", "_sizes", "_unique")

    def __init__(self, node: Node) -> None:
        self._node = node
        self._scalars = Scalars(node)
        self._alternatives = {
            keyword: nodes for keyword in ("anyOf", "oneOf", "allOf") if (nodes := node.branches(keyword))
        }
        if node.negated is not None:
            self._alternatives["not"] = (node.negated,)
        self._required: list[str] = node.source.get("required") or []
        self._sizes = (node.source.get("minProperties"), node.source.get("maxProperties"))
        self._lengths = (node.source.get("minItems"), node.source.get("maxItems"))
        self._unique = node.source.get("uniqueItems") is True

    def check(self, value: Any, path: str, link: Link | None) -> Findings:
        scalars = self._scalars
        wrong_type = scalars.check_type(value, self._node.nullable, path) if scalars.typed else None
        result = Findings(wrong_type) if wrong_type else Findings(checks=1 if scalars.typed or value is None else 0)
        if value is None:
            if wrong := scalars.check_enum(value, path):
                result.add([wrong])
            return result
        # kube-openapi counts one for each kind of check: alternatives, enum, the schema as a whole.
        result.checks += 3 if scalars.typed else 2
        if self._alternatives:
            result.merge(self._check_alternatives(value, path, link))
        result.checks += 1  # kube-openapi counts alternatives once more
        if isinstance(value, str):
            self._check_text(value, path, result)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            result.merge(scalars.check_number(value, path))
            result.checks += 1
        elif isinstance(value, list):
            self._check_list(value, path, link, result)
            result.checks += 2
        if wrong := scalars.check_enum(value, path):
            result.add([wrong])
        if isinstance(value, dict):
            self._check_object(value, path, link, result)
            result.checks += 1
        return result

    def _check_text(self, value: str, path: str, result: Findings) -> None:
        result.checks += 1
        if wrong := self._scalars.check_text(value, path):
            result.add([wrong])
        if self._scalars.has_text_format:
            result.checks += 1
            if wrong := self._scalars.check_format(value, path):
                result.add([wrong])

    # ── lists and objects ─────────────────────────────────────────────────────────────────

    def _check_list(self, value: list[Any], path: str, link: Link | None, result: Findings) -> None:
        if (items := self._node.items) is not None:
            for index, item in enumerate(value):
                below = link.index(index) if link is not None else None
                result.merge(_ratcheted(items, item, f"{path}[{index}]", below))
        least, most = self._lengths
        if least is not None and len(value) < least:
            result.add([invalid(path, len(value), f"{path} in body should have at least {least} items")])
        if most is not None and len(value) > most:
            result.add([_too_many(path, len(value), most, "items")])
        if self._unique and any(same_json(item, other) for i, item in enumerate(value) for other in value[:i]):
            result.add([invalid(path, None, f"{path} in body shouldn't contain duplicates")])

    def _check_object(self, value: JSONObject, path: str, link: Link | None, result: Findings) -> None:
        node = self._node
        least, most = self._sizes
        if least is not None and len(value) < least:
            result.add([invalid(path, len(value), f"{path} in body should have at least {least} properties")])
        if most is not None and len(value) > most:
            result.add([_too_many(path, len(value), most, "properties")])
        properties, additional = node.properties, node.additional
        if additional is not None:
            for name, content in value.items():
                if name not in properties:
                    below = _key(link, name, path)
                    result.merge(_ratcheted(additional, content, f"{path}.{name}", below))
        elif node.source.get("additionalProperties") is False:
            for name in value.keys() - properties.keys():
                result.add([invalid(path, name, f"{path}.{name} in body is a forbidden property")])
        for name, child in properties.items():
            if name in value:
                below = _key(link, name, path)
                result.merge(_ratcheted(child, value[name], f"{path}.{name}" if path else name, below))
        for name in self._required:
            if name not in value:
                text = f"{path}.{name} in body is required"
                result.add([Finding(text, "Required value", REQUIRED, f"{path}.{name}")])

    # ── alternatives ──────────────────────────────────────────────────────────────────────

    def _check_alternatives(self, value: Any, path: str, link: Link | None) -> Findings:
        result = Findings()
        for keyword, nodes in self._alternatives.items():
            outcomes = [_validated(node, value, path, link) for node in nodes]
            match keyword:
                case "anyOf":
                    _report_any_of(outcomes, path, result)
                case "oneOf":
                    _report_one_of(outcomes, path, result)
                case "allOf":
                    _report_all_of(outcomes, path, result)
                case _ if not outcomes[0].found:
                    result.add([overall(f"{quoted(path)} must not validate the schema (not)")])
        return result


def _key(link: Link | None, name: str, path: str) -> Link | None:
    # apiVersion and kind are not ratcheted: they never differ, as the old object is in the requested version too.
    return None if link is None or (not path and name in {"apiVersion", "kind"}) else link.key(name)


def _too_many(path: str, size: int, most: int, what: str) -> Finding:
    limit = "1 item" if most == 1 else f"{most} items"
    text = f"{path} in body should have at most {most} {what}"
    return Finding(text, f"Too many: {size}: must have at most {limit}", TOO_MANY, path)


def _best(failures: list[Findings]) -> Findings:
    """Return the failure with most checks; the first one if there are several."""
    return max(failures, key=lambda failure: failure.checks)


def _report_any_of(outcomes: list[Findings], path: str, result: Findings) -> None:
    for outcome in outcomes:
        if not outcome.found:
            result.merge(outcome)
            return
    result.add([overall(f"{quoted(path)} must validate at least one schema (anyOf)")])
    result.merge(_best(outcomes))


def _report_one_of(outcomes: list[Findings], path: str, result: Findings) -> None:
    passed = [outcome for outcome in outcomes if not outcome.found]
    if len(passed) == 1:
        result.merge(passed[0])
        return
    found = f"Found {len(passed)} valid alternatives" if passed else "Found none valid"
    result.add([overall(f"{quoted(path)} must validate one and only one schema (oneOf). {found}")])
    if not passed:
        result.merge(_best(outcomes))


def _report_all_of(outcomes: list[Findings], path: str, result: Findings) -> None:
    for outcome in outcomes:
        result.merge(outcome)
    passed = sum(not outcome.found for outcome in outcomes)
    if passed != len(outcomes):
        none = "" if passed else ". None validated"
        result.add([overall(f"{quoted(path)} must validate all the schemas (allOf){none}")])
