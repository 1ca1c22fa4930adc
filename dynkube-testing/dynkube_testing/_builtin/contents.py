"""ConfigMaps and Secrets."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping

from dynkube_testing._builtin.findings import BuiltinFindings
from dynkube_testing._builtin.rules import BuiltinRules
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds import naming

_LIMIT = 1024 * 1024
_FROZEN = "field is immutable when `immutable` is set"
_ACCOUNT = "kubernetes.io/service-account.name"
# The required keys in ``data``, by type of Secret.
_KEYS: Mapping[str, tuple[str, ...]] = {
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/ssh-auth": ("ssh-privatekey",),
}
_JSON_KEYS = {".dockerconfigjson", ".dockercfg"}


def _complete_secret(obj: JSONObject) -> None:
    """Merge the write-only ``stringData`` into ``data``, and set the default type.

    Keys in ``stringData`` take precedence.
    """
    texts = obj.pop("stringData", None)
    if texts:
        encoded = {key: base64.b64encode(text.encode()).decode() for key, text in texts.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}
    obj["type"] = obj.get("type") or "Opaque"


def _check_keys(findings: BuiltinFindings, obj: JSONObject, field: str) -> None:
    for key in sorted(obj.get(field) or {}):
        findings.text(f"{field}[{key}]", naming.config_key_problem(key), key)


def _check_config_map(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    for key in sorted(data):
        findings.text(f"data[{key}]", naming.config_key_problem(key), key)
        if key in binary:
            findings.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    _check_keys(findings, obj, "binaryData")
    size = sum(len(text.encode()) for text in data.values()) + sum(len(text) * 3 // 4 for text in binary.values())
    if size > _LIMIT:
        findings.too_long("[]", _LIMIT)


def _check_secret(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    data = obj.get("data") or {}
    _check_keys(findings, obj, "data")
    if sum(len(text) * 3 // 4 for text in data.values()) > _LIMIT:
        findings.too_long("data", _LIMIT)
    match obj["type"]:
        case "kubernetes.io/service-account-token":
            if not (obj["metadata"].get("annotations") or {}).get(_ACCOUNT):
                findings.required(f"metadata.annotations[{_ACCOUNT}]")
        case "kubernetes.io/basic-auth":
            if not data.keys() & {"username", "password"}:
                findings.required("data[username]")
                findings.required("data[password]")
        case kind:
            _check_expected(findings, data, _KEYS.get(kind, ()))


def _check_expected(findings: BuiltinFindings, data: Mapping[str, str], keys: tuple[str, ...]) -> None:
    for key in keys:
        if key not in data:
            findings.required(f"data[{key}]")
        elif key in _JSON_KEYS and (problem := _json_problem(base64.b64decode(data[key]))):
            findings.invalid(f"data[{key}]", "<secret contents redacted>", problem)


def _json_problem(content: bytes) -> str:
    text = content.decode(errors="replace").strip()
    if not text:
        return "unexpected end of JSON input"
    try:
        json.loads(text)
    except ValueError:
        return f"invalid character '{text[0]}' looking for beginning of value"
    return ""


def _frozen(obj: JSONObject, old: JSONObject, *fields: str) -> Iterator[str]:
    if not old.get("immutable"):
        return
    if not obj.get("immutable"):
        yield "immutable"
    for field in fields:
        if (obj.get(field) or {}) != (old.get(field) or {}):
            yield field


def _keep_config_map(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    assert old is not None, "called for updates"
    for field in _frozen(obj, old, "data", "binaryData"):
        findings.forbidden(field, _FROZEN)


def _keep_secret(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    assert old is not None, "called for updates"
    findings.immutable("type", obj["type"], old.get("type") or "Opaque")
    for field in _frozen(obj, old, "data"):
        findings.forbidden(field, _FROZEN)


RULES: Mapping[str, BuiltinRules] = {
    "configmaps": BuiltinRules(checks=_check_config_map, changes=_keep_config_map),
    "secrets": BuiltinRules(defaults=_complete_secret, checks=_check_secret, changes=_keep_secret),
}
