"""The embedded server's fixtures of the pytest plugin, in a pytest of their own."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.real_time

CONFTEST = """
import pytest

@pytest.fixture
def anyio_backend(virtual_time_backend):
    return virtual_time_backend
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project with only the conftest of the documentation."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    pytester.makeconftest(CONFTEST)
    pytester.makeini("[pytest]\nfilterwarnings = error\naddopts = --strict-markers\n")
    return pytester


def run(project: pytest.Pytester, source: str, *plugins: str) -> pytest.RunResult:
    project.makepyfile(source)
    arguments = [option for plugin in ("dynkube_testing.pytest_plugin", *plugins) for option in ("-p", plugin)]
    return project.runpytest_subprocess("-q", *arguments)


def test_an_async_test_has_a_server_and_a_client_in_virtual_time(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
        import pytest, trio
        pytestmark = pytest.mark.anyio

        async def test_one(api_server, kube_client):
            api_server.create("apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: a}")
            assert (await kube_client.resource("configmaps").get("a")).name == "a"
            await trio.sleep(36_000)

        async def test_two(api_server):
            assert api_server.list("configmaps") == [], "each test has its own server"
        """,
        "anyio",
    )

    result.assert_outcomes(passed=2)


def test_a_synchronous_test_has_a_server_on_tcp_and_a_kubeconfig(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
        import httpx2, yaml

        def test_one(served_api_server, api_server_kubeconfig):
            served_api_server.create("apiVersion: v1\\nkind: ConfigMap\\nmetadata: {name: a}")
            server = yaml.safe_load(api_server_kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
            assert len(httpx2.get(f"{server}/api/v1/configmaps").json()["items"]) == 1
        """,
    )

    result.assert_outcomes(passed=1)


def test_markers_set_options_and_the_closest_marker_takes_precedence(project: pytest.Pytester) -> None:
    project.makefile(".yaml", seed="apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    result = run(
        project,
        """
        import httpx2, pytest
        pytestmark = pytest.mark.api_server(version="v1.30.0", load="seed.yaml")

        @pytest.mark.api_server(version="v1.31.0")
        def test_one(served_api_server):
            assert httpx2.get(f"{served_api_server.url}/version").json()["gitVersion"] == "v1.31.0"
            assert len(served_api_server.list("configmaps")) == 1

        @pytest.mark.api_server(tls=True, load=["apiVersion: v1\\nkind: Secret\\nmetadata: {name: s}"])
        def test_two(served_api_server):
            assert served_api_server.url.startswith("https://")
            assert len(served_api_server.list("secrets")) == 1
        """,
    )

    result.assert_outcomes(passed=2)


@pytest.mark.parametrize(
    ("marker", "message"),
    [
        ("api_server(lod='x')", "the marker api_server has no option 'lod'; did you mean load?"),
        ("api_server(zzz=1)", "the marker api_server has no option 'zzz'; available options: "),
        ("api_server('seed.yaml')", "the marker api_server accepts only keyword arguments, not 'seed.yaml'"),
        ("api_server(history=0)", "history is 0: pass a positive number of changes"),
    ],
)
def test_invalid_options_of_the_marker_are_named(project: pytest.Pytester, marker: str, message: str) -> None:
    result = run(project, f"import pytest\n@pytest.mark.{marker}\ndef test_it(served_api_server): pass\n")

    result.assert_outcomes(errors=1)
    assert message in result.stdout.str()


def test_on_asyncio_the_error_says_how_to_run_on_trio(project: pytest.Pytester) -> None:
    project.makeconftest(CONFTEST.replace("return virtual_time_backend", "return 'asyncio'"))

    result = run(project, "import pytest\n@pytest.mark.anyio\nasync def test_it(api_server): pass\n", "anyio")

    result.assert_outcomes(errors=1)
    assert "run on trio: let the fixture anyio_backend return 'trio'" in result.stdout.str()


def test_the_marker_and_the_fixtures_are_documented(project: pytest.Pytester) -> None:
    markers = project.runpytest_subprocess("-p", "dynkube_testing.pytest_plugin", "--markers").stdout.str()
    fixtures = project.runpytest_subprocess("-p", "dynkube_testing.pytest_plugin", "--fixtures").stdout.str()

    assert "@pytest.mark.api_server(*, load=None, tls=False, **options): options of the fixtures" in markers
    for name in ("virtual_time_backend", "api_server", "kube_client", "served_api_server", "api_server_kubeconfig"):
        assert f"\n{name} -- " in fixtures


def test_loading_the_plugin_imports_no_other_module() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules); import dynkube_testing.pytest_plugin; "
        "print(*(set(sys.modules) - before))"
    )

    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)

    assert set(done.stdout.split()) == {"dynkube_testing", "dynkube_testing.pytest_plugin", "lazy_loader"}
