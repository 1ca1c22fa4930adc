"""MutatingAdmissionPolicies, as their bindings apply them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from dynkube.errors import APIError, StatusCause
from dynkube_testing._admission.bindings import Bindings, Invocation
from dynkube_testing._admission.expressions import Expressions, Failed
from dynkube_testing._admission.matching import GROUP, as_kind
from dynkube_testing._admission.rounds import Rounds
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._patching.jsonpatch import NotApplicable, TestFailed, TooMuchWork, json_patched
from dynkube_testing._patching.merging import merged
from dynkube_testing._patching.scales import scale_kind
from dynkube_testing._patching.shapes import Shape, shape_of
from dynkube_testing._schemas.cel.errors import CannotEvaluate
from dynkube_testing._schemas.cel.made import OBJECT, Made, as_json, misnamed
from dynkube_testing._schemas.pruning import pruned_all
from dynkube_testing._schemas.schemas import Schemas
from dynkube_testing._schemas.typed import listed_errors, typed_errors
from dynkube_testing._verbs.admission import Attributes

POLICIES = f"mutatingadmissionpolicies.{GROUP}"
BINDINGS = f"mutatingadmissionpolicybindings.{GROUP}"


@dataclass(slots=True)
class _Problems:
    """The errors of one round."""

    attributes: Attributes
    found: list[tuple[Invocation, str, str]] = field(default_factory=list)

    def add(self, invocation: Invocation, why: str, reason: str = "Invalid") -> None:
        if invocation.fails:
            self.found.append((invocation, why, reason))

    def report(self) -> None:
        """Raise the response to the request if there are errors."""
        if not self.found:
            return
        messages = []
        for invocation, why, _ in self.found:
            named = f"'{invocation.name}' with binding '{invocation.bound}'"
            who = named if invocation.binding is not None else f'"{invocation.name}"'
            messages.append(f"policy {who} denied request: {why}")
        status = self.attributes.forbidden("").status
        causes = (*status.causes, *(StatusCause("", "", message) for message in messages))
        raise APIError.from_status(replace(status, reason=self.found[0][2], message=messages[0], causes=causes))


@dataclass(frozen=True, slots=True)
class MutatingPolicies:
    """The plugin."""

    bindings: Bindings
    expressions: Expressions
    schemas: Schemas

    def mutating(self, attributes: Attributes) -> Rounds[Invocation] | None:
        """Return the evaluations of the policies, one after the other; ``None`` if there are none.

        They raise :class:`APIError` if one denies the request.
        """
        stored = attributes.storage.objects(POLICIES) and attributes.storage.objects(BINDINGS)
        if not stored or attributes.operation == "DELETE":
            return None
        problems = _Problems(attributes)

        def mutate(invocation: Invocation, attributes: Attributes) -> Attributes | None:
            return self._mutated(invocation, attributes, problems)

        return Rounds(self._keyed, mutate, _is_reinvoked, problems.report)

    def _keyed(self, attributes: Attributes) -> Iterator[tuple[object, Invocation]]:
        for each in list(self.bindings.invocations(attributes)):
            metadata = (each.param or {}).get("metadata") or {}
            yield (each.name, each.bound, metadata.get("namespace"), metadata.get("name")), each

    def _mutated(self, invocation: Invocation, attributes: Attributes, problems: _Problems) -> Attributes | None:
        """Evaluate one policy, and return the request with the changed object; ``None`` if it does not match."""
        spec = invocation.policy["spec"]
        if invocation.problem:
            problems.add(invocation, invocation.problem, "Forbidden")
            return None
        try:
            conditions, scope = spec.get("matchConditions") or (), self.bindings.scope(attributes, invocation)
            if not self.expressions.conditions_met(conditions, scope.bare()):
                return None
            for mutation in spec.get("mutations") or ():
                if attributes.obj is not None:
                    attributes = self._patched(mutation, invocation, attributes, problems)
        except Failed as problem:
            problems.add(invocation, str(problem))
            return None
        except CannotEvaluate as problem:
            text = f"MutatingAdmissionPolicy '{invocation.name}' was not applied: {problem}"
            attributes.call.warnings.extend([text] if text not in attributes.call.warnings else [])
        return attributes

    def _patched(
        self, mutation: JSONObject, invocation: Invocation, attributes: Attributes, problems: _Problems
    ) -> Attributes:
        """Return the request with the object that one mutation has changed."""
        kind, scope = invocation.kind, self.bindings.scope(attributes, invocation)
        shown = as_kind(attributes.new, attributes.kind, kind)
        kind = scale_kind(namespaced=kind.namespaced) if attributes.subresource == "scale" else kind
        applies = mutation["patchType"] == "ApplyConfiguration"
        expression = str(mutation["applyConfiguration" if applies else "jsonPatch"]["expression"])
        try:
            value = self.expressions.evaluate(expression, scope, makes=True)
            patched = self._applied(kind, shown, value) if applies else self._json_patched(kind, shown, value)
        except Failed as problem:
            problems.add(invocation, str(problem))
            return attributes
        return replace(attributes, obj=attributes.read_again(as_kind(patched, invocation.kind, attributes.kind)))

    def _applied(self, kind: Kind, shown: JSONObject, value: object) -> JSONObject:
        """Return an object with the result of an ``applyConfiguration`` merged into it."""
        if wrong := list(misnamed(value, OBJECT.name)):
            raise Failed(f"type mismatch: {chr(10).join(wrong)}")
        configuration = as_json(value)
        assert isinstance(configuration, dict), "the result has been checked"
        configuration = {**configuration, "apiVersion": shown["apiVersion"], "kind": shown["kind"]}
        schema, shape = self.schemas.of(kind), shape_of(kind)
        if schema is not None and (errors := list(typed_errors(schema.root, configuration, root=_is_custom(kind)))):
            what = f"failed to convert patch object to typed object: {listed_errors(errors)}"
            raise Failed(f"error applying patch: {what}")
        if atomic := list(_atomic(configuration, shape, "")):
            what = f"may not mutate atomic arrays, maps or structs: {', '.join(atomic)}"
            raise Failed(f"error applying patch: invalid ApplyConfiguration: {what}")
        result: JSONObject = merged(shown, configuration, shape)
        return result

    def _json_patched(self, kind: Kind, shown: JSONObject, value: object) -> JSONObject:
        """Return an object with the operations of a ``jsonPatch`` applied."""
        assert isinstance(value, list), "the result has been checked"
        operations = []
        for each in value:
            content = each.get("value")
            if isinstance(content, Made) and (wrong := list(misnamed(content, content.name))):
                raise Failed(f"type mismatch: {chr(10).join(wrong)}")
            given = {name: text for name, text in each.items() if text or name != "from"}
            operations.append(as_json({"op": "", "path": "", **given}))
        try:
            result = json_patched(shown, operations)
        except TestFailed:
            return shown
        except (NotApplicable, TooMuchWork) as problem:
            raise Failed(f"JSON Patch: {problem}") from None
        schema = self.schemas.of(kind) if not _is_custom(kind) else None
        if schema is not None and isinstance(result, dict) and (unknown := pruned_all(result, schema.root)[1]):
            fields = ", ".join(f'unknown field "{path}"' for path in unknown)
            raise refuse.internal(f"strict decoding error: {fields}")
        patched: JSONObject = result
        return patched


def _is_custom(kind: Kind) -> bool:
    return kind.crd_uid is not None


def _is_reinvoked(invocation: Invocation) -> bool:
    return bool(invocation.policy["spec"].get("reinvocationPolicy") == "IfNeeded")


def _atomic(value: object, shape: Shape, path: str) -> Iterator[str]:
    """Yield the paths of values in a configuration that are atomic, so that it must not change them."""
    if isinstance(value, dict) and shape.form == "map":
        if shape.atomic:
            yield path
        for name, content in value.items():
            if shape.declares(name):
                yield from _atomic(content, shape.field(name), f"{path}.{name}")
    elif isinstance(value, list) and shape.form == "list":
        if shape.list_type == "atomic":
            yield path
        for index, item in enumerate(value):
            yield from _atomic(item, shape.item(), f"{path}[{index}]")
