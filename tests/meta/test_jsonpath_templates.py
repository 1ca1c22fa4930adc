"""JSONPath templates print as kubectl does."""

import pytest

from dynkube.meta import JSONPathTemplate

PODS = {
    "kind": "List",
    "items": [
        {"metadata": {"name": "a"}, "ready": True, "ports": [80, 443]},
        {"metadata": {"name": "b"}, "ready": None, "ports": []},
    ],
}


@pytest.mark.parametrize(
    ("template", "printed"),
    [
        ("", ""),
        ("no braces: .kind", "no braces: .kind"),
        ("{.kind}: {.items[*].metadata.name}!", "List: a b!"),
        ("{.nope}|{.items[*].nope}", "|"),
        ("{.items[*].ready}", "true null"),
        ("{.items[0].metadata}{.items[*].ports}", '{"name":"a"}[80,443] []'),
        (r'{range .items[*]}{.metadata.name}{"\t"}{.ready}{"\n"}{end}', "a\ttrue\nb\tnull\n"),
        ("{range .items[*]}{.metadata.name}:{range .ports[*]} {@}{end};{end}.", "a: 80 443;b:;."),
        ("{range .items[*]}{$.metadata.name}{end}", "ab"),
        ("{range .nope[*]}{.x}text{end}after", "after"),
        ("{range .items[*]}{.metadata.name}, ", "a, b, "),
        ("{'quoted'}{1}{2.50}{true}{false}", "quoted12.5truefalse"),
        ('{.items[?(@.metadata.name=="b" || @.nope)].metadata.name}', "b"),
        ("{.items[9].metadata.name}", ""),
    ],
)
def test_a_template_is_rendered(template: str, printed: str) -> None:
    assert JSONPathTemplate.compile(template).render(PODS) == printed


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
        (2**63 - 1, "9223372036854775807"),
        (2**63, "9.223372036854776e+18"),
        (-(2**63), "-9223372036854775808"),
        ({"b": 2**63, "a": (1, "<é>")}, '{"a":[1,"\\u003cé\\u003e"],"b":9223372036854776000}'),
    ],
)
def test_numbers_are_printed_as_in_go(value: object, printed: str) -> None:
    assert JSONPathTemplate.compile("{$.x}").render({"x": value}) == printed


def test_templates_are_values_and_are_cached() -> None:
    template = JSONPathTemplate.compile("{.kind}")

    assert JSONPathTemplate.compile("{.kind}") is template
    assert JSONPathTemplate.compile("{.kind}", strict=True) != template
    assert str(template) == "{.kind}"
