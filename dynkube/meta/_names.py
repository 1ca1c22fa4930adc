"""Validation of label keys, label values and namespace names.

Each function returns the problem as a part of a sentence, or ``None`` if there is none; callers prepend the name of the
argument. The rules are those of ``k8s.io/apimachinery/pkg/api/validate/content``.
"""

from __future__ import annotations

import re

MAX_LABEL = 63
MAX_SUBDOMAIN = 253

_QUALIFIED_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?")
_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*")

_NAME_RULE = "letters, digits, '-', '_' and '.', and must start and end with a letter or digit"


def label_key_problem(key: str) -> str | None:
    """Return why ``key`` is not a valid label key, or ``None``.

    Examples of valid keys: ``app``, ``app.kubernetes.io/name``.
    """
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return "has more than one '/'; expected NAME or DNS.PREFIX/NAME"
    if slash and not prefix:
        return "has an empty prefix before the '/': omit the '/' or write a DNS prefix like 'example.com/'"
    if len(prefix) > MAX_SUBDOMAIN:
        return f"has a prefix of {len(prefix)} characters; at most {MAX_SUBDOMAIN} are allowed"
    if slash and not _SUBDOMAIN.fullmatch(prefix):
        return f"has the prefix {prefix!r}, which is not a lowercase DNS name like 'example.com'"
    if not name:
        return "has no name after the '/'" if slash else "is empty"
    return _name_problem(name)


def label_value_problem(value: str) -> str | None:
    """Return why ``value`` is not a valid label value, or ``None``.

    The empty string is valid.
    """
    return _name_problem(value) if value else None


def namespace_problem(name: str) -> str | None:
    """Return why ``name`` is not a valid namespace name, or ``None``."""
    if not _LABEL.fullmatch(name):
        return "may only contain lowercase letters, digits and '-', and must start and end with a letter or digit"
    if len(name) > MAX_LABEL:
        return f"is {len(name)} characters long; at most {MAX_LABEL} are allowed"
    return None


def _name_problem(name: str) -> str | None:
    if not _QUALIFIED_NAME.fullmatch(name):
        return f"may only contain {_NAME_RULE}"
    if len(name) > MAX_LABEL:
        return f"is {len(name)} characters long; at most {MAX_LABEL} are allowed"
    return None
