"""Label selectors: the objects that each form selects, and the errors of invalid ones."""

from __future__ import annotations

import pytest

from dynkube.errors import BadRequest
from tests.contract.cluster import Cluster
from tests.contract.objects import config

_KEY = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric "
    "character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_VALUE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)


@pytest.fixture
async def labelled(cluster: Cluster) -> Cluster:
    for name, labels in (
        ("a", {"tier": "fe", "n": "5"}),
        ("b", {"tier": "be", "n": "x"}),
        ("c", {"example.com/t": "v", "n": "20"}),
        ("d", {"tier": ""}),
        ("e", {}),
        ("f", {"m": str(2**63 - 1)}),
        ("g", {"m": str(2**63)}),
        ("h", {"m": f"{'0' * 40}7"}),
    ):
        await cluster.create("configmaps", config(name, labels=labels))
    return cluster


@pytest.mark.parametrize(
    ("selector", "names"),
    [
        ("tier=fe", "a"),
        ("tier==fe", "a"),
        (" tier = fe ", "a"),
        ("tier!=fe", "bcdefgh"),
        ("tier=", "d"),
        ("tier!=", "abcefgh"),
        ("tier in (fe,be)", "ab"),
        ("tier in ( fe , be )", "ab"),
        ("tier in (fe,)", "ad"),
        ("tier in (,)", "d"),
        ("tier notin (fe)", "bcdefgh"),
        ("tier notin (fe,)", "bcefgh"),
        ("tier", "abd"),
        ("!tier", "cefgh"),
        ("! tier", "cefgh"),
        ("m>4", "fh"),
        ("m<9223372036854775807", "h"),
        (f"m>{'0' * 40}6", "fh"),
        ("n>4", "ac"),
        ("n>5", "c"),
        ("n < 20", "a"),
        ("n>4,n<20", "a"),
        ("tier,n", "ab"),
        ("tier=fe,tier=be", ""),
        ("example.com/t=v", "c"),
        ("example.com/t in (v,w),n!=1", "c"),
        ("in", ""),
        ("notin notin (x)", "abcdefgh"),
        (" ", "abcdefgh"),
    ],
)
async def test_a_selector_selects_these_objects(labelled: Cluster, selector: str, names: str) -> None:
    assert "".join(await labelled.names("configmaps", labelSelector=selector)) == names


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("tier=fe=be", "found '=', expected: ',' or 'end of string'"),
        ("tier=fe be", "found 'be', expected: ',' or 'end of string'"),
        ("tier=fe,", "found '', expected: identifier after ','"),
        ("tier=fe,,n", "found ',', expected: identifier after ','"),
        (",tier=fe", "found ',', expected: !, identifier, or 'end of string'"),
        ("=a", "found '=', expected: !, identifier, or 'end of string'"),
        ("(", "found '(', expected: !, identifier, or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("tier in fe", "unable to parse requirement: found 'fe' expected: '('"),
        ("tier in (fe", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("tier in (fe be)", "unable to parse requirement: found 'be', expected: ',' or ')'"),
        ("tier<>5", "unable to parse requirement: found '>', expected: identifier"),
        ("tier=(fe)", "unable to parse requirement: found '(', expected: identifier"),
    ],
)
async def test_an_invalid_selector_is_a_400(cluster: Cluster, selector: str, message: str) -> None:
    with pytest.raises(BadRequest) as caught:
        await cluster.list_of("configmaps", labelSelector=selector)

    assert caught.value.status.message == message


@pytest.mark.parametrize("selector", ["a b", "tier exists", "tier gt 5"])
async def test_words_other_than_in_and_notin_are_not_operators(cluster: Cluster, selector: str) -> None:
    with pytest.raises(BadRequest) as caught:
        await cluster.list_of("configmaps", labelSelector=selector)

    operators = "in, notin, =, ==, !=, gt, lt" if cluster.version >= (1, 22) else "'=', '!=', '==', 'in', notin'"
    word = selector.split()[1]
    assert caught.value.status.message == f"unable to parse requirement: found '{word}', expected: {operators}"


@pytest.mark.parametrize(
    ("selector", "key", "problem"),
    [
        ("-a=b", "-a", _KEY),
        ("x,_a", "_a", _KEY),
        ("\u00e4=b", "\u00e4", _KEY),
        ("/a=b", "/a", "prefix part must be non-empty"),
        ("a/=b", "a/", f"name part must be non-empty; {_KEY}"),
        ("A.com/a=b", "A.com/a", "prefix part a lowercase RFC 1123 subdomain must consist of"),
        ("a/b/c=d", "a/b/c", f"a valid label key {_KEY.removeprefix('name part ')} with an optional DNS subdomain"),
        (f"{'x' * 64}=b", "x" * 64, "name part must be no more than 63 bytes"),
        (f"{'x' * 254}/a=b", f"{'x' * 254}/a", "prefix part must be no more than 253 bytes"),
    ],
)
async def test_an_invalid_key_is_a_400(cluster: Cluster, selector: str, key: str, problem: str) -> None:
    with pytest.raises(BadRequest) as caught:
        await cluster.list_of("configmaps", labelSelector=selector)

    message = f'<nil>: Invalid value: "{key}"'
    if cluster.version < (1, 22):
        message = f'invalid label key "{key}"'
        problem = problem.replace("bytes", "characters").replace("a valid label key", "a qualified name")
    assert caught.value.status.message.startswith(f"unable to parse requirement: {message}: {problem}")


@pytest.mark.parametrize(
    ("selector", "key", "value", "problem"),
    [
        ("a=-b", "a", "-b", _VALUE),
        ("a in (\u00e4)", "a", "\u00e4", _VALUE),
        ("a=b;c", "a", "b;c", _VALUE),
        ("a=b\\,c", "a", "b\\\\", _VALUE),
        ("a>-1", "a", "-1", _VALUE),
        ("a<+1", "a", "+1", _VALUE),
        (f"a={'x' * 64}", "a", "x" * 64, "must be no more than 63 bytes"),
    ],
)
async def test_an_invalid_value_is_a_400(cluster: Cluster, selector: str, key: str, value: str, problem: str) -> None:
    with pytest.raises(BadRequest) as caught:
        await cluster.list_of("configmaps", labelSelector=selector)

    message = f'values[0][{key}]: Invalid value: "{value}"'
    if cluster.version < (1, 22):
        message, problem = f'invalid label value: "{value}": at key: "{key}"', problem.replace("bytes", "characters")
    assert caught.value.status.message == f"unable to parse requirement: {message}: {problem}"


@pytest.mark.parametrize("bound", ["x", "1.5", "99999999999999999999"])
async def test_only_integers_can_be_compared(cluster: Cluster, bound: str) -> None:
    with pytest.raises(BadRequest) as caught:
        await cluster.list_of("configmaps", labelSelector=f"n > {bound}")

    where = f'values[0]: Invalid value: "{bound}": ' if cluster.version >= (1, 22) else ""
    detail = "for 'Gt', 'Lt' operators, the value must be an integer"
    assert caught.value.status.message == f"unable to parse requirement: {where}{detail}"
