"""Sessions for several versions of Python and of dependencies.

``make matrix`` runs the tests on each Python that is installed, and ``make lowest`` with the lowest versions that
pyproject.toml allows for direct dependencies::

    nox -s tests -- tests/informers     arguments after -- go to pytest
"""

import nox

nox.options.default_venv_backend = "uv"
nox.options.sessions = ["tests"]
nox.options.error_on_missing_interpreters = False

PYPROJECT = nox.project.load_toml("pyproject.toml")
VERSIONS = nox.project.python_versions(PYPROJECT)


@nox.session(python=VERSIONS, venv_params=["--seed"])  # with pip, by which the control plane's tests get Go
def tests(session: nox.Session) -> None:
    """Run the tests with the newest dependencies."""
    _test(session)


@nox.session(python=VERSIONS[0], venv_params=["--seed"])
def lowest(session: nox.Session) -> None:
    """Run the tests with the lowest direct dependencies: those at runtime, and those of the tests."""
    _test(session, "--resolution", "lowest-direct")


def _test(session: nox.Session, *options: str) -> None:
    session.install(*options, "--editable", ".", "--editable", "./dynkube-testing", "--group", "test")
    session.run("python", "-m", "pytest", "-n", "auto", *(session.posargs or ["-q"]))
