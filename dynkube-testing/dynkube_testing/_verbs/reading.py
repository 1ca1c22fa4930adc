"""Read the object in the body of a request: decoding, pruning and defaulting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from dynkube.errors import APIError
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import STRATEGIC_PATCH, Call, JSONObject, Undecodable
from dynkube_testing._calls.gotext import compact, go_text, quoted
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._kinds.schemas import OBJECT_META, builtin_schemas
from dynkube_testing._patching.scales import SCALE_TYPE
from dynkube_testing._schemas.decoding import decoding_error
from dynkube_testing._schemas.defaulting import defaulted
from dynkube_testing._schemas.objectmeta import pruned_metadata
from dynkube_testing._schemas.pruning import pruned, pruned_all
from dynkube_testing._schemas.schemas import Schemas
from dynkube_testing._schemas.structural import Structural
from dynkube_testing._schemas.typed import apply_failure, typed_errors
from dynkube_testing._verbs import bodies, objectmeta

_OWNED_NULLS = ("annotations", "finalizers", "labels", "ownerReferences")
_YAML_ERRORS = "yaml: unmarshal errors:\n"


@dataclass(frozen=True, slots=True)
class Reading:
    """An object read from a request.

    Attributes:
        obj: The object. Its top level and metadata are copies; deeper values may be shared and must not be modified.
    """

    obj: JSONObject


class Unreadable(Exception):
    """A value has another type than its field; the message is that of Go's decoder."""


