"""Validation of names, labels and annotations.

Functions named ``..._problem`` return the real server's error message, or ``""`` if the value is valid.
"""

from __future__ import annotations

import re

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_VALUE = r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?"

_SUBDOMAIN_HELP = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_HELP = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end "
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
_DNS1035_HELP = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')"
)
_QUALIFIED_HELP = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE_HELP = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation "
    "is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)

_KEY_HELP = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)

# Resources whose names must be DNS labels, because they become host names.
_LABELS = {"namespaces", "services"}
_PATH_SEGMENT_GROUPS = {"rbac.authorization.k8s.io"}


def name_problem(resource: str, group: str, name: str) -> str:
    """Return why ``name`` is invalid for an object of this resource, or ``""``."""
    if group in _PATH_SEGMENT_GROUPS:
        return path_segment_problem(name)
    if group == "" and resource in _LABELS:
        return label_problem(name)
    return subdomain_problem(name)


def subdomain_problem(name: str) -> str:
    """Return why ``name`` is not an RFC 1123 subdomain, or ``""``.

    This is the rule for most names.
    """
    if len(name) > 253:
        return "must be no more than 253 characters"
    return "" if re.fullmatch(_SUBDOMAIN, name) else _SUBDOMAIN_HELP


def label_problem(name: str) -> str:
    """Return why ``name`` is not an RFC 1123 label, or ``""``."""
    if len(name) > 63:
        return "must be no more than 63 characters"
    if re.fullmatch(_LABEL, name):
        return ""
    return "must not contain dots" if re.fullmatch(_SUBDOMAIN, name) else _LABEL_HELP


def label_problems(name: str) -> list[str]:
    """Return all errors of an RFC 1123 subdomain that should be an RFC 1123 label."""
    problems = ["must be no more than 63 characters"] if len(name) > 63 else []
    if "." in name:
        problems.append("must not contain dots")
    return problems


def dns1035_problem(name: str) -> str:
    """Return why ``name`` is not an RFC 1035 label, or ``""``.

    Unlike an RFC 1123 label, it must begin with a letter.
    """
    if len(name) > 63:
        return "must be no more than 63 characters"
    return "" if re.fullmatch(r"[a-z]([-a-z0-9]*[a-z0-9])?", name) else _DNS1035_HELP


def path_segment_problem(name: str) -> str:
    """Return why ``name`` is not a valid segment of a URL path, or ``""``."""
    if name in {".", ".."}:
        return f"may not be '{name}'"
    for character in "/%":
        if character in name:
            return f"may not contain '{character}'"
    return ""


def qualified_name_problem(key: str) -> str:
    """Return the first of :func:`qualified_name_problems`, or ``""``."""
    return next(iter(qualified_name_problems(key)), "")


def qualified_name_problems(key: str) -> list[str]:
    """Return all errors of a label key, annotation key or finalizer.

    The valid form is ``[prefix/]name``.
    """
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        form = _QUALIFIED_HELP.removeprefix("name part ")
        return [f"a valid label key {form} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"]
    problems = []
    if slash and not prefix:
        problems.append("prefix part must be non-empty")
    elif slash and (problem := subdomain_problem(prefix)):
        problems.append(f"prefix part {problem.replace('characters', 'bytes') if len(prefix) > 253 else problem}")
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > 63:
        problems.append("name part must be no more than 63 bytes")
    if not re.fullmatch(_QUALIFIED, name):
        problems.append(_QUALIFIED_HELP)
    return problems


def label_value_problem(value: str) -> str:
    """Return why ``value`` is not a valid label value, or ``""``."""
    if len(value) > 63:
        return "must be no more than 63 bytes"
    return "" if re.fullmatch(_VALUE, value) else _VALUE_HELP


def port_name_problems(name: str) -> list[str]:
    """Return all reasons why ``name`` is not a valid port name (RFC 6335)."""
    checks = {
        "must be no more than 15 characters": len(name) <= 15,
        "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)": re.fullmatch("[-a-z0-9]+", name),
        "must contain at least one letter (a-z)": re.search("[a-z]", name),
        "must not contain consecutive hyphens": "--" not in name,
        "must not begin or end with a hyphen": name == name.strip("-"),
    }
    return [problem for problem, holds in checks.items() if not holds]


def config_key_problems(key: str) -> list[str]:
    """Return all reasons why ``key`` is not a valid key of a ConfigMap or Secret."""
    problems = [] if len(key) <= 253 else ["must be no more than 253 characters"]
    if not re.fullmatch("[-._a-zA-Z0-9]+", key):
        problems.append(_KEY_HELP)
    if key in {".", ".."}:
        problems.append(f"must not be '{key}'")
    elif key.startswith(".."):
        problems.append("must not start with '..'")
    return problems
