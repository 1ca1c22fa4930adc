"""The arguments of ``dynkube watch`` are validated before anything is started."""

from __future__ import annotations

import pytest

from dynkube import JSONPathFilter
from dynkube.cli import main
from dynkube.cli._watch import read_filter, read_query
from dynkube.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "path", "equals"),
    [
        ("{.spec.suspend}", "{.spec.suspend}", None),
        (".spec.suspend", ".spec.suspend", None),
        ("{.spec.x}=value", "{.spec.x}", "value"),
        ("{.spec.x}=", "{.spec.x}", ""),
        ("{.spec.x}=a=b", "{.spec.x}", "a=b"),
        ('{.spec.x}={"a":1}', "{.spec.x}", '{"a":1}'),
        (".spec.x=value", ".spec.x", "value"),
        ('{.a[?(@.b=="c")]}', '{.a[?(@.b=="c")]}', None),
        ('{.a[?(@.b=="c")].d}=e', '{.a[?(@.b=="c")].d}', "e"),
    ],
)
def test_a_filter_is_a_path_or_a_path_and_a_value(text: str, path: str, equals: str | None) -> None:
    assert read_filter(text) == JSONPathFilter(path, equals=equals)


@pytest.mark.parametrize("text", ["", "{.a", "{.a=b", "{.a[?(@.b==]}"])
def test_the_error_for_an_invalid_filter_names_the_option(text: str) -> None:
    with pytest.raises(InvalidInput, match=r"^--filter: "):
        read_filter(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pods.v1", "-l", "a=("], "error: -l: label selector 'a=('"),
        (["pods.v1", "--field", "a"], "error: --field: "),
        (["pods.v1", "--filter", "{.a"], "error: --filter: JSONPath: expected '}'"),
        (["pods.v1", "-n", ""], "error: -n is empty"),
        (["pods.v1", "-n", "a", "-A"], "error: -n and -A are mutually exclusive"),
        (["a..b"], "error: resource 'a..b'"),
        ([""], "error: resource is empty"),
        (["pods.v1", "--token", "t"], "error: --token requires --url: "),
        (["pods.v1", "--insecure"], "error: --insecure requires --url: "),
        (
            ["pods.v1", "--url", "http://h.invalid", "--context", "c"],
            "error: --url and --context are mutually exclusive",
        ),
        (["pods.v1", "-n", "*"], "error: -n '*' is not the name of a namespace"),
        (["pods.v1", "--url", "http://h.invalid", "--kubeconfig", "/x"], "error: --url and --kubeconfig are mutually"),
        (["pods.v1", "--kubeconfig", "/no/such/file"], "error: kubeconfig /no/such/file does not exist"),
    ],
)
def test_invalid_arguments_are_one_error_that_names_them(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["watch", *arguments]) == 1

    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert err.count("error: ") == 1


def test_a_query_has_the_arguments_unchanged() -> None:
    query = read_query("pods", namespace="shop", selector="a=b", field="metadata.name=x", filter_text="{.spec.x}=1")

    assert (query.resource, query.namespace) == ("pods", "shop")
    assert (query.label_selector, query.field_selector) == ("a=b", "metadata.name=x")
    assert query.filter == JSONPathFilter("{.spec.x}", equals="1")
