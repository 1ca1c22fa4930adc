"""Which requests a policy or webhook concerns: rules, and selectors of namespaces and objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dynkube_testing._admission.objects import Objects
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind, Registry
from dynkube_testing._store.selectors import parse_labels
from dynkube_testing._store.versions import remote_content
from dynkube_testing._verbs.admission import Attributes
from dynkube_testing._verbs.namespaces import NAMESPACES
from dynkube_testing._verbs.scaling import selector_text

GROUP = "admissionregistration.k8s.io"


@dataclass(frozen=True, slots=True)
class Matcher:
    """Matches requests.

    Attributes:
        objects: Looks up the labels of namespaces.
        registry: The served kinds, to find other versions of a resource.
    """

    objects: Objects
    registry: Registry

    def matches(self, attributes: Attributes, constraints: Mapping[str, object]) -> Kind | None:
        """Return the kind in which ``matchConstraints`` match a request; ``None`` if they do not match."""
        if not self.selects(attributes, constraints):
            return None
        equivalent = constraints.get("matchPolicy", "Equivalent") == "Equivalent"
        if self.ruled(attributes, _rules(constraints, "excludeResourceRules"), equivalent=equivalent):
            return None
        rules = _rules(constraints, "resourceRules")
        return self.ruled(attributes, rules, equivalent=equivalent) if rules else attributes.kind

    def selects(self, attributes: Attributes, selectors: Mapping[str, object]) -> bool:
        """Return whether ``namespaceSelector`` and ``objectSelector`` select a request."""
        namespaces, objects = selectors.get("namespaceSelector"), selectors.get("objectSelector")
        if namespaces and attributes.namespace and not label_match(namespaces, self._labels(attributes)):
            return False
        both = [obj for obj in (attributes.obj, attributes.old) if obj is not None]
        return not objects or any(label_match(objects, _labels_of(obj)) for obj in both)

    def ruled(self, attributes: Attributes, rules: Sequence[JSONObject], *, equivalent: bool) -> Kind | None:
        """Return the kind in which one of ``rules`` matches a request; ``None`` if none does.

        With ``equivalent`` a rule may match another version or group of the resource.
        """
        kind = attributes.kind
        others = [each for each in self.registry.of_storage(kind.storage_group) if each.gvr != kind.gvr]
        for candidates in ([kind], others if equivalent else []):
            for rule in rules:
                for each in candidates:
                    if _rule_matches(rule, attributes, each):
                        return each
        return None

    def _labels(self, attributes: Attributes) -> Mapping[str, str]:
        written = attributes.obj if attributes.kind.storage_group == NAMESPACES and not attributes.subresource else None
        return _labels_of(written or self.objects.namespace(attributes.storage, attributes.namespace) or {})


def label_match(selector: object, labels: Mapping[str, str]) -> bool:
    """Return whether a LabelSelector selects ``labels``; an empty one selects everything."""
    if not isinstance(selector, dict) or not selector:
        return True
    return all(each.matches(labels) for each in parse_labels(selector_text({"matchLabels": {}, **selector})))


def is_exempt(attributes: Attributes) -> bool:
    """Return whether a request is about policies or webhooks themselves, which none of them may reject."""
    return attributes.kind.gvr.group == GROUP


def as_kind(obj: JSONObject, kind: Kind, wanted: Kind) -> JSONObject:
    """Return an object of ``kind`` in the version of ``wanted``, another kind of the same resource."""
    if kind.gvr == wanted.gvr:
        return obj
    if (content := remote_content(kind)) is not None:
        obj = content.translated(obj, wanted.gvr.version)
    elif kind.content is not None and wanted.content is not None:
        obj = wanted.content.shown(kind.content.to_keep(obj))
    return {**obj, "apiVersion": wanted.api_version, "kind": wanted.kind}


def _labels_of(obj: JSONObject) -> Mapping[str, str]:
    return obj.get("metadata", {}).get("labels") or {}


def _rules(constraints: Mapping[str, object], field: str) -> Sequence[JSONObject]:
    rules = constraints.get(field)
    return rules if isinstance(rules, list) else ()


def _rule_matches(rule: JSONObject, attributes: Attributes, kind: Kind) -> bool:
    gvr, names = kind.gvr, rule.get("resourceNames")
    asked = (gvr.group, "apiGroups"), (gvr.version, "apiVersions"), (attributes.operation, "operations")
    return (
        _in_scope(rule.get("scope") or "*", attributes)
        and all({value, "*"} & set(rule.get(field) or ()) for value, field in asked)
        and any(_resource_matches(each, gvr.resource, attributes.subresource) for each in rule.get("resources") or ())
        and (not names or attributes.name in names)
    )


def _in_scope(scope: str, attributes: Attributes) -> bool:
    cluster = not attributes.kind.namespaced
    return scope == "*" or (scope == "Cluster") == cluster


def _resource_matches(pattern: str, resource: str, subresource: str) -> bool:
    wanted, _, sub = pattern.partition("/")
    return wanted in {"*", resource} and sub in {"*", subresource}
