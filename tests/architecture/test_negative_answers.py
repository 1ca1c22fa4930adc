"""Each place that distinguishes a 404, 403, 401, 405 or 410 uses the evidence of the response, or has a reason."""

from __future__ import annotations

from collections import Counter

import pytest

from tools.negative_answers import entries, entry_text, places, places_of

FOUND = {place.identity: place for place in places()}
LISTED = {(entry["file"], entry["function"], entry["what"]): entry for entry in entries()}
HINT = "in tests/architecture/negative_answers.toml"


def test_every_place_is_in_the_table() -> None:
    missing = [entry_text(place) for identity, place in FOUND.items() if identity not in LISTED]

    assert not missing, (
        f"act on evidence_of() or proves_deletion() of dynkube.errors._evidence, or give a reason {HINT}; "
        "`python -m tools.negative_answers` prints:\n" + "\n".join(missing)
    )


def test_the_table_has_no_other_places() -> None:
    superfluous = [" ".join(identity) for identity in LISTED if identity not in FOUND]
    twice = [identity for identity, count in Counter(map(str, LISTED)).items() if count > 1]

    assert not superfluous + twice, f"delete these entries {HINT}"
    assert len(LISTED) == len(entries()), f"delete entries that are listed twice {HINT}"


@pytest.mark.parametrize("identity", LISTED, ids=" ".join)
def test_an_entry_has_evidence_that_its_function_uses_or_a_reason(identity: tuple[str, str, str]) -> None:
    entry = LISTED[identity]

    assert len({"evidence", "reason"} & set(entry)) == 1, f"give either `evidence = true` or a reason {HINT}"
    if "evidence" in entry:
        place = FOUND.get(identity)
        assert entry["evidence"] is True
        assert place is None or place.evidence, "the function uses nothing of dynkube.errors._evidence"


def test_every_reason_is_a_sentence() -> None:
    unexplained = [" ".join(each) for each, entry in LISTED.items() if not entry.get("reason", "-.").endswith(".")]

    assert not unexplained, f"replace TODO by one sentence {HINT}, or use dynkube.errors._evidence there"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("try: g()\n    except (Conflict, NotFound): pass", "except NotFound"),
        ("try: g()\n    except errors.Forbidden: pass", "except Forbidden"),
        ("try: g()\n    except NONE: pass", "except NONE"),
        ("return isinstance(exc, Gone | NotFound)", "isinstance Gone, NotFound"),
        ("return exc.code == 404", "compare code 404"),
        ("return exc.status.reason in {'Forbidden', 'Other'}", "compare reason Forbidden"),
        ("return type(exc) is NotFound", "compare type NotFound"),
        ("with suppress(NotFound): g()", "suppress NotFound"),
        ("match exc:\n        case NotFound(): pass", "case NotFound"),
    ],
)
def test_a_place_is_found_in_each_form(line: str, what: str) -> None:
    source = f"NONE = (Forbidden, NotFound)\ndef f(exc):\n    {line}\n"

    assert [(place.function, place.what, place.evidence) for place in places_of("x.py", source)] == [("f", what, False)]


def test_a_second_place_in_a_function_is_another_one() -> None:
    source = "def f(a, b):\n    return isinstance(a, NotFound) or isinstance(b, NotFound)\n"

    assert [place.what for place in places_of("x.py", source)] == ["isinstance NotFound", "isinstance NotFound #2"]
