"""ConfigMaps and Secrets."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from functools import partial

from dynkube_testing._builtin import checks, typechecks, typedefaults
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.rules import BuiltinRules, Factory
from dynkube_testing._calls.api import JSONObject

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


def _check_keys(field: Field) -> None:
    for key in sorted(field.value or {}):
        checks.config_key(field.renamed(f"{field.path}[{key}]").with_value(key))


def _check_config_map(obj: Field) -> None:
    data, binary = obj.get("data") or {}, obj.get("binaryData") or {}
    for key in sorted(data):
        field = obj.at("data").key(key).with_value(key)
        checks.config_key(field)
        if key in binary:
            field.invalid("duplicate of key present in binaryData")
    _check_keys(obj.at("binaryData"))
    size = sum(len(text.encode()) for text in data.values()) + sum(len(text) * 3 // 4 for text in binary.values())
    if size > _LIMIT:
        obj.renamed("[]").too_long(_LIMIT)


def _check_secret(obj: Field) -> None:
    data = obj.at("data")
    _check_keys(data)
    if sum(len(text) * 3 // 4 for text in (data.value or {}).values()) > _LIMIT:
        data.too_long(_LIMIT)
    match obj.get("type"):
        case "kubernetes.io/service-account-token":
            if not obj.get("metadata", "annotations", _ACCOUNT):
                obj.at("metadata", "annotations").key(_ACCOUNT).required()
        case "kubernetes.io/basic-auth":
            if not (data.value or {}).keys() & {"username", "password"}:
                data.key("username").required()
                data.key("password").required()
        case kind:
            _check_expected(data, _KEYS.get(kind, ()))


def _check_expected(data: Field, keys: tuple[str, ...]) -> None:
    for key in keys:
        field = data.key(key)
        if field.value is None:
            field.required()
        elif key in _JSON_KEYS:
            field.invalid(_json_problem(base64.b64decode(field.value)), "<secret contents redacted>")


def _json_problem(content: bytes) -> str:
    text = content.decode(errors="replace").strip()
    if not text:
        return "unexpected end of JSON input"
    try:
        json.loads(text)
    except ValueError:
        return f"invalid character '{text[0]}' looking for beginning of value"
    return ""


def _keep_frozen(*fields: str) -> Callable[[Field, JSONObject], None]:
    """Return a check that ``fields`` of an immutable object, and ``immutable`` itself, are unchanged."""

    def check(obj: Field, old: JSONObject) -> None:
        if old.get("immutable"):
            changed = [name for name in fields if (obj.get(name) or {}) != (old.get(name) or {})]
            for name in [*(() if obj.get("immutable") else ("immutable",)), *changed]:
                obj.at(name).forbidden(_FROZEN)

    return check


def _keep_secret(obj: Field, old: JSONObject) -> None:
    obj.at("type").immutable(old.get("type") or "Opaque")
    _keep_frozen("data")(obj, old)


DEFAULTS: typedefaults.Table = {"core.v1.Secret": (_complete_secret, {"type": "Opaque"})}
CHECKS: typechecks.Table = {"core.v1.ConfigMap": (_check_config_map,), "core.v1.Secret": (_check_secret,)}
RULES: Mapping[str, Factory] = {
    "configmaps": partial(BuiltinRules, changes=_keep_frozen("data", "binaryData")),
    "secrets": partial(BuiltinRules, changes=_keep_secret),
}
