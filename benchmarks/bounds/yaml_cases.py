"""Cases: small YAML that expands to large data, and endless files, as manifests, kubeconfigs and requests."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Final

import httpx2
import trio

import dynkube
from benchmarks.bounds.trial import Case, Trial, outcome_of
from dynkube.config import load_config
from dynkube_testing import APIServer

_CONFIGMAP: Final = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: bomb, namespace: default}\n"
_WIDGET: Final = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\n"
_CONFIG: Final = "kind: Config\n"
_PRESERVING: Final[dict[str, Any]] = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_CRD: Final[dict[str, Any]] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.com"},
    "spec": {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": _PRESERVING}}],
    },
}
_WIDGETS: Final = "/apis/example.com/v1/namespaces/default/widgets"
_TIMEOUT: Final = 20.0  # seconds, for cases that can be cancelled


def _aliases(levels: int, times: int = 10, indent: str = "") -> str:
    lines = [f"{indent}a{i}: &a{i} [{','.join([f'*a{i - 1}'] * times)}]\n" for i in range(1, levels)]
    return f"{indent}a0: &a0 [k]\n{''.join(lines)}"


def _merges(levels: int) -> str:
    lines = [f"a{i}: &a{i} {{<<: [{','.join([f'*a{i - 1}'] * 10)}]}}\n" for i in range(1, levels)]
    return f"a0: &a0 {{k: v}}\n{''.join(lines)}"


async def _measured(trial: Trial, size: int, act: Callable[[], Awaitable[str]]) -> str:
    await trio.sleep(0.05)  # so that the preparations do not count as blocking of the event loop
    trial.start(size)
    result = f"cancelled after {_TIMEOUT:g} s"
    with trio.move_on_after(_TIMEOUT):
        try:
            result = await act()
        except (dynkube.DynkubeError, OSError, ValueError, RecursionError, MemoryError, SystemError) as error:
            result = outcome_of(error)
    return result


async def _applied(source: Any, size: int, trial: Trial) -> str:
    async with APIServer() as server, dynkube.connect(transport=server.transport()) as client:

        async def apply() -> str:
            report = await client.apply_all(source)
            errors = [outcome_of(entry.error) for entry in report if entry.error is not None]
            return "; ".join(errors) or f"applied {len(report)} objects"

        return await _measured(trial, size, apply)
    raise AssertionError("unreachable: nothing is suppressed")


async def _manifest(text: str, trial: Trial) -> str:
    return await _applied(text, len(text), trial)  # a str with a line break is taken as YAML, not as a path


async def _kubeconfig(text: str, trial: Trial) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "config")
        await trio.Path(path).write_text(text, encoding="utf-8")
        return await _measured(trial, len(text), partial(_load_config, path))
    raise AssertionError("unreachable: nothing is suppressed")


async def _load_config(path: Path) -> str:
    return f"read: {load_config(kubeconfig=path).server}"


async def _request(method: str, content_type: str, body: str, trial: Trial) -> str:
    async with APIServer() as server, httpx2.AsyncClient(transport=server.transport(), base_url="http://x") as client:
        server.create(_CRD)
        url = _WIDGETS if method == "POST" else f"{_WIDGETS}/w?fieldManager=bounds"

        async def send() -> str:
            headers = {"Content-Type": content_type}
            response = await client.request(method, url, content=body, headers=headers, timeout=None)
            return f"{response.status_code}: {' '.join(response.text.split())[:60]}"

        return await _measured(trial, len(body), send)
    raise AssertionError("unreachable: nothing is suppressed")


async def _loaded(source: Any, size: int, trial: Trial) -> str:
    async with APIServer() as server:
        server.create(_CRD)

        async def load() -> str:
            return f"loaded {len(server.load(source))} objects"

        return await _measured(trial, size, load)
    raise AssertionError("unreachable: nothing is suppressed")


def _fifo(case: Callable[[Path, Trial], Awaitable[str]]) -> Case:
    async def run(trial: Trial) -> str:
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(Path(folder, "fifo"))
            return await case(Path(folder, "fifo"), trial)

    return run


def _config_at(path: Path, trial: Trial) -> Awaitable[str]:
    return _measured(trial, 0, partial(_load_config, path))


def _within_itself() -> dict[str, Any]:
    obj: dict[str, Any] = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    obj["spec"] = obj
    return obj


def _sharing(levels: int) -> dict[str, Any]:
    spec: dict[str, Any] = {"k": "v"}
    for _ in range(levels):
        spec = dict.fromkeys("abcdefgh", spec)
    return {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": spec}


_YAML, _APPLY = "application/yaml", "application/apply-patch+yaml"
_SHARED = f"{_WIDGET}spec:\n{_aliases(10, 8, ' ')}"
_DEEP = "a: " + "[" * 990 + "1," * 1_000_000 + "]" * 990
_KEYS = ", ".join(f'"k{i}": 1' for i in range(60_000))

# 1,000 written values that expand to 90,000: go-yaml allows 99 % of the values to be repetitions.
_MOST = f"{_WIDGET}spec:\n a: &a [{'k,' * 1_000}]\n b: [{'*a,' * 90}]\n"

CASES: Final[dict[str, Case]] = {
    "yaml: aliases of aliases in a manifest": partial(_manifest, _CONFIGMAP + _aliases(9)),
    "yaml: aliases of aliases in a kubeconfig": partial(_kubeconfig, _CONFIG + _aliases(9)),
    "yaml: aliases of aliases in an apply": partial(_request, "PATCH", _APPLY, _WIDGET + _aliases(8)),
    "yaml: aliases of aliases in a create": partial(_request, "POST", _YAML, _WIDGET + _aliases(8)),
    "yaml: aliases of aliases into a preserving CRD, 10 levels": partial(_request, "POST", _YAML, _SHARED),
    "yaml: aliases of aliases into a preserving CRD, 9 levels": partial(
        _request, "POST", _YAML, f"{_WIDGET}spec:\n{_aliases(9, 12, ' ')}"
    ),
    "yaml: as many aliases as go-yaml allows in a create": partial(_request, "POST", _YAML, _MOST),
    "yaml: as many aliases as go-yaml allows in an apply": partial(_request, "PATCH", _APPLY, _MOST),
    "yaml: merge keys in a manifest": partial(_manifest, _CONFIGMAP + _merges(9)),
    "yaml: merge keys in a kubeconfig": partial(_kubeconfig, _CONFIG + _merges(9)),
    "yaml: merge keys in an apply": partial(_request, "PATCH", _APPLY, _WIDGET + _merges(9)),
    "yaml: merge keys in a create": partial(_request, "POST", _YAML, _WIDGET + _merges(9)),
    "yaml: merge keys loaded by the server": partial(_loaded, _CONFIGMAP + _merges(9), 600),
    "yaml: an anchor within itself in a create": partial(
        _request, "POST", _YAML, f"{_WIDGET}spec: &a {{b: [*a, *a]}}\n"
    ),
    "yaml: 300 kB repeated 500 times in a manifest": partial(
        _manifest, f"{_CONFIGMAP}a: &a {'x' * 300_000}\ndata: [{'*a, ' * 500}]\n"
    ),
    "yaml: a million values at a depth of 990": partial(_manifest, f"{_CONFIGMAP}{_DEEP}\n"),
    "yaml: a million mappings in a manifest": partial(_manifest, f"{_CONFIGMAP}a: [{'{a},' * 1_000_000}]\n"),
    "yaml: 60,000 directives in a manifest": partial(_manifest, "%a\n" * 60_000),
    "yaml: 60,000 keys of JSON and one repeated": partial(_manifest, f'{{{_KEYS}, "k59999": 1}}\n'),
    "yaml: a FIFO as manifest": _fifo(lambda path, trial: _applied(path, 0, trial)),
    "yaml: /dev/zero as manifest": partial(_applied, Path("/dev/zero"), 0),
    "yaml: a FIFO as kubeconfig": _fifo(_config_at),
    "yaml: /dev/zero as kubeconfig": partial(_config_at, Path("/dev/zero")),
    "yaml: a FIFO loaded by the server": _fifo(lambda path, trial: _loaded(path, 0, trial)),
    "yaml: a dict within itself, applied": lambda trial: _applied(_within_itself(), 0, trial),
    "yaml: a dict within itself, loaded by the server": lambda trial: _loaded(_within_itself(), 0, trial),
    "yaml: a dict that shares its parts, applied": lambda trial: _applied(_sharing(12), 0, trial),
    "yaml: a dict that shares its parts, loaded by the server": lambda trial: _loaded(_sharing(12), 0, trial),
    "yaml: JSON of 20,000 levels in a create": partial(_request, "POST", "application/json", '{"a":' * 20_000),
}
