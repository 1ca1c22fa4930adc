"""The marker ``perturb``, in a pytest of its own."""

from __future__ import annotations

import pytest

from tests.testing.plugin.test_fixtures import project, run

__all__ = ["project"]

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.real_time

PROGRAM = """
import pytest, trio
from dynkube.errors import DynkubeError

CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}}

async def careful(client):
    while True:
        try:
            await client.resource("configmaps").apply(CONFIG, field_manager="me")
            await trio.sleep_forever()
        except DynkubeError:
            await trio.sleep(1)

async def careless(client):
    try:
        await client.resource("configmaps").apply(CONFIG, field_manager="me")
    except DynkubeError:
        pass
    await trio.sleep_forever()
"""


@pytest.mark.parametrize("plugins", [(), ("anyio",)])
def test_an_async_test_is_a_scenario_with_fixtures_and_parameters(
    project: pytest.Pytester, plugins: tuple[str, ...]
) -> None:
    result = run(
        project,
        PROGRAM
        + """
@pytest.fixture
def program(request):
    return {"careful": careful, "careless": careless}[request.param]

@pytest.mark.perturb(plans=6, families=["refuse"])
@pytest.mark.parametrize("program", ["careful", "careless"], indirect=True)
async def test_it_is_there_in_the_end(perturbed, program):
    perturbed.start(program)
    await perturbed.settle()

class TestInAClass:
    @pytest.mark.perturb(plans=1)
    async def test_it_too(self, perturbed):
        perturbed.start(careful)
        await perturbed.settle()
""",
        *plugins,
    )

    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["*configmaps default/a is missing*", "*timeline (seconds)*"])
    result.stdout.no_fnmatch_line("*perturb.py*")  # no traceback of the plugin


@pytest.mark.parametrize(
    ("test", "error"),
    [
        ("@pytest.mark.perturb(plans=1)\ndef test(perturbed): ...", "is for async tests with an argument 'perturbed'"),
        ("@pytest.mark.perturb(plans=1)\nasync def test(): ...", "is for async tests with an argument 'perturbed'"),
        ("@pytest.mark.perturb(5)\nasync def test(perturbed): ...", "accepts only keyword arguments, not 5"),
        ("def test(perturbed): ...", "is for async tests with @pytest.mark.perturb(plans=...)"),
        ("@pytest.mark.perturb(plan=1)\nasync def test(perturbed): ...", "unexpected keyword argument 'plan'"),
    ],
)
def test_a_marker_that_cannot_be_used_is_an_error(project: pytest.Pytester, test: str, error: str) -> None:
    result = run(project, "import pytest\n" + test)

    assert error in result.stdout.str() + result.stderr.str()
