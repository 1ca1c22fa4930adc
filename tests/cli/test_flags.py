"""Errors on the command line name flags, never parameters of Python functions."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import trio

import dynkube
from dynkube import connect
from dynkube.cli import main
from dynkube.cli._flags import in_flags
from dynkube.cli._owners import run_owners
from dynkube.cli._run import exit_code
from dynkube.cli._watch import Query, run_watch
from dynkube.errors import DynkubeError
from dynkube.rest import Limits
from dynkube_testing import APIServer, Refuse
from tests.informers.kit import namespace

PYTHON = re.compile(r"\b[a-z_]+=(?!\d)|\w\(\)|\(None\)|\b(True|False)\b")
OWNERS = ["owners", "cm", "a"]
OFFLINE = ["--url", "http://127.0.0.1:1"]


@pytest.fixture(autouse=True)
def no_cluster(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No kubeconfig, and not running in a pod."""
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "none"))
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*OWNERS], "pass --kubeconfig or --url"),
        ([*OWNERS, "--context", "c"], "error: context 'c' not found"),
        ([*OWNERS, "--kubeconfig", "/no/such"], "check the path given as --kubeconfig"),
        ([*OWNERS, "--kubeconfig", "x" * 5000], "error: --kubeconfig is not a valid path (File name too long): pass"),
        ([*OWNERS, "--url", "nowhere"], "error: --url: server 'nowhere' is not a valid URL"),
        ([*OWNERS, *OFFLINE, "--token", ""], "error: --token is empty"),
        ([*OWNERS, *OFFLINE, "--token", "a b"], "error: --token is not a valid bearer token"),
        ([*OWNERS, *OFFLINE, "-n", ""], "error: -n is empty: pass the name of a namespace, or leave it out for"),
        ([*OWNERS, *OFFLINE, "-n", "*"], "error: -n '*' is not the name of a namespace"),
        ([*OWNERS, *OFFLINE, "--field", ".a["], "error: --field: invalid path"),
        (["apply", *OFFLINE, "-f", "https://h.invalid/a.yaml"], "error: -f 'https://h.invalid/a.yaml' is a URL"),
        (["apply", *OFFLINE, "-f", "x", "--take", ".a["], "error: --take: invalid path"),
        (["apply", *OFFLINE, "-f", "x", "--field-manager", ""], "error: --field-manager must be the name"),
        (["apply", *OFFLINE, "-f", "x", "--prune", "--applyset", "a/"], "error: --applyset: ApplySet 'a/' is neither"),
        (["apply", *OFFLINE, "-f", "x", "--prune", "--applyset", "a", "--tooling", "b"], "error: --tooling: ApplySet"),
        (["serve", "--accept-hosts", "("], "error: --accept-hosts has '('"),
        (["serve", "--host", "h.invalid"], "error: --host 'h.invalid' is not an address of this machine"),
    ],
)
def test_an_invalid_option_is_named_as_a_flag(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 1

    err = capsys.readouterr().err
    assert message in err
    assert not PYTHON.search(err)


def test_a_kubeconfig_without_a_current_context_suggests_the_flag(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "config"
    path.write_text('{"contexts": [{"name": "c", "context": {}}]}')

    assert main([*OWNERS, "--kubeconfig", str(path)]) == 1

    assert "has no current-context: pass --context or run" in capsys.readouterr().err


@pytest.mark.filterwarnings("default::dynkube.config.InsecureTLSWarning")
def test_a_certificate_that_is_not_verified_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    main([*OWNERS, "--url", "https://127.0.0.1:1", "--insecure"])

    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(
        "warning: the certificate of https://127.0.0.1:1 is not verified (insecure-skip-tls-verify "
    )
    assert "or --insecure)" in first
    assert first.endswith("(--url)")
    assert second.endswith("(server from --url)")
    assert not PYTHON.search(first + second)


@pytest.mark.real_time
async def test_the_error_for_an_untrusted_certificate_names_no_parameter(
    server: APIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    async with server.serve(tls=True) as endpoint:
        await trio.to_thread.run_sync(main, [*OWNERS, "--url", endpoint.url])

    err = capsys.readouterr().err
    assert "(certificate-authority-data of a kubeconfig)" in err
    assert not PYTHON.search(err)


async def test_the_error_for_a_namespace_of_a_cluster_scoped_resource_names_the_flag(
    server: APIServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(DynkubeError) as caught:
        await run_owners(connect(transport=server.transport()), "node", "x", namespace="shop")

    exit_code(caught.value)
    assert capsys.readouterr().err.endswith("nodes.v1 are cluster-scoped and have no namespace: leave -n out\n")


@pytest.mark.parametrize(
    ("query", "limits", "message"),
    [
        (Query(resource="nodes.v1", namespace="shop"), Limits(), "nodes.v1 is cluster-scoped: leave -n out"),
        (Query(resource="namespaces.v1"), Limits(max_response_bytes=500), "narrow it with -n, -l or --field"),
    ],
)
async def test_reasons_of_states_of_watch_name_flags(
    server: APIServer, capfd: pytest.CaptureFixture[str], query: Query, limits: Limits, message: str
) -> None:
    server.create(namespace("a" * 60))

    with trio.move_on_after(60):
        await run_watch(connect(transport=server.transport(), limits=limits), query, "table")

    out = capfd.readouterr().out
    assert message in out
    assert not PYTHON.search(out)


async def test_the_error_for_an_endless_list_suggests_flags(server: APIServer) -> None:
    async with connect(transport=server.transport(), limits=Limits(max_list_pages=1)) as client:
        with pytest.raises(DynkubeError) as caught:
            await client.resource("namespaces").list(page_size=1)

    assert in_flags(str(caught.value)).endswith("(Limits.max_list_pages); narrow it with -n, -l or --field")


async def test_the_error_for_a_response_that_is_not_an_object_suggests_no_method(server: APIServer) -> None:
    server.inject(Refuse(200, body="hello", content_type="text/plain"), resource="configmaps", verb="get")

    with pytest.raises(DynkubeError, match=r"client\.raw\(\) accepts any response") as caught:
        await run_owners(connect(transport=server.transport()), "cm", "a")

    assert "client.raw" not in in_flags(str(caught.value))
    assert "instead of an object: " in in_flags(str(caught.value))


@pytest.mark.parametrize(
    ("module", "phrase", "flags"),
    [
        ("config/_exec.py", ": log in manually first, or raise exec_timeout=", ": log in manually first"),
        ("client/_list_limits.py", "is broken; page_size=None requests one response", "is broken"),
        ("client/_objects.py", "but the call has namespace=", "but -n is "),
        (
            "client/_objects.py",
            "the context has no namespace: pass namespace=",
            "the context has no namespace: pass -n",
        ),
        ("manifests/_manifest.py", "source has no objects, so all members of", "-f has no objects, so all members of"),
        (
            "workloads/_rollout.py",
            "and would not be restarted: call resume() first",
            "and would not be restarted: run 'dynkube rollout resume' first",
        ),
        ("workloads/_rollout.py", ": use client.rollout() with what it owns, ", ": use what it owns, "),
        (
            "workloads/_pod_verdicts.py",
            "managed by a DaemonSet: pass ignore_daemonsets=True to leave",
            "managed by a DaemonSet: pass --ignore-daemonsets to leave",
        ),
        (
            "workloads/_pod_verdicts.py",
            "pass delete_emptydir_data=True to delete it",
            "pass --delete-emptydir-data to delete it",
        ),
        (
            "workloads/_pod_verdicts.py",
            "that would create it again: pass force=True to delete it",
            "that would create it again: pass --force to delete it",
        ),
        ("manifests/_applyset.py", "or pass that as the tooling to share it", "or pass that as --tooling to share it"),
    ],
)
def test_phrases_in_messages_that_are_hard_to_provoke_exist_in_the_library(
    module: str, phrase: str, flags: str
) -> None:
    source = Path(dynkube.__file__).parent / module

    assert phrase in source.read_text(encoding="utf-8")
    assert in_flags(phrase) == flags


@pytest.mark.parametrize("text", ["", "admission webhook denied: set namespace=shop", "leave namespaces out", "x\n  ^"])
def test_other_text_is_unchanged(text: str) -> None:
    assert in_flags(text) == text
