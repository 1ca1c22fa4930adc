"""The control plane fixtures of the pytest plugin, in a pytest of their own, with fake binaries."""

from __future__ import annotations

import pytest

from tests.testing.control_plane.fakes import Fake, write_fakes

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.real_time


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A project without other plugins, and with fake binaries."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(write_fakes(pytester.path / "bin")))
    pytester.makeini("[pytest]\nfilterwarnings = error\naddopts = --strict-markers -p dynkube_testing.pytest_plugin\n")
    return pytester


def run(project: pytest.Pytester, source: str) -> pytest.RunResult:
    project.makepyfile(source)
    return project.runpytest_subprocess("-q", "--basetemp", str(project.path / "tmp"))


def test_the_tests_of_a_session_share_one_control_plane(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
        seen = []

        def test_one(control_plane, control_plane_kubeconfig):
            assert control_plane.url in control_plane_kubeconfig.read_text()
            seen.append(control_plane.api_server.pid)

        def test_two(control_plane):
            assert seen == [control_plane.api_server.pid]
        """,
    )

    result.assert_outcomes(passed=2)
    assert not list(project.path.glob("tmp/**/*.log")), "without a failure no logs are kept"


def test_the_report_of_a_failed_test_names_the_logs_which_are_kept(project: pytest.Pytester) -> None:
    result = run(
        project,
        """
        def test_one(control_plane_kubeconfig):
            assert False

        def test_two(control_plane):
            control_plane.etcd.kill()
            assert False
        """,
    )

    result.assert_outcomes(failed=2)
    (log,) = project.path.glob("tmp/**/etcd.log")
    result.stdout.fnmatch_lines(["*-- control plane --*", f"<ServerProcess etcd: pid *; log {log}>"])
    result.stdout.fnmatch_lines([f"<ServerProcess etcd: ended killed by SIGKILL; log {log}>"])


def test_without_binaries_a_test_that_uses_the_fixture_fails_with_the_reason(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", "/nowhere")

    result = run(project, "def test_one(control_plane): pass\ndef test_two(): pass")

    result.assert_outcomes(errors=1, passed=1)
    result.stdout.fnmatch_lines(["the fixture control_plane failed to start: no kube-apiserver at /nowhere/*"])
    section, _, _ = result.stdout.str().partition("short test summary")  # the summary repeats it if $CI is set
    assert section.count("no kube-apiserver at /nowhere/") == 1
    assert "Traceback" not in result.stdout.str()


def test_the_log_of_a_server_that_does_not_start_is_kept(project: pytest.Pytester) -> None:
    write_fakes(project.path / "bin", etcd=Fake(prints="out of memory", exits=1))

    result = run(project, "def test_one(control_plane): pass")

    result.assert_outcomes(errors=1)
    (log,) = project.path.glob("tmp/**/etcd.log")
    result.stdout.fnmatch_lines([f"*etcd exited before it was ready, with exit code 1; *{log}:", "out of memory"])


def test_a_project_may_override_the_control_plane_fixture(project: pytest.Pytester) -> None:
    project.makeconftest(
        """
        import pytest
        from dynkube_testing import ControlPlane

        @pytest.fixture(scope="module")
        def control_plane(tmp_path_factory):
            folder = tmp_path_factory.mktemp("plane")
            with ControlPlane(etcd_flags={"quota-backend-bytes": 10}, folder=folder, keep=False) as plane:
                yield plane

        @pytest.fixture(scope="module")
        def control_plane_kubeconfig(control_plane, tmp_path_factory):
            return control_plane.write_kubeconfig(tmp_path_factory.mktemp("mine") / "kubeconfig")
        """
    )

    result = run(
        project,
        """
        def test_one(control_plane, control_plane_kubeconfig):
            assert "--quota-backend-bytes=10" in control_plane.etcd.command
            assert False
        """,
    )

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*-- control plane --*"])
