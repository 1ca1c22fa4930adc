"""Options of the verbs, validated and converted to query parameters and bodies.

Pure: no I/O.

Each record is validated when it is created, so that an invalid argument is an error before any request is sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from dynkube.errors import InvalidInput
from dynkube.meta import FieldSelector, LabelSelector
from dynkube.meta._arguments import is_seconds
from dynkube.meta._encode import encode_json

LabelSelectorLike: TypeAlias = str | Mapping[str, object] | LabelSelector | None
FieldSelectorLike: TypeAlias = str | Mapping[str, str] | FieldSelector | None
PropagationPolicy: TypeAlias = Literal["Orphan", "Background", "Foreground"]
FieldValidation: TypeAlias = Literal["Ignore", "Warn", "Strict"]
ResourceVersionMatch: TypeAlias = Literal["NotOlderThan", "Exact"]

_MAX_FIELD_MANAGER = 128  # apimachinery's validation.FieldManagerMaxLength


@dataclass(frozen=True, slots=True, kw_only=True)
class GetOptions:
    """Options for reading one object."""

    resource_version: str | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        check_timeout(self.timeout)

    def params(self) -> dict[str, str]:
        """The query parameters."""
        return {"resourceVersion": self.resource_version} if self.resource_version else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Label and field selector of a collection."""

    label_selector: LabelSelector = field(default_factory=LabelSelector)
    field_selector: FieldSelector = field(default_factory=FieldSelector)

    @classmethod
    def parse(cls, label_selector: LabelSelectorLike, field_selector: FieldSelectorLike) -> Selection:
        """Parse both selectors in any of their forms.

        Raises InvalidSelector if one is malformed.
        """
        return cls(
            label_selector=LabelSelector.parse(label_selector), field_selector=FieldSelector.parse(field_selector)
        )

    def params(self) -> dict[str, str]:
        """The query parameters."""
        params = {"labelSelector": str(self.label_selector), "fieldSelector": str(self.field_selector)}
        return {name: text for name, text in params.items() if text}


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """Options for reading a collection.

    Without ``limit`` all of it is read, ``page_size`` objects per request. ``page_size=None`` reads everything in
    a single request.
    """

    resource_version: str | None = None
    resource_version_match: ResourceVersionMatch | None = None
    page_size: int | None = 500
    limit: int | None = None
    continue_token: str | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        check_timeout(self.timeout)
        for name, number in (("page_size", self.page_size), ("limit", self.limit)):
            _check_count(name, number)
        _check_choice("resource_version_match", self.resource_version_match, ResourceVersionMatch)
        if self.resource_version_match and not self.resource_version:
            raise InvalidInput(
                f"resource_version_match={self.resource_version_match!r} requires a resource_version: pass both"
            )
        if self.resource_version_match == "Exact" and self.resource_version == "0":
            raise InvalidInput("resource_version '0' means any version, so it cannot be matched 'Exact'")
        if self.continue_token and self.resource_version:
            raise InvalidInput(
                "continue_token and resource_version are mutually exclusive: the token contains a resourceVersion"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """Options for writing one object."""

    field_manager: str
    dry_run: bool = False
    field_validation: FieldValidation | None = None
    force: bool | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        check_timeout(self.timeout)
        check_dry_run(self.dry_run)
        check_field_manager(self.field_manager)
        _check_choice("field_validation", self.field_validation, FieldValidation)
        if self.force is not None and not isinstance(self.force, bool):
            raise InvalidInput(f"force must be True or False, not {self.force!r}")

    def params(self) -> dict[str, str]:
        """The query parameters."""
        params = {"fieldManager": self.field_manager}
        if self.dry_run:
            params["dryRun"] = "All"
        if self.field_validation:
            params["fieldValidation"] = self.field_validation
        if self.force is not None:
            params["force"] = "true" if self.force else "false"
        return params


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """Options for deleting.

    ``uid`` and ``resource_version`` are preconditions: 409 if they do not match.
    """

    propagation_policy: PropagationPolicy | None = None
    grace_period_seconds: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    dry_run: bool = False
    timeout: float | None = None

    def __post_init__(self) -> None:
        check_timeout(self.timeout)
        check_dry_run(self.dry_run)
        _check_choice("propagation_policy", self.propagation_policy, PropagationPolicy)
        seconds: object = self.grace_period_seconds  # callers are not always type-checked
        if seconds is not None and not (isinstance(seconds, int) and seconds >= 0):
            raise InvalidInput(f"grace_period_seconds must be an integer >= 0, not {seconds!r}; 0 deletes at once")
        for name, text in (("uid", self.uid), ("resource_version", self.resource_version)):
            if text is not None and not text:
                raise InvalidInput(f"{name} is empty: as a precondition of a delete it would never match; leave it out")

    def body(self) -> bytes:
        """Return the API's ``DeleteOptions``, the body of the request."""
        options: dict[str, object] = {"apiVersion": "v1", "kind": "DeleteOptions"}
        if self.propagation_policy is not None:
            options["propagationPolicy"] = self.propagation_policy
        if self.grace_period_seconds is not None:
            options["gracePeriodSeconds"] = self.grace_period_seconds
        preconditions = {"uid": self.uid, "resourceVersion": self.resource_version}
        if any(preconditions.values()):
            options["preconditions"] = {name: text for name, text in preconditions.items() if text}
        if self.dry_run:
            options["dryRun"] = ["All"]
        return encode_json(options)


def check_dry_run(dry_run: object) -> None:
    """Reject anything but a bool: kubectl's ``"none"`` would silently count as true."""
    if not isinstance(dry_run, bool):
        raise InvalidInput(f"dry_run must be True or False, not {dry_run!r}")


def check_field_manager(name: object, argument: str = "field_manager") -> None:
    """Reject a field manager that the server would reject.

    ``argument`` is its name in messages.
    """
    if not isinstance(name, str) or not name:
        meant = "your program" if argument == "field_manager" else "a field manager"
        raise InvalidInput(f"{argument} must be the name of {meant}, not {name!r}")
    if len(name) > _MAX_FIELD_MANAGER or not name.isprintable():
        raise InvalidInput(
            f"{argument} {name[:40]!r} must be printable and have at most {_MAX_FIELD_MANAGER} characters"
        )


def check_timeout(timeout: object) -> None:
    """Raise InvalidInput unless it is a positive number of seconds, or ``None``."""
    if timeout is not None and not is_seconds(timeout):
        raise InvalidInput(f"timeout must be a positive number of seconds, or None for the default, not {timeout!r}")


def _check_count(name: str, number: object) -> None:
    if number is not None and not (isinstance(number, int) and not isinstance(number, bool) and number >= 1):
        raise InvalidInput(f"{name} must be at least 1, or None, not {number!r}")


def _check_choice(name: str, value: object, choices: object) -> None:
    allowed: tuple[str, ...] = get_args(choices)
    if value is not None and value not in allowed:
        raise InvalidInput(f"{name} must be one of {', '.join(map(repr, allowed))}, not {value!r}")
