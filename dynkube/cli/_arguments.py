"""Checks of options that several commands share; the messages name the option."""

from __future__ import annotations

import re
from typing import Annotated, Final, TypeAlias

from cyclopts import Parameter

from dynkube.cli._run import CommandFailed
from dynkube.errors import InvalidInput
from dynkube.fields import FieldPath
from dynkube.meta import Unstructured

NamespaceOption: TypeAlias = Annotated[str | None, Parameter(name=["--namespace", "-n"])]
Flag: TypeAlias = Annotated[bool, Parameter(negative="")]

_DURATION: Final = re.compile(r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?\Z")
_SECONDS: Final = (86_400, 3_600, 60, 1)


def check_namespace(namespace: str | None, otherwise: str) -> None:
    """Reject what is not the name of a namespace.

    Args:
        namespace: the value of ``-n``, or ``None`` without one.
        otherwise: what the command uses without ``-n``.

    Raises:
        CommandFailed: it is empty, or ``*``.
    """
    if namespace == "":
        raise CommandFailed(f"-n is empty: pass the name of a namespace, or leave it out for {otherwise}")
    if namespace == "*":
        raise CommandFailed(f"-n '*' is not the name of a namespace: pass one, or leave it out for {otherwise}")


def read_paths(option: str, texts: list[str] | None) -> list[FieldPath]:
    """Parse the values of an option that names fields.

    Raises:
        CommandFailed: one is not a field path.
    """
    try:
        return [FieldPath.parse(text) for text in texts or ()]
    except InvalidInput as error:
        raise CommandFailed(f"{option}: {error}") from error


def duration_of(text: str) -> int | None:
    """Return the seconds of a duration: ``5m``, ``1h30m``, ``2d``; ``None`` if it is not one."""
    found = _DURATION.match(text)
    if not text or found is None:
        return None
    return sum(int(number) * unit for number, unit in zip(found.groups(default="0"), _SECONDS, strict=True))


def read_timeout(text: str) -> float | None:
    """Return the seconds of ``--timeout``; ``None`` for no limit, which is 0 as with kubectl.

    Raises:
        CommandFailed: it is not a duration.
    """
    seconds = 0 if text == "0" else duration_of(text)
    if seconds is None:
        raise CommandFailed(
            f"--timeout {text!r} is not a duration: pass for example 30s, 5m or 1h30m, or 0 for no limit"
        )
    return float(seconds) or None


def read_target(what: str, name: str) -> tuple[str, str]:
    """Return kind and name of an object, from ``KIND/NAME`` or ``KIND NAME``; the name is empty in ``KIND`` alone.

    Raises:
        CommandFailed: it is neither.
    """
    kind, slash, after = what.partition("/")
    if not kind or "/" in after or "/" in name or (slash and (name or not after)):
        raise CommandFailed(
            f"{' '.join(filter(None, (what, name)))!r} is not an object: pass KIND/NAME, like deploy/web"
        )
    return kind, after or name


def read_object(what: str, name: str) -> tuple[str, str]:
    """Return kind and name of an object, from ``KIND/NAME`` or ``KIND NAME``.

    Raises:
        CommandFailed: it is neither, or has no name.
    """
    kind, found = read_target(what, name)
    if not found:
        raise CommandFailed(f"{what!r} has no name: pass KIND/NAME, like {what}/web")
    return kind, found


def kubectl_name(obj: Unstructured) -> str:
    """Return the name of an object as ``kubectl -o name`` prints it: ``deployment.apps/web``."""
    group = obj.api_version.rpartition("/")[0]
    return f"{obj.kind.lower()}{'.' if group else ''}{group}/{obj.name}"
