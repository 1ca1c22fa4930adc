"""JSON patches need a package of the ``serve`` extra, and say so where it is missing."""

from __future__ import annotations

import sys

import pytest

from dynkube.testing._calls.api import JSON_PATCH, Call
from dynkube.testing._kinds.builtin import builtin_kinds
from dynkube.testing._patching.transforms import patched


def test_without_the_extra_a_json_patch_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonpatch", None)
    kind = next(kind for kind in builtin_kinds() if kind.kind == "ConfigMap")
    call = Call(verb="patch", kind=kind, name="a", content_type=JSON_PATCH, body=[])

    with pytest.raises(ImportError, match=r"pip install 'dynkube\[serve\]'"):
        patched({"data": {}}, call)
