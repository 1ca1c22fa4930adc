"""Tables of objects of built-in kinds with the recorded results of writes.

``creates`` are objects with the server's defaults, ``errors`` are invalid, ``checks`` are both, of the fields that are
used less, ``updates`` are created and then changed by a merge patch, some through a subresource. All but the last use
dry runs.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from dynkube_testing._kinds.builtin import builtin_kinds
from tests.contract.cluster import MERGE, Cluster, Response
from tests.contract.objects import JSONObject
from tests.contract.recorded import ResponseChecker, Table

_FOLDER = Path(__file__).parent / "recorded"
_CREATES, _ERRORS, _CHECKS, _UPDATES = (
    Table.load(_FOLDER / f"{name}.yaml") for name in ("creates", "errors", "checks", "updates")
)
_NAMESPACED = {kind.gvr.resource for kind in builtin_kinds() if kind.namespaced}
_SHOWN = ("generation", "labels", "finalizers", "annotations")
# Values that differ each time.
_IDENTITIES = (
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r"\b10\.(96|97|98|99|1\d\d)\.\d+\.\d+\b|\b10\.0\.\d+\.\d+\b", "ADDRESS"),
    (r"\b0x[0-9a-f]{6,}\b", "POINTER"),
    (r'("last(?:Phase)?TransitionTime": ")[^"]*', r"\1TIME"),
)


def _collection(cluster: Cluster, row: JSONObject) -> str:
    base = "/api/v1" if row["apiVersion"] == "v1" else f"/apis/{row['apiVersion']}"
    place = f"/namespaces/{cluster.namespace}" if row["resource"] in _NAMESPACED else ""
    return f"{base}{place}/{row['resource']}"


def _compared(response: Response) -> JSONObject:
    """Return the object without UIDs, addresses and times; or the code, message and causes of the error."""
    text = json.dumps(_error(response) if response.code >= 400 else _content(response))
    for pattern, replacement in _IDENTITIES:
        text = re.sub(pattern, replacement, text)
    compared: JSONObject = json.loads(text)
    return {"code": response.code, **compared}


def _content(response: Response) -> JSONObject:
    metadata = {key: response.body["metadata"][key] for key in _SHOWN if key in response.body["metadata"]}
    content = {key: value for key, value in response.body.items() if key not in {"apiVersion", "kind", "metadata"}}
    return {"metadata": metadata, "content": content}


def _error(response: Response) -> JSONObject:
    if not isinstance(response.body, dict):
        return {"text": response.body}
    causes = [
        [cause.get("field", ""), cause["reason"].removeprefix("FieldValue"), _worded(cause["message"])]
        for cause in response.body.get("details", {}).get("causes", [])
    ]
    return {"causes": causes} if causes else {"message": response.body["message"]}


def _worded(message: str) -> str:
    """Return a message without Go values, which real servers print of immutable fields."""
    return re.sub(r"(Invalid value: )[\w.&]*[\[{].*(?=: field is immutable)", r"\1...", message.partition("\n")[0])


@pytest.mark.parametrize("table", [_CREATES, _ERRORS, _CHECKS], ids=["creates", "errors", "checks"])
async def test_a_create_gives_the_same_defaults_or_errors_as_kube_apiserver(
    cluster: Cluster, checker: ResponseChecker, table: Table, subtests: pytest.Subtests
) -> None:
    for row in table.rows:
        with subtests.test(row["case"]):
            resolved = checker.fill_in(row)
            path = _collection(cluster, resolved)
            response = await cluster.call("POST", path, body=resolved["body"], params={"dryRun": "All"})
            checker.check(table, row, _compared(response))


async def test_an_update_gives_the_same_object_or_errors_as_kube_apiserver(
    cluster: Cluster, checker: ResponseChecker, subtests: pytest.Subtests
) -> None:
    for row in _UPDATES.rows:
        with subtests.test(row["case"]):
            resolved = checker.fill_in(row)
            created = await cluster.call("POST", _collection(cluster, resolved), body=resolved["body"])
            path = f"{_collection(cluster, resolved)}/{resolved['body']['metadata']['name']}"
            part = f"{path}/{row['subresource']}" if "subresource" in row else path
            response = await cluster.call("PATCH", part, body=row["patch"], content_type=MERGE)
            if row["resource"] not in _NAMESPACED and created.code < 400:
                await cluster.call("DELETE", path)
            checker.check(_UPDATES, row, _compared(response))
