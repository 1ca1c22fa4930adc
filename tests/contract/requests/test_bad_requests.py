"""Bad requests are refused with the code, the reason, the words and the causes of kube-apiserver.

What a version takes that others refuse stands in the tables with its code alone.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.contract.cluster import Cluster
from tests.contract.objects import JSONObject, config, structural, version, workload
from tests.contract.recorded import Judge, Table

_TABLES = {path.stem: Table.load(path) for path in sorted((Path(__file__).parent / "recorded").glob("*.yaml"))}
# What is no part of an answer's meaning, or another one each time.
_PASSED_OVER = (
    # Only the embedded server tells where a document is malformed.
    (r" at line \d+, column \d+|(?<=yaml: )line \d+(, column \d+)?: ", ""),
    # Where exactly the decoder of old versions stopped; the text around that place has names of the test.
    (r"(?s), error found in #.*", ""),
    # Where a scheme was made in the server's own source.
    (r' in scheme "[^"]*"', " in scheme"),
    (r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UID"),
    (r"\(0x[0-9a-f]+\)", "(ADDRESS)"),  # where something was in the memory of an old version
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME"),
    (r'(resourceVersion\\?":\\?"|ResourceVersion in record \()\d+', r"\1VERSION"),
)


async def _seed(cluster: Cluster) -> None:
    """What rows refer to: a ConfigMap and a Widget called ``have``, and a Deployment called ``d``."""
    await cluster.create("configmaps", config("have"))
    await cluster.create("widgets", cluster.widget("have", spec={"size": 1}))
    await cluster.create("deployments", workload())


async def _seed_again(cluster: Cluster) -> None:
    for resource in ("configmaps", "widgets", "deployments"):
        await cluster.delete_all(resource)
    await _seed(cluster)


async def _ask(cluster: Cluster, row: JSONObject) -> JSONObject:
    """What is answered to ``row``; a stream of events, which some versions begin and others refuse, is not read."""
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
    return _told(code, status) if "status" in status else {"code": code}  # old versions list all paths with a 404


def _told(code: int, status: JSONObject) -> JSONObject:
    """What a refusal says."""
    assert (status["kind"], status["status"], status["code"]) == ("Status", "Failure", code)
    details = {"details": status["details"]} if "details" in status else {}
    return {"code": code, "reason": status.get("reason", ""), "message": status["message"], **details}


def _meaning(answer: Any) -> Any:
    """``answer`` without what is passed over, in all of its texts."""
    if isinstance(answer, str):
        for pattern, replacement in _PASSED_OVER:
            answer = re.sub(pattern, replacement, answer)
        return answer
    if isinstance(answer, dict):
        return {key: _meaning(value) for key, value in answer.items()}
    return [_meaning(value) for value in answer] if isinstance(answer, list) else answer


@pytest.mark.parametrize("table", _TABLES.values(), ids=_TABLES)
async def test_a_bad_request_is_refused_in_the_words_of_kube_apiserver(
    cluster: Cluster, judge: Judge, table: Table, subtests: pytest.Subtests
) -> None:
    await cluster.define(cluster.definition(versions=[version(schema=structural(size={"type": "integer"}))]))
    await _seed(cluster)

    for row in table.rows:
        with subtests.test(f"{row['request']} {row.get('body', '')}"[:150]):
            answer = await _ask(cluster, judge.filled(row))
            if answer["code"] < 300 and not row["request"].startswith("GET"):
                await _seed_again(cluster)
            judge.judge(table, row, _meaning(answer))
