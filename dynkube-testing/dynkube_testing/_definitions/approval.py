"""The API approval annotation, which CRDs in groups like ``*.k8s.io`` must have.

See https://github.com/kubernetes/enhancements/pull/1111.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value, required

APPROVAL = "api-approved.kubernetes.io"
_PROTECTED = ("k8s.io", "kubernetes.io")
_SEE = "see https://github.com/kubernetes/enhancements/pull/1111"

State: TypeAlias = Literal["Approved", "Unapproved", "Missing", "Invalid"]


def is_protected(group: str) -> bool:
    """Return whether ``group`` is ``k8s.io``, ``kubernetes.io`` or a subdomain."""
    return group in _PROTECTED or group.endswith(tuple(f".{domain}" for domain in _PROTECTED))


def approval(definition: JSONObject) -> tuple[State, str]:
    """Return the state of a CRD's approval annotation, and the real server's message."""
    text = (definition["metadata"].get("annotations") or {}).get(APPROVAL, "")
    if not text:
        return "Missing", f'protected groups must have approval annotation "{APPROVAL}", {_SEE}'
    if text.startswith("unapproved"):
        return "Unapproved", f'not approved: "{text}"'
    if _is_url(text):
        return "Approved", f"approved in {text}"
    return "Invalid", (
        f'protected groups must have approval annotation "{APPROVAL}" with either a URL or a reason starting with '
        f'"unapproved", {_SEE}'
    )


def approval_causes(definition: JSONObject, old: JSONObject | None) -> Iterator[StatusCause]:
    """Yield a cause if the group is protected and the approval annotation is invalid.

    A valid annotation is a URL or a reason that starts with ``unapproved``. An update that does not change the state is
    always accepted.
    """
    if not is_protected(definition["spec"]["group"]):
        return
    state, message = approval(definition)
    if old is not None and approval(old)[0] == state:
        return
    field = f"metadata.annotations[{APPROVAL}]"
    if state == "Missing":
        yield required(field, message)
    elif state == "Invalid":
        yield bad_value(field, definition["metadata"]["annotations"][APPROVAL], message)


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return bool(parts.scheme and parts.hostname)
    except ValueError:
        return False
