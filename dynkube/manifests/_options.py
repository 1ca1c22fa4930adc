"""Options of ``apply_all`` and ``diff_all``, validated on creation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from dynkube.client import FieldValidation
from dynkube.client._options import check_field_manager
from dynkube.errors import InvalidInput
from dynkube.fields import FieldPath, PathLike
from dynkube.manifests._applyset import ApplySet
from dynkube.meta._arguments import is_seconds

OnError: TypeAlias = Literal["stop", "continue"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyOptions:
    """How a source is applied; see :meth:`dynkube.Client.apply_all`."""

    namespace: str | None = None
    field_manager: str | None = None
    force: bool | tuple[FieldPath, ...] = False
    dry_run: bool = False
    prune: ApplySet | None = None
    on_error: OnError = "stop"
    parallel: int = 10
    field_validation: FieldValidation | None = None
    crd_timeout: float = 60.0
    timeout: float | None = None

    def __post_init__(self) -> None:
        if self.on_error not in get_args(OnError):
            raise InvalidInput(f"on_error must be 'stop' or 'continue', not {self.on_error!r}")
        if self.field_manager is not None:
            check_field_manager(self.field_manager)
        if type(self.parallel) is not int or self.parallel < 1:
            raise InvalidInput(f"parallel must be an integer >= 1 (requests at once), not {self.parallel!r}")
        if not is_seconds(self.crd_timeout):
            raise InvalidInput(f"crd_timeout must be a positive number of seconds, not {self.crd_timeout!r}")
        if self.timeout is not None and not is_seconds(self.timeout):
            raise InvalidInput(
                f"timeout must be a positive number of seconds, or None for the default, not {self.timeout!r}"
            )
        if self.field_validation not in {None, *get_args(FieldValidation)}:
            allowed = ", ".join(map(repr, get_args(FieldValidation)))
            raise InvalidInput(f"field_validation must be one of {allowed}, not {self.field_validation!r}")
        if not isinstance(self.dry_run, bool):
            raise InvalidInput(f"dry_run must be True or False, not {self.dry_run!r}")
        if self.namespace is not None and (type(self.namespace) is not str or self.namespace in {"", "*"}):
            raise InvalidInput(
                f"namespace={self.namespace!r} is not the name of a namespace: leave it out for that of the context"
            )


def read_force(force: bool | Iterable[PathLike]) -> bool | tuple[FieldPath, ...]:
    """Parse the argument ``force``; its paths are parsed once for all objects.

    Raises:
        InvalidInput: ``force`` is neither a bool nor paths.
    """
    if isinstance(force, bool):
        return force
    if isinstance(force, str) or not isinstance(force, Iterable):
        raise InvalidInput(f"force is {force!r}: pass True, or a list of paths, like ['.spec.replicas']")
    return tuple(map(FieldPath.parse, force))


def read_applyset(prune: ApplySet | str | None) -> ApplySet | None:
    """Parse the argument ``prune``.

    Raises:
        InvalidInput: ``prune`` is not a valid ApplySet.
    """
    if prune is None or isinstance(prune, ApplySet):
        return prune
    if isinstance(prune, str):
        return ApplySet.parse(prune)
    raise InvalidInput(
        f"prune is {prune!r}: pass the name of an ApplySet, like 'shop' or 'configmaps/shop', or an ApplySet"
    )
