"""Options in query parameters of lists, watches and writes, parsed and validated as by kube-apiserver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dynkube.errors import StatusCause
from dynkube_testing._calls import refuse
from dynkube_testing._calls.causes import not_allowed, not_supported, required, too_long
from dynkube_testing._calls.gotext import quoted
from dynkube_testing._calls.query import boolean, digits_problem, integer

#: Maximum length of a field manager's name in bytes.
MAX_MANAGER = 128
_MATCHES = ("Exact", "NotOlderThan", "")
_UINT64 = range(2**64)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """Query parameters of a list or watch.

    Attributes:
        version: ``resourceVersion`` as it is given, or ``""``.
        resource_version: ``resourceVersion`` as a number; ``None`` if it is not given, or not parsed yet.
        match: ``resourceVersionMatch``, or ``""``.
        limit: Maximum number of items in a chunk; 0 for no limit.
        continue_token: ``continue``, or ``""``.
        timeout: ``timeoutSeconds``; ``None`` for the server's default.
        watch: ``watch``.
        bookmarks: ``allowWatchBookmarks``.
        send_initial_events: ``sendInitialEvents``; ``None`` if it is not given.
    """

    version: str = ""
    resource_version: int | None = None
    match: str = ""
    limit: int = 0
    continue_token: str = ""
    timeout: float | None = None
    watch: bool = False
    bookmarks: bool = False
    send_initial_events: bool | None = None

    @classmethod
    def read(cls, params: Mapping[str, str]) -> ListOptions:
        """Parse the parameters of a list or watch.

        Whether they contradict each other is checked by :meth:`for_list` and :meth:`for_watch`: kube-apiserver parses
        the selectors in between.

        Raises:
            BadRequest: A parameter is malformed.
        """
        timeout = integer(params, "timeoutSeconds")
        return cls(
            version=params.get("resourceVersion", ""),
            match=params.get("resourceVersionMatch", ""),
            # As in kube-apiserver, a negative limit means no limit, and a timeout <= 0 means the server's default.
            limit=max(0, integer(params, "limit") or 0),
            timeout=float(timeout) if timeout and timeout > 0 else None,
            continue_token=params.get("continue", ""),
            watch=boolean(params, "watch") or False,
            bookmarks=boolean(params, "allowWatchBookmarks") or False,
            send_initial_events=boolean(params, "sendInitialEvents"),
        )

    def for_list(self) -> ListOptions:
        """Return these options, which are valid for a list.

        Raises:
            Invalid: Parameters contradict each other.
        """
        if causes := _list_causes(self):
            raise refuse.invalid_options("ListOptions", causes)
        return self

    def at_version(self) -> ListOptions:
        """Return a copy with the number in ``version``.

        Raises:
            BadRequest: It is not a number. This is a separate method because kube-apiserver checks this last.
        """
        if problem := _version_problem(self.version):
            raise refuse.bad_request(f"invalid resource version: {problem}")
        return replace(self, resource_version=int(self.version) if self.version else None)

    def for_watch(self, *, watch_list: bool, old_path: bool = False) -> ListOptions:
        """Return the options of a watch.

        As in kube-apiserver, ``sendInitialEvents`` defaults to true if there is no resourceVersion to start from.

        Args:
            watch_list: Whether this server supports ``sendInitialEvents``.
            old_path: Whether the watch has the deprecated path ``/api/v1/watch/...``.

        Raises:
            APIError: 500 as in a real server: ``resourceVersion`` is not a number.
            Invalid: Parameters contradict each other, or ``sendInitialEvents`` is given and not supported.
        """
        options = self
        if old_path and not self.watch:
            # On the deprecated path kube-apiserver does not know yet that this is a watch, and validates the parameters
            # like those of a list.
            return replace(self.for_list(), resource_version=read_version(self.version))
        if watch_list and self.version in {"", "0"} and self.send_initial_events is None and not self.match:
            options = replace(self, send_initial_events=True, match="NotOlderThan")
        if causes := _watch_causes(options, watch_list):
            raise refuse.invalid_options("ListOptions", causes)
        return replace(options, resource_version=read_version(options.version))


def read_version(text: str) -> int | None:
    """Parse the ``resourceVersion`` of a get or a watch; ``None`` if it is not given.

    Raises:
        APIError: 500 if it is not a number. In kube-apiserver it is not validated before the storage parses it.
    """
    if problem := _version_problem(text):
        raise refuse.failed(problem)
    return int(text) if text else None


def _version_problem(text: str) -> str:
    problem = digits_problem("ParseUint", text, "[0-9]+", _UINT64) if text else ""
    return f"resourceVersion: Invalid value: {quoted(text)}: {problem}" if problem else ""


def _list_causes(options: ListOptions) -> list[StatusCause]:
    field, causes = "resourceVersionMatch", []
    if options.match:
        if not options.version:
            causes.append(not_allowed(field, f"{field} is forbidden unless resourceVersion is provided"))
        if options.continue_token:
            causes.append(not_allowed(field, f"{field} is forbidden when continue is provided"))
        if options.match not in _MATCHES:
            causes.append(not_supported(field, options.match, _MATCHES))
        if options.match == "Exact" and options.version == "0":
            causes.append(not_allowed(field, f'{field} "exact" is forbidden for resourceVersion "0"'))
    if options.send_initial_events is not None:
        causes.append(not_allowed("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return causes


def _watch_causes(options: ListOptions, watch_list: bool) -> list[StatusCause]:
    field, causes = "resourceVersionMatch", []
    if options.send_initial_events is not None:
        if options.match != "NotOlderThan":
            causes.append(not_allowed(field, f"sendInitialEvents requires setting {field} to NotOlderThan"))
        if not watch_list:
            detail = "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
            causes.append(not_allowed("sendInitialEvents", detail))
    if options.match:
        if options.send_initial_events is None:
            detail = f"{field} is forbidden for watch unless sendInitialEvents is provided"
            causes.append(not_allowed(field, detail))
        if options.match != "NotOlderThan":
            causes.append(not_supported(field, options.match, ["NotOlderThan"]))
        if options.continue_token:
            causes.append(not_allowed(field, f"{field} is forbidden when continue is provided"))
    return causes


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """Validated query parameters of a create, update or patch.

    Attributes:
        dry_run: Whether nothing is stored.
        field_manager: ``fieldManager``; the default is derived from the User-Agent.
        field_validation: ``fieldValidation``: ``"Ignore"``, ``"Warn"`` or ``"Strict"``.
        force: Whether an apply takes over fields of other managers.
    """

    dry_run: bool = False
    field_manager: str = ""
    field_validation: str = "Warn"
    force: bool = False

    @classmethod
    def read(cls, params: Mapping[str, str], verb: str, *, applies: bool, user_agent: str) -> WriteOptions:
        """Read the parameters of a create, update or patch.

        Args:
            params: The query parameters.
            verb: The verb.
            applies: Whether the request is an apply.
            user_agent: The User-Agent header.

        Raises:
            Invalid: A parameter has an invalid value, an apply has no ``fieldManager``, or ``force`` is given for
                another patch than an apply.
        """
        options = {"create": "CreateOptions", "update": "UpdateOptions"}.get(verb, "PatchOptions")
        manager = params.get("fieldManager", "")
        dry_run, validation = params.get("dryRun"), params.get("fieldValidation") or "Warn"
        force = boolean(params, "force") if options == "PatchOptions" else None
        causes = list[StatusCause]()
        if options == "PatchOptions" and applies and not manager:
            causes.append(required("fieldManager", "is required for apply patch"))
        if force is not None and not applies:
            causes.append(not_allowed("force", "may not be specified for non-apply patch"))
        if len(manager.encode()) > MAX_MANAGER:
            causes.append(too_long("fieldManager", f"may not be more than {MAX_MANAGER} bytes"))
        causes += _unprintable_causes(manager)
        if dry_run not in {None, "All"}:
            causes.append(not_supported("dryRun", [dry_run], ["All"]))
        if validation not in {"Ignore", "Warn", "Strict"}:
            causes.append(not_supported("fieldValidation", validation, ["", "Ignore", "Strict", "Warn"]))
        if causes:
            raise refuse.invalid_options(options, causes)
        return cls(
            dry_run=bool(dry_run),
            field_manager=manager or _agent_name(user_agent),
            field_validation=validation,
            force=bool(force),
        )


#: The options of a call whose parameters have not been read.
UNREAD = WriteOptions()


def _unprintable_causes(manager: str) -> Iterator[StatusCause]:
    for position, character in enumerate(manager):
        if not character.isprintable():
            detail = f"invalid character U+{ord(character):04X} (at position {len(manager[:position].encode())})"
            text = f"Invalid value: {quoted(manager)}: {detail}"
            yield StatusCause("fieldManager", "FieldValueInvalid", text)


def _agent_name(user_agent: str) -> str:
    """Return the product name in a User-Agent, the default field manager."""
    name = user_agent.partition("/")[0]
    printable = name if name.isprintable() else "".join(character for character in name if character.isprintable())
    kept = printable.encode()[:MAX_MANAGER]
    return kept.decode("utf-8", "ignore") or "unknown"
