"""The responses to invalid requests have the code, reason, message and causes of kube-apiserver.

If only one version accepts a request, the table has only the code of its response.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config, structural, version, workload
from tests.contract.recorded import ResponseChecker, Table

_TABLES = {path.stem: Table.load(path) for path in sorted((Path(__file__).parent / "recorded").glob("*.yaml"))}
_WRITTEN = "application/json, application/yaml"
# Parts of messages that are not compared, as they are irrelevant or differ each time.
_PASSED_OVER = (
    # The position of an error in old versions, with an excerpt, which has names of the test.
    (r"(?s), error found in #.*", ""),
    # The source line of the server that created a scheme.
    (r' in scheme "[^"]*"', " in scheme"),
    # A media type that the embedded server reads, but does not write.
    (
        r"((?:accepted|representations): application/json, application/yaml), application/vnd\.kubernetes\.protobuf",
        r"\1",
    ),
    (r", application/vnd\.kubernetes\.protobuf;stream=watch", ""),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r"\(0x[0-9a-f]+\)", "(ADDRESS)"),  # a memory address in old versions
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
    (r'(resourceVersion\\?":\\?"|ResourceVersion in record \()\d+', r"\1VERSION"),
)


async def _seed(cluster: Cluster) -> None:
    """Create the objects that rows refer to: a ConfigMap and a Widget named ``have``, and a Deployment named ``d``."""
    await cluster.create("configmaps", config("have"))
    await cluster.create("widgets", cluster.widget("have", spec={"size": 1}))
    await cluster.create("deployments", workload())


async def _seed_again(cluster: Cluster) -> None:
    for resource in ("configmaps", "widgets", "deployments"):
        await cluster.delete_all(resource)
    await _seed(cluster)


async def _send(cluster: Cluster, row: JSONObject) -> JSONObject:
    """Return the response to ``row``; the body of a success is not read, as it may be a stream of events."""
    method, _, target = row["request"].partition(" ")
    headers = {"Accept": "application/json", **row.get("headers", {}), **cluster.headers}
    if "type" in row:
        headers["Content-Type"] = row["type"]
    async with cluster.http.stream(method, target, content=row.get("body"), headers=headers) as response:
        code = response.status_code
        body = b"{}" if code < 400 else await response.aread()
    if not body.startswith(b"{"):
        return {"code": code, "text": body.decode()}
    status = json.loads(body)
    return _compared(code, status) if "status" in status else {"code": code}  # in old versions a 404 may list all paths


def _compared(code: int, status: JSONObject) -> JSONObject:
    """Return the compared parts of an error response."""
    assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", code)
    details = {"details": status["details"]} if "details" in status else {}
    return {"code": code, "reason": status.get("reason", ""), "message": status["message"], **details}


def _comparable(response: Any) -> Any:
    """Return ``response`` with the ignored parts removed from all strings."""
    if isinstance(response, str):
        for pattern, replacement in _PASSED_OVER:
            response = re.sub(pattern, replacement, response)
        return response
    if isinstance(response, dict):
        return {key: _comparable(value) for key, value in response.items()}
    return [_comparable(value) for value in response] if isinstance(response, list) else response


@pytest.mark.parametrize("table", _TABLES.values(), ids=_TABLES)
async def test_the_error_for_an_invalid_request_is_that_of_kube_apiserver(
    cluster: Cluster, checker: ResponseChecker, table: Table, subtests: pytest.Subtests
) -> None:
    await cluster.create_crd(cluster.crd(versions=[version(schema=structural(size={"type": "integer"}))]))
    await _seed(cluster)

    for row in table.rows:
        with subtests.test(f"{row['request']} {row.get('body', '')}"[:150]):
            response = await _send(cluster, checker.fill_in(row))
            if response["code"] < 300 and not row["request"].startswith("GET"):
                await _seed_again(cluster)
            checker.check(table, row, _comparable(response))
