"""YAML that is small and becomes large: in manifests, kubeconfigs and requests."""

from __future__ import annotations

from typing import Final

import dynkube
from benchmarks.bounds.trial import Case, Trial, outcome_of
from dynkube.testing import APIServer


async def _applied(trial: Trial, text: str) -> str:
    async with APIServer() as server, dynkube.connect(transport=server.transport()) as client:
        trial.give(len(text))
        try:
            result = f"applied {len(await client.apply_all(text))} objects"
        except dynkube.DynkubeError as error:
            result = outcome_of(error)
    return result


async def _aliases(trial: Trial) -> str:
    levels = "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9))
    text = f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: bomb, namespace: default}}\na0: &a0 [k]\n{levels}"
    return await _applied(trial, text)


CASES: Final[dict[str, Case]] = {"yaml: aliases of aliases in a manifest": _aliases}
