"""Unified diff of two documents, in the format of ``kubectl diff``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from dynkube._text.tables import printable
from dynkube.fields._diff.line_match import LineMatcher

_AROUND: Final = 3


def unified(before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, names: tuple[str, str]) -> str:
    """Return the unified diff of both as YAML; empty if they are equal.

    Args:
        before: a document; ``None`` for no document.
        after: the other document; ``None`` for no document.
        names: names of the two documents.
    """
    old, new = (yaml_lines(document) for document in (before, after))
    return "\n".join(unified_lines(old, new, names))


def unified_lines(old: Sequence[str], new: Sequence[str], names: tuple[str, str]) -> Iterator[str]:
    """Yield the unified diff of two sequences of lines.

    The output has three lines of context, as with ``diff -u`` and ``difflib``.
    """
    for number, group in enumerate(LineMatcher(old, new).get_grouped_opcodes(_AROUND)):
        if not number:
            yield f"--- {names[0]}"
            yield f"+++ {names[1]}"
        (_, old_start, _, new_start, _), (_, _, old_end, _, new_end) = group[0], group[-1]
        yield f"@@ -{_range(old_start, old_end)} +{_range(new_start, new_end)} @@"
        for tag, old_at, old_to, new_at, new_to in group:
            if tag == "equal":
                yield from (f" {line}" for line in old[old_at:old_to])
                continue
            yield from (f"-{line}" for line in old[old_at:old_to])
            yield from (f"+{line}" for line in new[new_at:new_to])


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def yaml_lines(document: Mapping[str, Any] | None) -> list[str]:
    """Return a document as lines of YAML without terminal control characters."""
    if document is None:
        return []
    import yaml  # imported late, as the import is slow and few programs print diffs

    base = getattr(yaml, "CSafeDumper", yaml.SafeDumper)  # libyaml's is ten times as fast

    class Dumper(base):  # type: ignore[misc, valid-type]  # either of the two
        """Writes multi-line strings as blocks, and no aliases."""

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
