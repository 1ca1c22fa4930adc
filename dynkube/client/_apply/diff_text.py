"""What differs between two documents as text: unified, as ``kubectl diff`` prints it; coloured for a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import unified_diff
from typing import Any

from dynkube._tables import html_text, printable

_COLOURS = {"+": "#1a7f37", "-": "#cf222e", "@": "#6e7781"}


def unified(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, names: tuple[str, str]) -> str:
    """Both as YAML, compared line by line; empty where they are the same.

    Args:
        before: a document; ``None`` for nothing at all.
        after: another.
        names: what to call them.
    """
    old, new = (yaml_lines(document) for document in (before, after))
    lines = unified_diff(old, new, *names, lineterm="")
    return "\n".join(lines)


def yaml_lines(document: Mapping[str, Any] | None) -> list[str]:
    """A document as lines of YAML without anything in them that steers a terminal."""
    if document is None:
        return []
    import yaml  # few programs show differences, and it takes a while

    base = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml's is ten times as fast

    class Dumper(base):  # type: ignore[misc, valid-type]  # whichever there is
        """Texts of several lines stay so, and nothing is written as a reference to something above."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    Dumper.add_multi_representer(dict, lambda dumper, data: dumper.represent_dict(dict(data)))
    Dumper.add_multi_representer(list, lambda dumper, data: dumper.represent_list(list(data)))
    Dumper.add_representer(
        str,
        lambda dumper, text: dumper.represent_scalar(
            "tag:yaml.org,2002:str", text, style="|" if "\n" in text else None
        ),
    )
    text: str = yaml.dump(document, Dumper=Dumper, allow_unicode=True, width=1_000_000, default_flow_style=False)
    return [printable(line, keep="\t") for line in text.splitlines()]


def coloured(text: str) -> str:
    """A unified diff for a notebook."""
    lines = (_line(line) for line in text.splitlines())
    return f"<pre style='line-height:1.3'>{'<br>'.join(lines)}</pre>"


def _line(line: str) -> str:
    colour = _COLOURS.get(line[:1])
    return f"<span style='color:{colour}'>{html_text(line)}</span>" if colour else html_text(line)
