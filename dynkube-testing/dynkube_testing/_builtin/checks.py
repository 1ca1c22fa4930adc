"""Checks of single fields, for the tables of rules."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable

from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.typechecks import Check
from dynkube_testing._kinds import naming
from dynkube_testing._schemas.quantities import value_of

NO_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NOT_NEGATIVE_DETAIL = "must be greater than or equal to 0"
PERCENT_HELP = (
    "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
    "validation is '[0-9]+%')"
)
PROTOCOLS = ("SCTP", "TCP", "UDP")


def required(detail: str) -> Check:
    """Check that the field is not missing, empty or zero; ``detail`` is the text of the cause."""

    def check(field: Field) -> bool:
        if field.value:
            return False
        field.required(detail)
        return True

    return check


def optional(check: Check) -> Check:
    """Apply ``check`` if the field is present."""
    return lambda field: None if field.value is None else check(field)


def one_of(*supported: str) -> Check:
    """Check that the value is one of ``supported``."""
    return lambda field: field.one_of(supported)


def only(detail: str, *values: object) -> Check:
    """Check that the value is one of ``values``; ``detail`` is the text of the cause."""
    return lambda field: None if field.value in values else field.invalid(detail)


def between(least: int, most: int, detail: str = "") -> Check:
    """Check that a number, if present, is in a range."""
    detail = detail or f"must be between {least} and {most}, inclusive"
    return lambda field: None if field.value is None or least <= field.value <= most else field.invalid(detail)


def at_least(least: int, detail: str = "") -> Check:
    """Check that a number, if present, is not less than ``least``."""
    detail = detail or f"must be greater than or equal to {least}"
    return lambda field: None if field.value is None or field.value >= least else field.invalid(detail)


def at_most(limit: int) -> Check:
    """Check that a list has at most ``limit`` items."""
    return lambda field: field.too_many(limit) if len(field.value or ()) > limit else None


def forbidden(detail: str) -> Check:
    """Check that the field is missing, empty or zero."""
    return lambda field: field.forbidden(detail) if field.value else None


def matching(problem: Callable[[str], str]) -> Check:
    """Check a string, if present, by a function that returns the text of the cause, or ``""``."""
    return lambda field: None if field.value is None else field.invalid(problem(field.value))


def matching_all(problems: Callable[[str], list[str]]) -> Check:
    """Check a string, if present, by a function that returns the texts of all causes."""

    def check(field: Field) -> None:
        for problem in problems(field.value) if field.value is not None else ():
            field.invalid(problem)

    return check


label = matching(naming.label_problem)
subdomain = matching(naming.subdomain_problem)
dns1035 = matching(naming.dns1035_problem)
path_segment = matching(naming.path_segment_problem)
label_value = matching(naming.label_value_problem)
key = matching(naming.qualified_name_problem)
port_name = matching_all(naming.port_name_problems)
config_key = matching_all(naming.config_key_problems)
not_negative = at_least(0)
permissions = between(0, 0o777, "must be a number between 0 and 0777 (octal), both inclusive")
user_id = between(0, 2**31 - 1)


def qualified_name(field: Field) -> None:
    """Check that the value is a qualified name, and report all problems."""
    for problem in naming.qualified_name_problems(field.value or ""):
        field.invalid(problem, field.value or "")


def labels(field: Field) -> None:
    """Check the keys and values of labels."""
    for key, value in (field.value or {}).items():
        field.invalid(naming.qualified_name_problem(key), key)
        field.invalid(naming.label_value_problem(value), value)


def port(field: Field) -> None:
    """Check that the value is a port number; a missing one is 0."""
    number = 0 if field.value is None else field.value
    if not isinstance(number, int) or not 1 <= number <= 65535:
        field.invalid("must be between 1 and 65535, inclusive", number)


def port_or_name(field: Field) -> None:
    """Check that the value is a port number or a port name."""
    (port_name if isinstance(field.value, str) else port)(field)


def count(field: Field) -> None:
    """Check that the value is a number >= 0 or a percentage."""
    if isinstance(field.value, str):
        if not re.fullmatch("[0-9]+%", field.value):
            field.invalid(PERCENT_HELP)
    elif field.value is not None and field.value < 0:
        field.invalid(NOT_NEGATIVE_DETAIL)


def up_to_all(field: Field) -> None:
    """Check that a percentage does not exceed 100."""
    if isinstance(field.value, str) and re.fullmatch("[0-9]+%", field.value) and int(field.value[:-1]) > 100:
        field.invalid("must not be greater than 100%")


def address(field: Field) -> None:
    """Check that the value is an IP address."""
    if not is_address(field.value or ""):
        field.invalid(NO_ADDRESS, field.value or "")


def is_address(text: str) -> bool:
    """Return whether ``text`` is an IP address."""
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def positive_quantity(field: Field) -> None:
    """Check that a quantity is greater than zero."""
    if value_of(field.value) <= 0:
        field.invalid("must be greater than zero")


def not_negative_quantity(field: Field) -> None:
    """Check that a quantity is not less than zero."""
    if value_of(field.value) < 0:
        field.invalid(NOT_NEGATIVE_DETAIL)


def no_backsteps(field: Field) -> None:
    """Check that a path has no element ``..``."""
    if ".." in str(field.value or "").split("/"):
        field.invalid("must not contain '..'")


def local_path(field: Field) -> None:
    """Check that a path is relative, has no element ``..``, and does not start with ``..``."""
    path = field.value or ""
    if path.startswith("/"):
        field.invalid("must be a relative path", path)
    no_backsteps(field)
    if path.startswith("..") and not path.startswith("../"):
        field.invalid("must not start with '..'", path)


def unique(name: str) -> Check:
    """Check that the field ``name`` of an item, if present, differs from those of the items before it."""

    def check(item: Field) -> None:
        value = item.get(name)
        if value and any(other.get(name) == value for other in item.earlier()):
            item.at(name).duplicate()

    return check


def only_one(names: tuple[str, ...], extra: str, none: str = "") -> Check:
    """Check a union: only the first of the fields ``names`` is checked, and each other one is an error.

    Args:
        names: The members of the union, in order.
        extra: The text of the cause for each other member.
        none: The text of the cause if there is no member; ``""`` if that is valid.
    """

    def check(owner: Field) -> None:
        first, *others = owner.given(names) or [""]
        if first:
            owner.at(first).check()
        elif none:
            owner.required(none)
        for other in others:
            owner.at(other).forbidden(extra)

    return check
