"""Names that ``dynkube`` exports, and lazy loading: importing it loads nothing until a name is used."""

from __future__ import annotations

import importlib
import importlib.metadata
import subprocess
import sys

import pytest

import dynkube
import dynkube_testing


def test_the_name_of_each_error_class_is_the_name_it_is_imported_by() -> None:
    errors = dynkube.errors
    named = {name: value for name in errors.__all__ if isinstance(value := getattr(errors, name), type)}

    assert {value.__module__ for value in named.values()} == {"dynkube.errors"}
    assert {name for name, value in named.items() if value.__name__ != name} == set()


def test_each_name_of_the_stub_can_be_imported() -> None:
    names = importlib.import_module("dynkube").__all__

    assert dir(dynkube) == sorted(names)
    assert all(getattr(dynkube, name) is not None for name in names)


def test_an_unknown_name_raises_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        dynkube.nothing  # type: ignore[attr-defined]  # noqa: B018


def loaded_by(statement: str) -> set[str]:
    """Return the modules that ``statement`` loads in a new interpreter."""
    code = f"import sys; before = set(sys.modules); {statement}; print(*(set(sys.modules) - before))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_importing_dynkube_loads_no_submodules_or_dependencies() -> None:
    loaded = loaded_by("import dynkube")

    assert {name for name in loaded if name.startswith("dynkube")} == {"dynkube"}
    assert loaded.isdisjoint({"trio", "httpx2", "msgspec", "kubernetes", "IPython"})


HEAVY = ["kubernetes", "IPython", "asyncio", "rich", "cyclopts", "h11", "jsonpath_ng", "yaml"]
HEAVY += ["prometheus_client", "opentelemetry", "pandas", "polars"]


@pytest.mark.parametrize("heavy", HEAVY)
def test_connecting_and_informers_load_no_heavy_package(heavy: str) -> None:
    loaded = loaded_by("from dynkube import connect, LabelFilter, Unstructured; connect(url='https://x.invalid')")

    assert "dynkube.informers" in loaded
    assert heavy not in loaded
    assert "dynkube_testing" not in loaded


FIRST_REQUEST = """
import sys, trio
from dynkube import GVR, DynkubeError, connect

async def main():
    async with connect(url="http://127.0.0.1:9") as client:
        entered = set(sys.modules)
        try:
            await client.get(GVR("", "v1", "pods"), "web", namespace="shop")
        except DynkubeError:
            print(*{name.partition(".")[0] for name in set(sys.modules) - entered}, "done")

trio.run(main)
"""


@pytest.mark.real_time
def test_the_first_request_of_a_client_imports_no_http_library() -> None:
    done = subprocess.run([sys.executable, "-c", FIRST_REQUEST], check=True, capture_output=True, text=True)

    assert "done" in done.stdout.split()
    assert {"httpx2", "httpcore2", "h11", "anyio", "ssl"}.isdisjoint(done.stdout.split())


def test_the_names_of_the_embedded_server_are_also_those_of_dynkube_testing() -> None:
    other, names = importlib.import_module("dynkube.testing"), dir(dynkube_testing)

    assert {name for name in names if getattr(other, name) is not getattr(dynkube_testing, name)} == set()


def test_without_the_embedded_server_the_error_says_how_to_install_it() -> None:
    code = "import sys; sys.modules['dynkube_testing'] = None; import dynkube.testing"

    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)

    assert "dynkube.testing requires the distribution dynkube-testing: pip install 'dynkube[testing]'" in done.stderr


def test_version_is_that_of_the_installed_distribution() -> None:
    assert dynkube.__version__ == importlib.metadata.version("dynkube")