# A function that decodes an object except for its metadata. It returns the object and the paths of dropped fields.
Decoder: TypeAlias = Callable[[JSONObject], tuple[JSONObject, list[str]]]


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads objects from requests, using the schemas of their kinds.

    Attributes:
        schemas: The schemas of all kinds.
        decoders: Decoders by storage group, which are used instead of the schema for some resources. They raise
            :class:`Unreadable` for values of wrong types.
    """

    schemas: Schemas
    decoders: Mapping[str, Decoder] = field(default_factory=dict)

    def read(self, call: Call) -> Reading:
        """Read the body of a create or update.

        Raises:
            BadRequest: The body is not an object of the call's kind, or field validation is strict and there are
                unknown or duplicate fields.
            Invalid: The path is for custom resources, and the body has another kind.
        """
        kind = call.kind
        obj = bodies.own_copy(call)
        try:
            obj, unknown = self._decoded(kind, obj)
        except Unreadable as trouble:
            raise _cannot_be_handled(kind, str(trouble)) from None
        bodies.check_namespace(obj, call)
        problems = [*call.repeated, *unknown] if call.options.field_validation != "Ignore" else []
        if problems and call.options.field_validation == "Strict":
            raise _cannot_be_handled(kind, _strict_text(problems))
        call.warnings.extend(_warnings(problems))
        call.warnings.extend(objectmeta.without_repeated_owners(obj))
        return Reading(obj)

    def read_patched(self, call: Call, patched: object) -> Reading:
        """Read the object ``patched``, the result of the patch in the body of ``call``.

        Raises:
            BadRequest: The patch has changed the object's name or namespace.
            Invalid: The result is not an object of the kind, or field validation is strict and there are unknown or
                duplicate fields.
        """
        kind = call.kind
        if not isinstance(patched, dict):
            raise refuse.unprocessable()
        if call.content_type != STRATEGIC_PATCH and patched.get("apiVersion", "") in (None, ""):
            raise _of_no_version(call)

        def shown() -> str:  # a function, so that this slow formatting is only done for errors
            return go_text(call.body) if call.content_type == STRATEGIC_PATCH else compact(patched)

        if problem := bodies.untyped_problem(patched):
            raise refuse.invalid_patch(shown(), problem)
        version, name = patched.get("apiVersion") or kind.api_version, patched.get("kind") or kind.kind
        if kind.crd_uid is None and (version, name) != (kind.api_version, kind.kind):
            raise refuse.invalid_patch(shown(), bodies.conversion_problem(version, name, kind.gvk))
        obj = bodies.own_copy(replace(call, body=patched))
        try:
            obj, unknown = self._decoded(kind, obj)
        except Unreadable as trouble:
            raise refuse.invalid_patch(shown(), str(trouble)) from None
        bodies.check_namespace(obj, call)
        bodies.check_name_in_path(obj, call)
        problems = [*call.repeated, *unknown] if call.options.field_validation != "Ignore" else []
        if problems and call.options.field_validation == "Strict":
            raise refuse.invalid_patch(shown(), _strict_text(problems))
        call.warnings.extend(_warnings(problems))
        call.warnings.extend(objectmeta.without_repeated_owners(obj, patched=True))
        return Reading(obj)

    def read_applied(self, call: Call) -> Reading:
        """Read the configuration in the body of an apply.

        It is neither pruned nor defaulted.

        Raises:
            BadRequest: It is not an object of the call's kind, or field validation is strict and there are duplicate
                keys.
            InternalError: It has unknown fields, or values of wrong types.
        """
        body, kind = call.body, call.kind
        if isinstance(body, Undecodable):
            raise body.error
        if not isinstance(body, dict):
            raise refuse.bad_request("error decoding YAML: the body of an apply must be an object")
        given = tuple(text if isinstance(text := body.get(name), str) else "" for name in ("apiVersion", "kind"))
        if given != (kind.api_version, kind.kind):
            group_version = given[0] if "/" in given[0] else f"/{given[0]}"
            raise refuse.bad_request(f"invalid object type: {group_version}, Kind={given[1]}")
        obj = bodies.own_copy(call)
        if errors := self._typed_errors(kind, obj):
            raise refuse.failed(apply_failure(errors, _place(obj["metadata"]), _gvk(kind)))
        problems = call.repeated if call.options.field_validation != "Ignore" else ()
        if problems and call.options.field_validation == "Strict":
            raise refuse.bad_request(f"error strict decoding YAML: error converting YAML to JSON: {problems[0]}")
        call.warnings.extend(_warnings(problems))
        given_metadata = body.get("metadata")
        if isinstance(given_metadata, dict):
            # Restore nulls, which own_copy() has removed: the manager of an apply owns the fields that it sets to null.
            obj["metadata"] |= {name: None for name in _OWNED_NULLS if given_metadata.get(name, "") is None}
        return Reading(obj)

    def read_changed(self, kind: Kind, obj: JSONObject) -> JSONObject:
        """Read an object that a webhook has changed.

        Raises:
            InternalError: A value has the wrong type.
        """
        metadata = obj.get("metadata")
        try:
            return self._decoded(kind, {**obj, "metadata": metadata if isinstance(metadata, dict) else {}})[0]
        except Unreadable as trouble:
            raise refuse.internal(str(trouble)) from None

    def read_scale(self, call: Call) -> object:
        """Read the Scale in the body of an update.

        Raises:
            BadRequest: A value has the wrong type, or field validation is strict and there are unknown or duplicate
                fields.
        """
        kind, body = call.kind, call.body
        if not isinstance(body, dict) or body.get("kind", "Scale") != "Scale":
            return body
        node = self.schemas.read(builtin_schemas().resolved(SCALE_TYPE)).root
        if error := decoding_error(node, body):
            # For custom resources, the real server's message has no details.
            custom = 'no kind is registered for the type v1.Scale in scheme "pkg/runtime/scheme.go:111"'
            builtin = f'Scale in version "v1" cannot be handled as a Scale: {error}'
            raise refuse.bad_request(builtin if kind.crd_uid is None else custom)
        scale, unknown = pruned_all(body, node)
        problems = [*call.repeated, *(f"unknown field {quoted(path)}" for path in unknown)]
        if problems and call.options.field_validation == "Strict":
            raise refuse.bad_request(f'Scale in version "v1" cannot be handled as a Scale: {_strict_text(problems)}')
        call.warnings.extend(_warnings(problems) if call.options.field_validation != "Ignore" else ())
        return scale

    def check_patched_scale(self, patched: object) -> None:
        """Check the types of the values in a patched Scale.

        Raises:
            Invalid: A value has the wrong type.
        """
        node = self.schemas.read(builtin_schemas().resolved(SCALE_TYPE)).root
        if isinstance(patched, dict) and (error := decoding_error(node, patched)):
            raise refuse.invalid_patch(compact(patched), error)

    def check_question(self, call: Call) -> None:
        """Check the types of the values in a review or TokenRequest, which is not stored.

        Raises:
            BadRequest: A value has the wrong type.
        """
        subresource, kind, body = call.kind.subresource(call.subresource), call.kind, call.body
        gvk = subresource.gvk if subresource else kind.gvk
        name = builtin_schemas().name_of(gvk)
        # A body of another kind is reported by the handler of the request.
        if name is None or not isinstance(body, dict) or (body.get("kind") or gvk.kind) != gvk.kind:
            return
        if error := decoding_error(self.schemas.read(builtin_schemas().resolved(name)).root, body):
            why = f'{gvk.kind} in version "{gvk.version}" cannot be handled as a {gvk.kind}: {error}'
            raise refuse.bad_request(why)

    def fill_status(self, kind: Kind, obj: JSONObject) -> bool:
        """Set the default status of a new custom resource.

        The client's status was dropped before.

        Returns:
            Whether the schema has a default for the status.
        """
        if kind.crd_uid is None or "status" not in kind.subresources:
            return False
        # Defaults of an empty object suffice, since all fields except the status have their defaults already.
        schema = self.schemas.of(kind)
        if schema is not None and (status := defaulted({}, schema.root).get("status")):
            obj["status"] = status
        return "status" in obj

    def completed(self, call: Call, obj: JSONObject, given: JSONObject) -> JSONObject:
        """Return the result of an apply, pruned and with the missing defaults.

        Args:
            call: The request.
            obj: The result of merging the applied configuration into the stored object.
            given: The applied configuration.

        Raises:
            ServerError: A value of the result has the wrong type.
        """
        kind = call.kind
        try:
            result = self._decoded(kind, obj, nulls=True)[0]
        except Unreadable as trouble:  # errors that the type check against the schema has not found
            gvk = _gvk(kind)
            raise refuse.failed(
                f"failed to convert new object ({_place(given['metadata'])}; {gvk}) to proper version: "
                f"unable to convert unstructured object to {gvk}: error decoding from json: {trouble}"
            ) from None
        call.warnings.extend(objectmeta.without_repeated_owners(result, patched=True))
        return result

    def misfits(self, kind: Kind, obj: JSONObject) -> bool:
        """Return whether a custom resource has values of wrong types.

        The status is checked, too.

        Field ownership cannot be tracked for such an object. For built-in kinds this is always false.
        """
        schema = self.schemas.of(kind) if kind.crd_uid is not None else None
        return schema is not None and any(True for _ in typed_errors(schema.root, obj, root=True, repeats=True))

    # ── internals ─────────────────────────────────────────────────────────────────────────

    def _object_meta(self) -> Structural:
        return self.schemas.read(builtin_schemas().resolved(OBJECT_META))

    def _decoded(self, kind: Kind, obj: JSONObject, *, nulls: bool = False) -> tuple[JSONObject, list[str]]:
        if error := self._decoding_error(kind, obj):
            raise Unreadable(error)
        return self._pruned(kind, obj, nulls=nulls)

    def _decoding_error(self, kind: Kind, obj: JSONObject) -> str:
        schema = self.schemas.of(kind) if kind.crd_uid is None else None
        if schema is not None and kind.storage_group not in self.decoders:
            return decoding_error(schema.root, obj)
        return decoding_error(self._object_meta().root, obj["metadata"], "" if kind.crd_uid else "metadata")

    def _pruned(self, kind: Kind, obj: JSONObject, *, nulls: bool) -> tuple[JSONObject, list[str]]:
        schema, metadata = self.schemas.of(kind), obj["metadata"]
        if (decoder := self.decoders.get(kind.storage_group)) is not None:
            metadata, unknown = pruned_metadata(metadata)
            result, more = decoder(obj)
            result, unknown = {**result, "metadata": metadata}, unknown + more
        elif kind.crd_uid is None and schema is not None:
            result, unknown = pruned_all(obj, schema.root)
        else:
            metadata, unknown = pruned_metadata(metadata)
            unknown.sort()  # the real server encodes metadata of custom resources again, with sorted keys
            result = obj
            if schema is not None:
                result, more = pruned(obj, schema.root, nulls=nulls)
                unknown += more
                result = defaulted(result, schema.root)
            result = {**result, "metadata": metadata}
        # Copied, because callers modify the top level and the metadata of the result.
        result = dict(result) if result is not obj else result
        result["metadata"] = dict(result["metadata"])
        return result, [f"unknown field {quoted(path)}" for path in unknown]

    def _typed_errors(self, kind: Kind, obj: JSONObject) -> list[str]:
        schema = self.schemas.of(kind)
        if schema is None:
            return []
        custom = kind.crd_uid is not None
        metadata = typed_errors(self._object_meta().root, obj["metadata"], ".metadata") if custom else ()
        return [*metadata, *typed_errors(schema.root, obj, root=custom)]


def _cannot_be_handled(kind: Kind, why: str) -> APIError:
    return refuse.bad_request(f'{kind.kind} in version "{kind.gvr.version}" cannot be handled as a {kind.kind}: {why}')


def _of_no_version(call: Call) -> APIError:
    """Return the error response for a patch that has removed the apiVersion."""
    if call.kind.crd_uid is not None:
        return refuse.internal("Object 'apiVersion' is missing in 'object has no apiVersion field'")
    return bodies.nameless(call)


def _gvk(kind: Kind) -> str:
    return f"{kind.gvr.group}/{kind.gvr.version}, Kind={kind.kind}"


def _place(metadata: object) -> str:
    """Return ``NAMESPACE/NAME`` for an error message; a missing part is empty."""
    given = metadata if isinstance(metadata, dict) else {}
    names = (given.get(field) for field in ("namespace", "name"))
    return "/".join(text if isinstance(text, str) else "" for text in names)


def _strict_text(problems: Sequence[str]) -> str:
    return f"strict decoding error: {', '.join(problems)}"


def _warnings(problems: Sequence[str]) -> tuple[str, ...]:
    """Return a warning for each problem.

    Problems found by the YAML parser are one string, with a line for each problem.
    """
    return tuple(line.strip() for text in problems for line in text.removeprefix(_YAML_ERRORS).splitlines())
