"""What objects of built-in kinds look like after they were created, as recorded from a kube-apiserver 1.36."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest

RECORDED = json.loads(Path(__file__).with_name("creates_1_36.json").read_text())
_UID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_SHOWN = ("generation", "labels", "finalizers", "annotations")


def collection(case: dict[str, Any], namespaced: set[str]) -> str:
    base = "/api/v1" if case["apiVersion"] == "v1" else f"/apis/{case['apiVersion']}"
    return (
        f"{base}/namespaces/default/{case['resource']}"
        if case["resource"] in namespaced
        else f"{base}/{case['resource']}"
    )


def shown(obj: dict[str, Any]) -> dict[str, Any]:
    """``obj`` without identity, and with what differs from one server to the next under a common name."""
    metadata = {key: obj["metadata"][key] for key in _SHOWN if key in obj["metadata"]}
    content = {key: value for key, value in obj.items() if key not in {"apiVersion", "kind", "metadata"}}
    text = _UID.sub("UID", json.dumps({"metadata": metadata, "content": content}))
    text = re.sub(r'"10\.(96|97|98|99|1\d\d)\.\d+\.\d+"', '"ADDRESS"', text)
    decoded: dict[str, Any] = json.loads(re.sub(r'("lastPhaseTransitionTime": ")[^"]*', r"\1TIME", text))
    return decoded


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["case"])
async def test_a_new_object_is_completed_as_by_the_real_server(
    client: httpx2.AsyncClient, case: dict[str, Any], namespaced: set[str]
) -> None:
    answer = await client.post(collection(case, namespaced), json=case["body"])

    assert answer.status_code == 201, answer.json()["message"]
    assert shown(answer.json()) == {"metadata": case["metadata"], "content": case["result"]}
