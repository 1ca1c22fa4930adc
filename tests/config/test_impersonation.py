"""Impersonation headers, as the API server reads them."""

from __future__ import annotations

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynkube.config import Impersonation
from dynkube.errors import ConfigError


def test_each_group_and_extra_value_has_its_own_header() -> None:
    impersonation = Impersonation(user="jane", uid="42", groups=["dev", "ops"], extra={"scopes": ["a", "b"]})

    assert impersonation.headers() == (
        ("Impersonate-User", "jane"),
        ("Impersonate-Uid", "42"),
        ("Impersonate-Group", "dev"),
        ("Impersonate-Group", "ops"),
        ("Impersonate-Extra-scopes", "a"),
        ("Impersonate-Extra-scopes", "b"),
    )


def test_an_extra_key_with_a_slash_is_escaped() -> None:
    impersonation = Impersonation(user="jane", extra={"acme.com/project%": ["x"]})

    assert impersonation.headers()[1] == ("Impersonate-Extra-acme.com%2Fproject%25", "x")


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=1))
def test_any_extra_key_survives_escaping(key: str) -> None:
    name, _ = Impersonation(user="jane", extra={key: ["x"]}).headers()[1]

    assert name.isascii()
    assert not set(name) & set(' \t\r\n:/()<>@,;\\"[]?={}')
    assert unquote(name.removeprefix("Impersonate-Extra-")) == key


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"user": ""}, "requires a user"),
        ({"user": "jane", "groups": "dev"}, "lists of strings"),
        ({"user": "jane", "extra": {"k": "v"}}, "lists of strings"),
        ({"user": "jane\r\nX-Evil: 1"}, "Impersonate-User must be a string without line breaks"),
    ],
)
def test_an_invalid_impersonation_is_rejected(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Impersonation(**fields)  # type: ignore[arg-type]  # the mistake under test
