"""Malformed bodies get kube-apiserver's error messages."""

from __future__ import annotations

import httpx2
import pytest

_CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            '{"kind":\n oops}',
            "invalid character 'o' looking for beginning of value ({\"kind\":\n oops})",
        ),
        ("{} trailing", "invalid character 't' after top-level value ({} trailing)"),
        ('{"a": NaN}', "invalid character 'N' looking for beginning of value"),
        ('{"a": tru}', "invalid character '}' in literal true (expecting 'e')"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a": 1 "b"}', "invalid character '\"' after object key:value pair"),
        ('{"a": [1 2]}', "invalid character '2' after array element"),
        ("{a: 1}", "invalid character 'a' looking for beginning of object key string"),
        ('{"a": "x\ny"}', "invalid character '\\n' in string literal"),
        ('{"a": "\\q"}', "invalid character 'q' in string escape code"),
        ('{"a": 1', 'unexpected end of JSON input ({"a": 1)'),
        ("", "unexpected end of JSON input (<empty>)"),
        ("[" * 20_000 + "]" * 20_000, "invalid character '[' exceeded max depth"),
        ('{"a":' * 301 + "1" + "}" * 301, "invalid character '{' exceeded max depth"),
    ],
)
async def test_malformed_json_gets_the_message_of_go(client: httpx2.AsyncClient, body: str, message: str) -> None:
    response = await client.post(_CONFIGMAPS, content=body, headers={"Content-Type": "application/json"})

    expected = (
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: "
    )
    assert response.status_code == 400
    assert response.json()["message"].startswith(expected + message)


_CONFIGMAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
_ITSELF = "more: &it [*it, *it]\n"
_DOUBLED = "".join(f"a{n}: &a{n} [{f'*a{n - 1}, *a{n - 1}' if n else ''}]\n" for n in range(40))
_MERGED = "a0: &a0 {k: v}\n" + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 9)}]}}\n" for n in range(1, 9))
_CHAINED = f"a: &a {'[' * 200}{']' * 200}\nb: {'[' * 100}*a{']' * 100}\n"


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (_ITSELF, "anchor 'it' value contains itself"),
        (_DOUBLED, "document contains excessive aliasing"),
        (_MERGED, "document contains excessive aliasing"),
        (_CHAINED, "invalid character '[' exceeded max depth"),
    ],
)
async def test_excessive_yaml_aliases_get_the_message_of_go(
    client: httpx2.AsyncClient, more: str, message: str
) -> None:
    response = await client.post(_CONFIGMAPS, content=_CONFIGMAP + more, headers={"Content-Type": "application/yaml"})
    apply = {"Content-Type": "application/apply-patch+yaml"}
    applied = await client.patch(f"{_CONFIGMAPS}/a?fieldManager=t", content=_CONFIGMAP + more, headers=apply)

    assert (response.status_code, applied.status_code) == (400, 400)
    assert message in response.json()["message"]
    assert message in applied.json()["message"]


async def test_malformed_yaml_gets_the_message_of_go(client: httpx2.AsyncClient) -> None:
    response = await client.post(_CONFIGMAPS, content="a: b: c", headers={"Content-Type": "application/yaml"})

    assert response.json()["message"] == (
        "the object provided is unrecognized (must be of type ConfigMap): "
        "yaml: mapping values are not allowed in this context (613a20623a2063)"
    )
