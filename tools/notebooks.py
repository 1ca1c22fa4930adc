"""Runs the notebooks, each in a kernel of its own, and keeps what they show.

The files in notebooks/ are sources and shown results in one. A run is the same each time as far as that can be: its
wall clock stands still, what is random is seeded by the made-up cluster, and addresses are replaced.

    python -m tools.notebooks run [NAME ...]      runs them, and writes what they show into the files
    python -m tools.notebooks check [NAME ...]    fails where a run shows something else than the files do

``NAME`` is the beginning of a file's name, such as ``02``.
"""

from __future__ import annotations

import argparse
import difflib
import html
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import nbformat
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "notebooks"
PATIENCE = 120  # seconds for a cell; the slowest starts a cluster

# Played by IPython before the first cell, in the kernel of a run only.
_STILL_CLOCK = """\
import datetime, time_machine
time_machine.travel(datetime.datetime(2026, 11, 2, 9, 0, tzinfo=datetime.UTC), tick=False).start()
"""
_WIDGET = "application/vnd.jupyter.widget-view+json"  # means nothing without its kernel
_IMAGES = ("image/png", "image/svg+xml")
_MARKUP = re.compile(r"(?s:<style.*?</style>|<[^>]*>)+")
_ADDRESS = re.compile(r"(127\.0\.0\.1):\d+")
_VARYING = (  # what may be otherwise from run to run: compared as if it were equal
    (re.compile(r"(resourceVersion\"?:?\s*\"?)\d+"), r"\1N"),
    (re.compile(r"\b(rv=)\d+"), r"\1N"),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "0xN"),
    # By the clock that cannot be stopped, for timeouts go by it: how fast the machine was.
    (re.compile(r"(last (?:change|heard)\s+)\d+s ago"), r"\1Ns ago"),
)


class Failed(Exception):
    """A notebook that cannot be run to its end, or shows something else than it did."""


def notebooks(names: Sequence[str] = ()) -> list[Path]:
    """The notebooks whose names begin with one of ``names``; all of them without any.

    Raises:
        Failed: one of the names is no notebook's.
    """
    files = sorted(FOLDER.glob("[0-9]*.ipynb"))
    for name in names:
        if not any(file.name.startswith(name) for file in files):
            raise Failed(f"no notebook begins with {name!r}; there are {', '.join(file.stem for file in files)}")
    return [file for file in files if not names or file.name.startswith(tuple(names))]


def execute(file: Path) -> nbformat.NotebookNode:
    """Run a notebook in a new kernel, and return it with what it showed.

    Raises:
        Failed: a cell raised that is not tagged ``raises-exception``, or something was written to standard error.
    """
    notebook: nbformat.NotebookNode = nbformat.read(file, as_version=4)
    with tempfile.TemporaryDirectory() as settings:  # instead of the user's own, with their history and extensions
        startup = Path(settings, "profile_default", "startup")
        startup.mkdir(parents=True)
        startup.joinpath("00-clock.py").write_text(_STILL_CLOCK)
        client = NotebookClient(
            notebook,
            timeout=PATIENCE,
            km=_kernel_manager(settings),
            resources={"metadata": {"path": str(file.parent)}},
            record_timing=False,
            store_widget_state=False,
        )
        try:
            client.execute(env=_environment(settings), cleanup_kc=True)
        except CellExecutionError as error:
            raise Failed(f"{file.name}: {error}") from None
    _tidy(notebook)
    if complaints := [text for name, text in _streams(notebook) if name == "stderr"]:
        raise Failed(f"{file.name} wrote to standard error:\n{''.join(complaints)}")
    return notebook


def write(notebook: nbformat.NotebookNode, file: Path) -> None:
    """Write a notebook as a small diff to what it was."""
    nbformat.validate(notebook)
    nbformat.write(notebook, file)


def differences(stored: Mapping[str, Any], played: Mapping[str, Any]) -> str:
    """What ``played`` shows otherwise than ``stored``, as a unified diff; empty where they agree.

    Pictures agree with each other, as they depend on fonts, and HTML counts by its words.
    """
    before, after = _shown(stored), _shown(played)
    return "\n".join(difflib.unified_diff(before, after, "stored", "shown now (make notebooks stores it)", lineterm=""))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.notebooks", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("what", choices=["run", "check"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args(arguments)
    failed = 0
    try:
        for file in notebooks(options.names):
            failed += not (_run(file) if options.what == "run" else _check(file))
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    return 1 if failed else 0


def _run(file: Path) -> bool:
    write(execute(file), file)
    print(f"{file.relative_to(ROOT)}: written")
    return True


def _check(file: Path) -> bool:
    difference = differences(nbformat.read(file, as_version=4), execute(file))
    print(f"{file.relative_to(ROOT)}: {'shows something else' if difference else 'as stored'}")
    if difference:
        print(difference)
    return not difference


def _environment(settings: str) -> dict[str, str]:
    path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH", ""))))
    return os.environ | {
        "IPYTHONDIR": settings,
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": path,
    }


def _kernel_manager(folder: str) -> AsyncKernelManager:
    """Of a kernel that is talked to by files in ``folder``: over TCP it warns, as anybody might listen."""
    if sys.platform == "win32":
        return AsyncKernelManager(kernel_name="python3")
    return AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(Path(folder, "kernel")))


def _tidy(notebook: nbformat.NotebookNode) -> None:
    """Leave out what says nothing, or another thing each time."""
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel, "language_info": {"name": "python"}})
    for output in _outputs(notebook):
        output.get("data", {}).pop(_WIDGET, None)
        for holder in (output, output.get("data", {})):
            for key, value in holder.items():
                if isinstance(value, str) and key not in _IMAGES:
                    holder[key] = _anywhere(value)
        if "traceback" in output:
            output["traceback"] = [_anywhere(line) for line in output["traceback"]]
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)


def _anywhere(text: str) -> str:
    """Without what is so on one machine only: the folder, the port."""
    return _ADDRESS.sub(r"\1:6443", text.replace(f"{ROOT}{os.sep}", ""))


def _joined(outputs: list[Any]) -> list[Any]:
    """Streams in one piece each, however they came."""
    joined: list[Any] = []
    for output in outputs:
        last = joined[-1] if joined else None
        if last is not None and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            joined.append(output)
    return joined


def _outputs(notebook: Mapping[str, Any]) -> Iterator[Any]:
    for cell in notebook["cells"]:
        yield from cell.get("outputs", ())


def _streams(notebook: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for output in _outputs(notebook):
        if output["output_type"] == "stream":
            yield output["name"], output["text"]


def _shown(notebook: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        lines.append(f"── In [{cell['execution_count']}], {cell['id']}")
        for output in cell["outputs"]:
            lines += _lines(output)
    return lines


def _lines(output: Mapping[str, Any]) -> Iterator[str]:
    yield f"{output['output_type']} {output.get('name', '')}".strip()
    texts = {"text": output.get("text", ""), "error": f"{output.get('ename', '')}: {output.get('evalue', '')}"}
    texts |= {kind: _words(kind, str(text)) for kind, text in sorted(output.get("data", {}).items())}
    for kind, text in texts.items():
        for pattern, replacement in _VARYING:
            text = pattern.sub(replacement, text)  # noqa: PLW2901  # one after another
        for line in text.splitlines():
            yield f"{kind} {line}"


def _words(kind: str, text: str) -> str:
    if kind in _IMAGES:
        return "a picture"
    return html.unescape(_MARKUP.sub("\n", text)) if kind == "text/html" else text


if __name__ == "__main__":
    sys.exit(main())
