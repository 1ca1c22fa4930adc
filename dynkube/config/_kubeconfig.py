"""Finding kubeconfig files and merging them as kubectl does: the first file to name a thing wins, the rest is added.

Parsing and merging are the ``kubernetes`` package's, which takes a second and 75 MB to import; so it is imported only
when there is a file to read. It reads files whole with PyYAML's own loader, which nothing bounds: each file is read
with the loader of this library first, and refused where it is too large or expands to too much. Three things that the
package does are not taken over: it lets the *last* file decide ``current-context`` where kubectl lets the first, it
refuses an empty file (``KUBECONFIG=/dev/null`` is usual), and its messages quote whole entries, tokens included.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from dynkube._input_files import read_file
from dynkube.config._entries import Entry
from dynkube.config._files import absolute_path
from dynkube.errors import ConfigError

_SECTIONS = {"clusters": "cluster", "contexts": "context", "users": "user"}


class _Node(Protocol):
    """What is used of the package's ConfigNode."""

    value: Mapping[str, object]
    path: str


class _Merger(Protocol):
    """What is used of the package's KubeConfigMerger, which has no types."""

    config: _Node | None
    config_files: Mapping[str, Mapping[str, object]]

    def load_config(self, path: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """Merged kubeconfig files: three sections by name, and the context in force."""

    source: str
    current_context: str = ""
    clusters: Mapping[str, Entry] = field(default_factory=dict)
    contexts: Mapping[str, Entry] = field(default_factory=dict)
    users: Mapping[str, Entry] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether nothing in it could lead to a cluster."""
        return not (self.clusters or self.contexts or self.users or self.current_context)


def find_files(kubeconfig: str | os.PathLike[str] | None) -> list[str]:
    """The files to merge, in order, from the root; empty where there are none.

    Args:
        kubeconfig: a path, or several joined by ``os.pathsep``; ``None`` means what ``$KUBECONFIG`` says now, else
            ``~/.kube/config``.

    Raises:
        ConfigError: a path was given, and there is no such file; of several, none exists. Or one cannot be looked for.
    """
    if kubeconfig is None:
        # Read at call time: the kubernetes package reads it once, at import.
        named = os.environ.get("KUBECONFIG", "")
        try:
            return _existing(named.split(os.pathsep) if named else [os.path.join("~", ".kube", "config")])  # noqa: PTH118 - "~" is expanded later
        except OSError as exc:
            where = " of $KUBECONFIG" if named else ""
            raise ConfigError(f"kubeconfig {exc.filename}{where} cannot be read: {exc.strerror}") from exc
    text = os.fspath(kubeconfig)
    if not text:
        raise ConfigError("kubeconfig= is an empty path: leave it out to use $KUBECONFIG or ~/.kube/config")
    try:
        # A file whose name has the separator in it (an ARN, say) is one file.
        one = isinstance(kubeconfig, os.PathLike) or _exists(Path(text).expanduser())
        files = _existing([text] if one else text.split(os.pathsep))
    except (OSError, ValueError, RuntimeError) as exc:  # mostly the content of a file, which is too long for a name
        reason = exc.strerror if isinstance(exc, OSError) else exc
        raise ConfigError(
            f"kubeconfig= is no path ({reason}): pass the path of a file, or a decoded kubeconfig (a dict)"
        ) from exc
    if not files:
        raise ConfigError(f"kubeconfig {text} does not exist: check the path given as kubeconfig=")
    return files


def _existing(names: Sequence[str]) -> list[str]:
    """As kubectl does with a list, files that are not there are left out."""
    try:
        paths = [absolute_path(name) for name in names if name]
    except RuntimeError:  # "~" without a home directory, as in many containers
        return []
    return [path for path in paths if _exists(Path(path))]


def _exists(path: Path) -> bool:
    """Whether there is such a file; raises OSError for what cannot be the name of one.

    ``Path.exists`` says no to that as well, since Python 3.14.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def merge_files(paths: Sequence[str]) -> Kubeconfig:
    """Read and merge. Blocks for the files, and at first use for the import of ``kubernetes``.

    Raises:
        ConfigError: a file cannot be read, is no regular file or too large, is no YAML, or is no kubeconfig; the
            message shows none of its values.
    """
    source = f"kubeconfig {os.pathsep.join(paths)}"
    filled = [path for path in paths if _check_file(path)]
    if not filled:
        return Kubeconfig(source)
    from kubernetes.config.kube_config import KubeConfigMerger

    merger = cast("_Merger", KubeConfigMerger(""))  # type: ignore[no-untyped-call]  # the package has none
    for path in filled:
        if problem := _problem_in_merging(merger, path):
            raise ConfigError(f"kubeconfig {path}: {problem}")
    assert merger.config is not None, "something was merged"
    contexts = (document.get("current-context") for document in merger.config_files.values())
    sections = {}
    for section, body in _SECTIONS.items():
        nodes = cast("list[_Node]", merger.config.value[section])
        sections[section] = dict(
            _named(node.value, section, body, source=f"kubeconfig {node.path}", directory=str(Path(node.path).parent))
            for node in nodes
        )
    return Kubeconfig(source, next((str(name) for name in contexts if name), ""), **sections)


def read_mapping(document: Mapping[str, object]) -> Kubeconfig:
    """A kubeconfig that is already decoded. Relative paths in it are relative to the working directory.

    Raises:
        ConfigError: it does not have the form of a kubeconfig.
    """
    source = "the mapping given as kubeconfig="
    if problem := _problem(document):
        raise ConfigError(f"{source}: {problem}")
    top = Entry(document, source, "kubeconfig")
    sections = {
        section: dict(
            _named(entry.values, section, body, source=source, directory="") for entry in top.entries(section)
        )
        for section, body in _SECTIONS.items()
    }
    return Kubeconfig(source, top.text("current-context"), **sections)


def _named(item: Mapping[str, object], section: str, body: str, *, source: str, directory: str) -> tuple[str, Entry]:
    """Name and content of an entry whose form has been checked."""
    name, values = str(item["name"]), item.get(body)
    at = f"{section}[name={name}].{body}"
    return name, Entry(values if isinstance(values, Mapping) else {}, source, at, directory)


def _check_file(path: str) -> bool:
    """Whether a file has something to merge, which it may; raises ConfigError where it may not."""
    # Nothing is raised from inside a handler, here and where files are merged: what the package and PyYAML raise
    # quotes the file, tokens and all, and would be the context of our error, where tools that report errors find it.
    document, problem = _loaded(path)
    if problem:
        raise ConfigError(f"kubeconfig {path} {problem}")
    if document is not None and (problem := _problem(document)):
        raise ConfigError(f"kubeconfig {path}: {problem}")
    return document is not None


def _loaded(path: str) -> tuple[object, str]:
    """The only document of a file, or what keeps it from being read. An empty file has ``None``, as kubectl sees it."""
    from dynkube.meta import yaml  # PyYAML: only where there is a file to read

    try:
        text = read_file(path, limit=yaml.MAX_CONFIG_BYTES)
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"
    try:
        # kubectl takes the last of equal keys as well.
        return yaml.load_document(text, lenient=True, max_values=yaml.MAX_CONFIG_VALUES), ""
    except yaml.MalformedYAML as error:
        where = f" (line {error.line}, column {error.column})" if error.line is not None else ""
        return None, f"is no YAML: {error.problem}{where}"
    except ValueError:
        return None, "has several documents: keep one of them"


def _problem_in_merging(merger: _Merger, path: str) -> str:
    import yaml  # as the package: only where there is a file to read
    from kubernetes.config import ConfigException

    try:
        merger.load_config(path)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return f"it is no YAML that can be read ({type(error).__name__})"
    except (ConfigException, AttributeError, KeyError, TypeError):
        return "it is malformed"
    return ""


def _problem(document: object) -> str:
    """What keeps a decoded document from being a kubeconfig; ``""`` if nothing does. As strict as kubectl."""
    if not isinstance(document, Mapping):
        return "must be a mapping with clusters, contexts, users and current-context"
    if document.get("kind", "Config") != "Config":
        return "kind is not Config: this is some other object, not a kubeconfig"
    if not isinstance(document.get("current-context") or "", str):
        return "current-context must be a string: put it in quotes"
    for section, body in _SECTIONS.items():
        entries = document.get(section)
        if entries is None:
            continue
        if not isinstance(entries, list | tuple):
            return f"{section} must be a list of entries, each with a name and a {body}"
        if problem := _section_problem(section, body, entries):
            return problem
    return ""


def _section_problem(section: str, body: str, entries: Sequence[object]) -> str:
    seen: set[str] = set()
    for index, entry in enumerate(entries):
        if not isinstance(entry, Mapping):
            return f"{section}[{index}] must be a mapping with a name and a {body}"
        name = entry.get("name")
        if not isinstance(name, str) or not name:
            return f"{section}[{index}].name must be a string that is not empty: put it in quotes"
        if name in seen:
            return f"{section} has two entries named {name!r}: rename or delete one"
        if not isinstance(entry.get(body) or {}, Mapping):
            return f"{section}[name={name}].{body} must be a mapping"
        seen.add(name)
    return ""
