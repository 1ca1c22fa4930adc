"""Redaction of secrets in a program's output, for errors and logs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

HIDDEN = "<hidden>"

_SHORTEST = 6  # shorter values (a port, a region) are not redacted, as they may occur in ordinary words

_SHAPES = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), HIDDEN),
    # a key whose first line is missing
    (re.compile(r"\A(?:(?!-----BEGIN).)*-----END [A-Z ]*PRIVATE KEY-----", re.DOTALL), HIDDEN),
    (re.compile(r"^[ \t]*[A-Za-z0-9+/]{40,}={0,2}[ \t]*$", re.MULTILINE), HIDDEN),  # a line of PEM
    (re.compile(r"\beyJ[\w-]{5,}(?:\.[\w-]*){0,4}"), HIDDEN),  # the start of JSON Web Tokens
    (re.compile(r"\b(Bearer|Basic)[ \t]+[\w.~+/=-]+", re.IGNORECASE), rf"\1 {HIDDEN}"),
    (re.compile(r"(://)[^/\s@]+@"), rf"\1{HIDDEN}@"),
    (
        # Not "code": device logins display one.
        re.compile(
            r"((?:token|passw(?:or)?d|passphrase|secret|api[-_]?key|assertion)\w*[\"']?\s*[=:]\s*)[\"']?[^\s\"',;&]+",
            re.IGNORECASE,
        ),
        rf"\1{HIDDEN}",
    ),
)


_SECRET_NAME = re.compile(r"token|pass|secret|key|cred|auth", re.IGNORECASE)


def secrets_among(args: Sequence[str], env: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of arguments and variables with secret-sounding names.

    Arguments are recognized as ``--token=X`` and as ``--token X``.
    """
    found = [value for name, value in env.items() if _SECRET_NAME.search(name)]
    for argument, following in zip(args, [*args[1:], ""], strict=False):
        name, equals, value = argument.partition("=")
        if name.startswith("-") and _SECRET_NAME.search(name):
            found.append(value if equals else following)
    return tuple(found)


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return ``text`` without ``secrets``, and without anything that looks like one.

    Recognizes JSON Web Tokens, ``Authorization`` values, private keys, passwords in URLs, and values after ``token=``,
    ``password:`` and the like. Covers what programs actually print; it does not find secrets in any other form.
    """
    for secret in sorted(set(secrets), key=len, reverse=True):
        if len(secret) >= _SHORTEST:
            text = text.replace(secret, HIDDEN)
    for shape, instead in _SHAPES:
        text = shape.sub(instead, text)
    return text
