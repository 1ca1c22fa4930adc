"""What a caller may ask for: query parameters and DeleteOptions, read and checked as the server does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from dynkube.errors import StatusCause
from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import Call, JSONObject

_PROPAGATION = ("Foreground", "Background", "Orphan", "nil")
_MATCHES = ("Exact", "NotOlderThan", "")
_FALSE = {"", "0", "f", "false"}
_TRUE = {"1", "t", "true"}


def _boolean(params: Mapping[str, str], name: str) -> bool | None:
    """A flag as Go's strconv reads it; ``None`` where it is not given."""
    text = params.get(name)
    if text is None:
        return None
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise refuse.bad_request(f'invalid query parameter {name}: strconv.ParseBool: parsing "{text}": invalid syntax')


def _integer(params: Mapping[str, str], name: str) -> int | None:
    text = params.get(name)
    if not text:
        return None
    if not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
        raise refuse.bad_request(f'invalid query parameter {name}: strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """The parameters of lists and watches, checked against each other.

    ``resource_version`` is ``None`` where it was not given; ``limit`` is 0 where the list is not to be chunked.
    """

    resource_version: int | None = None
    match: str = ""
    limit: int = 0
    continue_token: str = ""
    timeout: float | None = None
    bookmarks: bool = False
    send_initial_events: bool | None = None

    @classmethod
    def for_list(cls, call: Call) -> ListOptions:
        """Read the parameters of a list.

        Raises:
            BadRequest: One of them does not parse, or is not allowed together with a continue token.
            Invalid: They contradict each other.
        """
        options = cls._read(call.params)
        causes = _list_causes(options, "resourceVersion" in call.params and bool(call.params["resourceVersion"]))
        if causes:
            raise refuse.invalid_options("ListOptions", causes)
        if options.limit < 0:
            raise refuse.bad_request("limit must be zero or a positive number")
        if options.continue_token and options.resource_version:
            raise refuse.bad_request("specifying resource version is not allowed when using continue")
        return options

    @classmethod
    def for_watch(cls, call: Call, *, watch_list: bool) -> ListOptions:
        """Read the parameters of a watch.

        Args:
            call: The watch.
            watch_list: Whether this server knows ``sendInitialEvents``.

        Raises:
            BadRequest: One of them does not parse.
            Invalid: They contradict each other, or ``sendInitialEvents`` is not known.
        """
        options = cls._read(call.params)
        if causes := _watch_causes(options, watch_list):
            raise refuse.invalid_options("ListOptions", causes)
        return options

    @classmethod
    def _read(cls, params: Mapping[str, str]) -> ListOptions:
        timeout = _integer(params, "timeoutSeconds")
        return cls(
            resource_version=_resource_version(params.get("resourceVersion", "")),
            match=params.get("resourceVersionMatch", ""),
            limit=_integer(params, "limit") or 0,
            continue_token=params.get("continue", ""),
            # Zero and less mean "the server's choice", as in the real server.
            timeout=float(timeout) if timeout and timeout > 0 else None,
            bookmarks=_boolean(params, "allowWatchBookmarks") or False,
            send_initial_events=_boolean(params, "sendInitialEvents"),
        )


def _resource_version(text: str) -> int | None:
    if not text:
        return None
    if not re.fullmatch("[0-9]{1,19}", text):
        raise refuse.bad_request(f'invalid resource version: strconv.ParseUint: parsing "{text}": invalid syntax')
    return int(text)


def _list_causes(options: ListOptions, version_given: bool) -> list[StatusCause]:
    field, causes = "resourceVersionMatch", []
    if options.match:
        if not version_given:
            causes.append(refuse.not_allowed(field, f"{field} is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            causes.append(refuse.not_allowed(field, f"{field} is forbidden when continue is provided"))
        if options.match not in _MATCHES:
            causes.append(refuse.not_supported(field, options.match, _MATCHES))
        if options.match == "Exact" and options.resource_version == 0:
            causes.append(refuse.not_allowed(field, f'{field} "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        causes.append(refuse.not_allowed("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def _watch_causes(options: ListOptions, watch_list: bool) -> list[StatusCause]:
    field, causes = "resourceVersionMatch", []
    if options.send_initial_events is not None:
        if options.match != "NotOlderThan":
            causes.append(refuse.not_allowed(field, f"sendInitialEvents requires setting {field} to NotOlderThan"))
        if not watch_list:
            detail = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
            causes.append(refuse.not_allowed("sendInitialEvents", detail))
    if options.match:
        if options.send_initial_events is None:
            detail = f"{field} is forbidden for watch unless sendInitialEvents is provided"
            causes.append(refuse.not_allowed(field, detail))
        if options.match != "NotOlderThan":
            causes.append(refuse.not_supported(field, options.match, ["NotOlderThan"]))
    return causes


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """The parameters of create, update and patch."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool = False

    @classmethod
    def read(cls, call: Call) -> WriteOptions:
        """Read them; the field manager falls back to the user agent's name.

        Raises:
            BadRequest: ``force`` is no boolean.
            Invalid: A parameter has a value the server does not know, or ``force`` is given where it has no meaning.
        """
        options = {"create": "CreateOptions", "update": "UpdateOptions"}.get(call.verb, "PatchOptions")
        manager = call.params.get("fieldManager", "")
        validation = call.params.get("fieldValidation") or "Warn"
        causes = _dry_run_causes(call.params.get("dryRun"))
        if len(manager.encode()) > 128:
            causes.append(refuse.bad_value("fieldManager", manager, "may not be more than 128 bytes"))
        if validation not in {"Ignore", "Warn", "Strict"}:
            causes.append(refuse.not_supported("fieldValidation", validation, ["", "Ignore", "Warn", "Strict"]))
        force = _boolean(call.params, "force") if options == "PatchOptions" else None
        applying = call.content_type == "application/apply-patch+yaml"
        if options == "PatchOptions" and applying and not manager:
            causes.append(refuse.required("fieldManager", "is required for apply patch"))
        if force is not None and not applying:
            causes.append(refuse.not_allowed("force", "may not be specified for non-apply patch"))
        if causes:
            raise refuse.invalid_options(options, causes)
        return cls(
            dry_run=bool(call.params.get("dryRun")),
            field_manager=manager or _agent_name(call.user_agent),
            field_validation=validation,
            force=bool(force),
        )


def _agent_name(user_agent: str) -> str:
    """The product's name, which the real server takes for the manager when none is given."""
    return user_agent.partition("/")[0].strip()[:128] or "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """How to delete: preconditions, and whether for real."""

    dry_run: bool = False
    uid: str | None = None
    resource_version: str | None = None
    grace_period: int | None = None
    propagation: str = ""

    @classmethod
    def read(cls, call: Call) -> DeleteOptions:
        """Read them from the body, or from the query where there is no body.

        Raises:
            BadRequest: The body is no DeleteOptions.
            Invalid: A value is not known, or two contradict each other.
        """
        source = _delete_source(call)
        propagation, orphan = source.get("propagationPolicy"), source.get("orphanDependents")
        grace = source.get("gracePeriodSeconds")
        dry_run = source.get("dryRun")
        causes = [cause for item in (dry_run or [None]) for cause in _dry_run_causes(item)]
        if propagation is not None and orphan is not None:
            detail = "orphanDependents and deletionPropagation cannot be both set"
            causes.append(refuse.bad_value("propagationPolicy", propagation, detail))
        if propagation is not None and propagation not in _PROPAGATION[:3]:
            causes.append(refuse.not_supported("propagationPolicy", propagation, _PROPAGATION))
        if isinstance(grace, int) and grace < 0:
            causes.append(refuse.bad_value("gracePeriodSeconds", grace, "must be greater than or equal to 0"))
        if causes:
            raise refuse.invalid_options("DeleteOptions", causes)
        preconditions = source.get("preconditions") or {}
        return cls(
            dry_run=bool(dry_run),
            uid=preconditions.get("uid"),
            resource_version=preconditions.get("resourceVersion"),
            grace_period=grace,
            propagation=propagation or ("Orphan" if orphan else ""),
        )


def _delete_source(call: Call) -> JSONObject:
    if call.body is None or call.body == {}:
        return {
            "propagationPolicy": call.params.get("propagationPolicy"),
            "gracePeriodSeconds": _integer(call.params, "gracePeriodSeconds"),
            "orphanDependents": _boolean(call.params, "orphanDependents"),
            "dryRun": [call.params["dryRun"]] if call.params.get("dryRun") else None,
        }
    if not isinstance(call.body, dict):
        raise refuse.bad_request("the body of a delete must be a DeleteOptions object")
    if call.body.get("kind", "DeleteOptions") != "DeleteOptions":
        raise refuse.bad_request(f"decoded object cannot be converted to DeleteOptions: {call.body['kind']}")
    for field, kind in (("preconditions", dict), ("dryRun", list), ("gracePeriodSeconds", int)):
        if not isinstance(call.body.get(field), kind | None):
            raise refuse.bad_request(f"json: cannot unmarshal into Go struct field DeleteOptions.{field}")
    return call.body


def _dry_run_causes(value: str | None) -> list[StatusCause]:
    return [refuse.not_supported("dryRun", [value], ["All"])] if value and value != "All" else []
