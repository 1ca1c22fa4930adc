"""Options from query parameters, parsed and validated as by kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dynkube.errors import StatusCause
from dynkube.testing._calls import refuse
from dynkube.testing._calls.api import APPLY_PATCH, Call
from dynkube.testing._calls.gotext import quoted
from dynkube.testing._calls.query import boolean, digits_problem, integer

#: Maximum length of a field manager's name in bytes.
MAX_MANAGER = 128
_MATCHES = ("Exact", "NotOlderThan", "")
_UINT64 = range(2**64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """Validated parameters of lists and watches.

    ``resource_version`` is ``None`` if it was not given; ``limit`` is 0 if the list is not chunked.
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
            BadRequest: One of them does not parse.
            Invalid: They contradict each other.
        """
        options, version = cls._read(call.params), call.params.get("resourceVersion", "")
        if causes := _list_causes(options, version):
            raise refuse.invalid_options("ListOptions", causes)
        return options

    def at_version(self, text: str) -> ListOptions:
        """Return a copy with the resourceVersion ``text``.

        Raises:
            BadRequest: It is not a number; kube-apiserver checks this after everything else.
        """
        if problem := _version_problem(text):
            raise refuse.bad_request(f"invalid resource version: {problem}")
        return replace(self, resource_version=int(text) if text else None)

    @classmethod
    def for_watch(cls, call: Call, *, watch_list: bool) -> ListOptions:
        """Read the parameters of a watch; without a start it sends the initial events.

        Args:
            call: The watch.
            watch_list: Whether this server supports ``sendInitialEvents``.

        Raises:
            APIError: ``resourceVersion`` is no number (500, as the real server has it).
            BadRequest: One of the others does not parse.
            Invalid: They contradict each other, or ``sendInitialEvents`` is not known.
        """
        options, version = cls._read(call.params), call.params.get("resourceVersion", "")
        if call.old_watch and not boolean(call.params, "watch"):
            # kube-apiserver does not know here that it is a watch, and validates the parameters as those of a list.
            if causes := _list_causes(options, version):
                raise refuse.invalid_options("ListOptions", causes)
            return replace(options, resource_version=read_version(version))
        if watch_list and version in {"", "0"} and options.send_initial_events is None and not options.match:
            options = replace(options, send_initial_events=True, match="NotOlderThan")
        if causes := _watch_causes(options, watch_list):
            raise refuse.invalid_options("ListOptions", causes)
        return replace(options, resource_version=read_version(version))

    @classmethod
    def _read(cls, params: Mapping[str, str]) -> ListOptions:
        timeout = integer(params, "timeoutSeconds")
        return cls(
            match=params.get("resourceVersionMatch", ""),
            # As in kube-apiserver, a negative limit means no limit, and seconds <= 0 mean the server's default.
            limit=max(0, integer(params, "limit") or 0),
            timeout=float(timeout) if timeout and timeout > 0 else None,
            continue_token=params.get("continue", ""),
            bookmarks=boolean(params, "allowWatchBookmarks") or False,
            send_initial_events=boolean(params, "sendInitialEvents"),
        )


def read_version(text: str) -> int | None:
    """Parse the ``resourceVersion`` of a get or a watch; ``None`` if it is not given.

    Raises:
        APIError: It is not a number: 500, since in kube-apiserver the storage layer is the first to parse it.
    """
    if problem := _version_problem(text):
        raise refuse.version_unreadable(problem)
    return int(text) if text else None


def _version_problem(text: str) -> str:
    problem = digits_problem("ParseUint", text, "[0-9]+", _UINT64) if text else ""
    return f"resourceVersion: Invalid value: {refuse.shown(text)}: {problem}" if problem else ""


def _list_causes(options: ListOptions, version: str) -> list[StatusCause]:
    field, causes = "resourceVersionMatch", []
    if options.match:
        if not version:
            causes.append(refuse.not_allowed(field, f"{field} is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            causes.append(refuse.not_allowed(field, f"{field} is forbidden when continue is provided"))
        if options.match not in _MATCHES:
            causes.append(refuse.not_supported(field, options.match, _MATCHES))
        if options.match == "Exact" and version == "0":
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
        if options.continue_token:
            causes.append(refuse.not_allowed(field, f"{field} is forbidden when continue is provided"))
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
        """Read the parameters; the default field manager is the user agent's name.

        Raises:
            BadRequest: ``force`` is no boolean.
            Invalid: A parameter has a value the server does not know, or ``force`` is given where it has no meaning.
        """
        options = {"create": "CreateOptions", "update": "UpdateOptions"}.get(call.verb, "PatchOptions")
        manager = call.params.get("fieldManager", "")
        validation = call.params.get("fieldValidation") or "Warn"
        force = boolean(call.params, "force") if options == "PatchOptions" else None
        applying, causes = call.content_type == APPLY_PATCH, list[StatusCause]()
        if options == "PatchOptions" and applying and not manager:
            causes.append(refuse.required("fieldManager", "is required for apply patch"))
        if force is not None and not applying:
            causes.append(refuse.not_allowed("force", "may not be specified for non-apply patch"))
        if len(manager.encode()) > MAX_MANAGER:
            causes.append(refuse.too_long("fieldManager", f"may not be more than {MAX_MANAGER} bytes"))
        causes += _unprintable_causes(manager)
        causes += dry_run_causes(call.params.get("dryRun"))
        if validation not in {"Ignore", "Warn", "Strict"}:
            causes.append(refuse.not_supported("fieldValidation", validation, ["", "Ignore", "Strict", "Warn"]))
        if causes:
            raise refuse.invalid_options(options, causes)
        return cls(
            dry_run=bool(call.params.get("dryRun")),
            field_manager=manager or _agent_name(call.user_agent),
            field_validation=validation,
            force=bool(force),
        )


def _unprintable_causes(manager: str) -> Iterator[StatusCause]:
    for position, character in enumerate(manager):
        if not character.isprintable():
            detail = f"invalid character U+{ord(character):04X} (at position {len(manager[:position].encode())})"
            text = f"Invalid value: {quoted(manager)}: {detail}"
            yield StatusCause("fieldManager", "FieldValueInvalid", text)


def _agent_name(user_agent: str) -> str:
    """Return the product name, kube-apiserver's default for the field manager."""
    name = user_agent.partition("/")[0]
    printable = name if name.isprintable() else "".join(character for character in name if character.isprintable())
    kept = printable.encode()[:MAX_MANAGER]
    return kept.decode("utf-8", "ignore") or "unknown"


def dry_run_causes(value: str | None) -> list[StatusCause]:
    """Return the validation errors for a ``dryRun`` value."""
    return [refuse.not_supported("dryRun", [value], ["All"])] if value is not None and value != "All" else []
