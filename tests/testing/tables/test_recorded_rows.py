"""Tables of kube-apiserver 1.36: columns, cells and conditions.

A document of ``recorded/builtin.yaml`` has an object as that server stored it, the columns as
``name|type|format|priority``, the cells and conditions of its row, and the time of the response.
``recorded/custom.yaml`` begins with the columns of a CRD; each following document has an object and its cells.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from dynkube.meta import GVR
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._tables.ages import Ages
from dynkube_testing._tables.catalog import printer_for
from dynkube_testing._tables.columns import Printer
from dynkube_testing._tables.custom import custom_printer
from dynkube_testing._tables.fields import Fields
from tests.recorded_cases import load_cases

RECORDED = Path(__file__).parent / "recorded"


def columns(printer: Printer) -> list[str]:
    return [f"{each.name}|{each.type}|{each.format}|{each.priority}" for each in printer.columns]


BUILTIN = tuple(load_cases(RECORDED / "builtin.yaml"))
CUSTOM, *CUSTOM_ROWS = load_cases(RECORDED / "custom.yaml")


def builtin_printer(case: dict[str, Any]) -> Printer:
    gvr = GVR.parse(f"{case['apiVersion']}/{case['resource']}")
    return printer_for(Kind(gvr=gvr, kind=case["object"]["kind"], namespaced=True))


def title(case: dict[str, Any]) -> str:
    return f"{case['object']['kind']}-{case['object']['metadata']['name']}"


@pytest.mark.parametrize("case", BUILTIN, ids=title)
def test_the_row_of_a_built_in_object_is_that_of_a_real_server(case: dict[str, Any]) -> None:
    printer, obj = builtin_printer(case), Fields(case["object"])

    assert columns(printer) == case["columns"]
    assert list(printer.cells(obj, Ages(datetime.fromisoformat(case["now"])))) == case["cells"]
    found = [{key: text for key, text in each.items() if key != "message"} for each in printer.conditions(obj)]
    assert found == case["conditions"]


def test_the_columns_of_a_crd_are_those_of_a_real_server() -> None:
    assert columns(custom_printer(CUSTOM["printerColumns"])) == CUSTOM["columns"]


@pytest.mark.parametrize("case", CUSTOM_ROWS, ids=title)
def test_the_row_of_a_custom_object_is_that_of_a_real_server(case: dict[str, Any]) -> None:
    printer = custom_printer(CUSTOM["printerColumns"])

    cells = printer.cells(Fields(case["object"]), Ages(datetime.fromisoformat(CUSTOM["now"])))

    assert list(cells) == case["cells"]


def test_every_column_has_a_description() -> None:
    described = [bool(each.description) for case in BUILTIN for each in builtin_printer(case).columns]

    assert all(described)


@pytest.mark.parametrize("case", BUILTIN, ids=title)
def test_malformed_objects_have_a_row_too(case: dict[str, Any]) -> None:
    printer, ages = builtin_printer(case), Ages(datetime.fromisoformat(case["now"]))

    for junk in (None, 1, "x", [], {}, [1], {"x": 1}):
        for obj in (dict.fromkeys(case["object"], junk), spoil(case["object"], junk)):
            assert len(printer.cells(Fields(obj), ages)) == len(case["cells"])


def spoil(value: object, junk: object) -> object:
    """Return ``value`` with all values except objects and lists replaced by ``junk``."""
    match value:
        case dict():
            return {key: spoil(child, junk) for key, child in value.items()}
        case list():
            return [spoil(child, junk) for child in value]
    return junk
