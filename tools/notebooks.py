"""Runs the notebooks, each in its own kernel, and stores or compares their outputs.

The files in notebooks/ contain the source and the outputs. Runs are reproducible: the wall clock is frozen, the demo
cluster's random generator is seeded, and addresses and paths are replaced. Outputs of a cell with the tag ``measured``
depend on the machine: only their kinds are compared.

    python -m tools.notebooks run [NAME ...]      run notebooks, and store their outputs in the files
    python -m tools.notebooks check [NAME ...]    run notebooks, and fail if an output differs from the stored one

``NAME`` is the beginning of a file name, such as ``02``.
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
CELL_TIMEOUT = 600  # seconds; the slowest cell starts a server with a million objects, which takes 50 to 130

# Run by IPython before the first cell; only in the kernels that this module starts.
_FREEZE_CLOCK = """\
import datetime, time_machine
time_machine.travel(datetime.datetime(2026, 11, 2, 9, 0, tzinfo=datetime.UTC), tick=False).start()
"""
_MEASURED = "measured"  # tag of a cell
_WIDGET = "application/vnd.jupyter.widget-view+json"  # refers to a model in the kernel
_IMAGES = ("image/png", "image/svg+xml")
_MARKUP = re.compile(r"(?s:<style.*?</style>|<[^>]*>)+")
_ADDRESS = re.compile(r"(127\.0\.0\.1):\d+")
_VARYING = (  # differs between runs, and is replaced before outputs are compared
    (re.compile(r"(resourceVersion\"?:?\s*\"?)\d+"), r"\1N"),
    (re.compile(r"\b(rv=)\d+"), r"\1N"),
    (re.compile(r"\b0x[0-9a-f]{6,}\b"), "0xN"),
    # Drawn from the server's random generator, so each object that a new cluster has more changes those of all others;
    # YAML needs quotes for some of them only.
    (re.compile(r"\"?\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b\"?"), "UID"),
    # Measured with the monotonic clock, which is not frozen, as timeouts depend on it.
    (re.compile(r"(last (?:change|heard)\s+)\d+s ago"), r"\1Ns ago"),
    (re.compile(r"[\d.,]+ m?s (each|in the queue) on average"), r"N s \1 on average"),
    # Changes that arrive while a key waits are reconciled by one call; how many do depends on timing.
    (re.compile(r"\d+ (success|terminal)\b"), r"N \1"),
    # A key is done a moment after its last write or log record, which is what a cell can wait for.
    (re.compile(r"\d+ ready, \d+ delayed, \d+ processing"), "N ready, N delayed, N processing"),
)


class Failed(Exception):
    """A notebook does not exist or failed."""


def notebooks(names: Sequence[str] = ()) -> list[Path]:
    """Return the notebooks whose file names begin with one of ``names``; all if there are no names.

    Raises:
        Failed: no notebook's name begins with one of the names.
    """
    files = sorted(FOLDER.glob("[0-9]*.ipynb"))
    for name in names:
        if not any(file.name.startswith(name) for file in files):
            raise Failed(f"no notebook begins with {name!r}; there are {', '.join(file.stem for file in files)}")
    return [file for file in files if not names or file.name.startswith(tuple(names))]


def execute(file: Path) -> nbformat.NotebookNode:
    """Run a notebook in a new kernel, and return it with its outputs. Blocks until it has ended.

    Raises:
        Failed: a cell without the tag ``raises-exception`` raised, or something was written to standard error.
    """
    notebook: nbformat.NotebookNode = nbformat.read(file, as_version=4)
    with tempfile.TemporaryDirectory() as settings:  # instead of the user's, which has their history and extensions
        startup = Path(settings, "profile_default", "startup")
        startup.mkdir(parents=True)
        startup.joinpath("00-clock.py").write_text(_FREEZE_CLOCK)
        client = _Client(
            notebook,
            timeout=CELL_TIMEOUT,
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
    if errors := [text for name, text in _streams(notebook) if name == "stderr"]:
        raise Failed(f"{file.name} wrote to standard error:\n{''.join(errors)}")
    return notebook


def write(notebook: nbformat.NotebookNode, file: Path) -> None:
    """Write a notebook in the format of Jupyter, so that its diff is small."""
    nbformat.validate(notebook)
    nbformat.write(notebook, file)


def differences(stored: Mapping[str, Any], executed: Mapping[str, Any]) -> str:
    """Return the differences of the outputs as a unified diff; empty if there are none.

    Pictures are not compared, as they depend on fonts; of HTML only the text is.
    """
    before, after = _output_lines(stored), _output_lines(executed)
    return "\n".join(difflib.unified_diff(before, after, "stored", "now (make notebooks stores it)", lineterm=""))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line, and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.notebooks", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("command", choices=["run", "check"])
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args(arguments)
    failed = 0
    try:
        for file in notebooks(options.names):
            failed += not (_run(file) if options.command == "run" else _check(file))
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    return 1 if failed else 0


class _Client(NotebookClient):
    """Keeps outputs as their cell displayed them.

    A display that is updated in the background, such as that of running controllers, would otherwise be stored with its
    last update before the kernel ended. A progress bar is updated by its own cell, which is one that measures.
    """

    def process_message(self, msg: dict[str, Any], cell: nbformat.NotebookNode, cell_index: int) -> Any:
        """Process a message of the kernel; ignore updates of displays, unless the cell measures."""
        if msg["msg_type"] == "update_display_data" and not _measures(cell):
            return None
        return super().process_message(msg, cell, cell_index)


def _run(file: Path) -> bool:
    write(execute(file), file)
    print(f"{file.relative_to(ROOT)}: written")
    return True


def _check(file: Path) -> bool:
    difference = differences(nbformat.read(file, as_version=4), execute(file))
    print(f"{file.relative_to(ROOT)}: {'an output differs' if difference else 'as stored'}")
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
    """Return the manager of a kernel with sockets in ``folder``; over TCP, the kernel warns that others may connect."""
    if sys.platform == "win32":
        return AsyncKernelManager(kernel_name="python3")
    return AsyncKernelManager(kernel_name="python3", transport="ipc", ip=str(Path(folder, "kernel")))


def _tidy(notebook: nbformat.NotebookNode) -> None:
    """Remove what refers to the kernel or the machine, and what differs in each run."""
    kernel = {"name": "python3", "display_name": "Python 3 (ipykernel)", "language": "python"}
    notebook.metadata = nbformat.from_dict({"kernelspec": kernel, "language_info": {"name": "python"}})
    for output in _outputs(notebook):
        output.get("data", {}).pop(_WIDGET, None)
        for holder in (output, output.get("data", {})):
            for key, value in holder.items():
                if isinstance(value, str) and key not in _IMAGES:
                    holder[key] = _without_machine(value)
        if "traceback" in output:
            output["traceback"] = [_without_machine(line) for line in output["traceback"]]
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = _joined(cell.outputs)


def _without_machine(text: str) -> str:
    """Replace the path of the checkout and the port of the server."""
    return _ADDRESS.sub(r"\1:6443", text.replace(f"{ROOT}{os.sep}", ""))


def _joined(outputs: list[Any]) -> list[Any]:
    """Join consecutive pieces of a stream, whose number depends on timing."""
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


def _output_lines(notebook: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        lines.append(f"── In [{cell['execution_count']}], {cell['id']}")
        for output in cell["outputs"]:
            lines += [_kind(output)] if _measures(cell) else _lines(output)
    return lines


def _measures(cell: Mapping[str, Any]) -> bool:
    return _MEASURED in cell["metadata"].get("tags", ())


def _kind(output: Mapping[str, Any]) -> str:
    return " ".join([output["output_type"], output.get("name", ""), *sorted(output.get("data", ()))])


def _lines(output: Mapping[str, Any]) -> Iterator[str]:
    yield f"{output['output_type']} {output.get('name', '')}".strip()
    texts = {"text": output.get("text", ""), "error": f"{output.get('ename', '')}: {output.get('evalue', '')}"}
    texts |= {kind: _plain_text(kind, str(text)) for kind, text in sorted(output.get("data", {}).items())}
    for kind, text in texts.items():
        for pattern, replacement in _VARYING:
            text = pattern.sub(replacement, text)  # noqa: PLW2901  # all patterns, in their order
        for line in text.splitlines():
            yield f"{kind} {line}"


def _plain_text(kind: str, text: str) -> str:
    if kind in _IMAGES:
        return "a picture"
    return html.unescape(_MARKUP.sub("\n", text)) if kind == "text/html" else text


if __name__ == "__main__":
    sys.exit(main())
