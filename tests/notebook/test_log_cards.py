"""What a live log shows: HTML with escaped, sanitized and coloured lines, and text."""

from __future__ import annotations

from dynkube._text.colours import colour_of
from dynkube.cli._log_text import coloured
from dynkube.notebook._log_card import bundle_of, text_of
from dynkube.notebook._log_tail import LogPicture, LogState, LogTail
from dynkube.pods import LogLine
from tests.display.kit import Page

LIVE = LogState(title="log of shop/web · app", word="LIVE")


def written(text: str, pod: str = "web", namespace: str = "shop") -> LogLine:
    """Return a line of a container."""
    return LogLine(raw=text.encode(), pod=pod, namespace=namespace, container="app")


def shown(*lines: LogLine, state: LogState = LIVE, named: bool = False, most: int = 1000) -> LogPicture:
    """Return a snapshot of these lines."""
    tail = LogTail(most)
    tail.add(lines)
    return tail.picture(state, named=named)


def code(picture: LogPicture) -> list[str]:
    """Return the lines on the page."""
    nodes = [node for node in Page(bundle_of(picture)["text/html"]).elements if node.tag == "pre"]
    return nodes[-1].text().splitlines()


def test_lines_are_escaped_and_without_control_characters() -> None:
    picture = shown(written("\x1b[31mred\x1b[0m <b>bold</b> \x07\x1b[2J\u202e"))

    bundle = bundle_of(picture)

    assert code(picture) == ["red <b>bold</b> \ufffd\ufffd[2J\ufffd"]
    assert "<b>" not in bundle["text/html"]
    assert bundle["text/plain"].splitlines()[1] == "red <b>bold</b> \ufffd\ufffd[2J\ufffd"


def test_lines_of_several_pods_have_their_names_in_the_colours_of_the_command() -> None:
    picture = shown(written("one", pod="web-1"), written("two", pod="web-2"), named=True)

    html = bundle_of(picture)["text/html"]

    assert code(picture) == ["web-1 app one", "web-2 app two"]
    for pod in ("web-1", "web-2"):
        assert f'<span class="dk-hue{colour_of(pod)}">{pod} app </span>' in html
    assert colour_of("web-1") != colour_of("web-2")
    assert coloured("x", "web-1") != coloured("x", "web-2")


def test_pods_of_several_namespaces_have_these_too() -> None:
    picture = shown(written("one"), written("two", namespace="test"), named=True)

    assert code(picture) == ["shop/web app one", "test/web app two"]


def test_a_page_has_the_newest_lines_and_says_how_many_are_not_shown() -> None:
    picture = shown(*(written(str(number)) for number in range(5000)), most=1000)

    page = Page(bundle_of(picture)["text/html"])

    assert code(picture) == [str(number) for number in range(4700, 5000)]
    assert "4,700 earlier lines are not shown; .text has 700 of them" in page.text()
    assert len(text_of(picture).splitlines()) == 1 + 1 + 1000


def test_a_page_of_long_lines_has_fewer() -> None:
    picture = shown(*(written(f"{number} {'<&>' * 400}") for number in range(1000)))

    html = bundle_of(picture)["text/html"]

    assert len(html) < 150_000
    assert 20 < len(code(picture)) < 100
    assert code(picture)[-1].startswith("999 ")


def test_saved_notebooks_have_the_last_lines_as_text() -> None:
    picture = shown(*(written(str(number)) for number in range(50)))

    text = bundle_of(picture)["text/plain"].splitlines()

    assert text[:2] == [
        "log of shop/web · app · LIVE · 50 lines",
        "… 30 earlier lines are not shown; .text has 30 of them",
    ]
    assert text[2:] == [str(number) for number in range(30, 50)]


def test_the_end_and_remarks_are_below_the_lines() -> None:
    ended = LogState(title="logs", word="failed", reason="no \x1b[2J permission", notes=("careful",), ended=True)

    text = text_of(shown(written("one"), state=ended))

    assert text.splitlines() == ["logs · failed · 1 line", "one", "careful", "— failed: no \ufffd[2J permission"]
