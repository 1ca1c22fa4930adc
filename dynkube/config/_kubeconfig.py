"""Finding and merging kubeconfig files as kubectl does.

The first file that sets a value wins. Parsing and merging are done by the ``kubernetes`` package, which takes a second
and 75 MB to import, so it is imported only when there is a file to read. The package reads files with PyYAML's own
loader, without limits. So each file is first read with the loader of this library, and rejected if the file or its
expansion is too large. Three behaviors of the package are not adopted: it takes ``current-context`` from the *last*
file (kubectl: the first); it rejects empty files (``KUBECONFIG=/dev/null`` is common); and its messages quote whole
entries, including tokens.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, cast

from dynkube._input_files import read_file
from dynkube.config._credential_files import absolute_path
from dynkube.config._entries import KubeconfigEntry
from dynkube.errors import ConfigError

_SECTIONS = {"clusters": "cluster", "contexts": "context", "users": "user"}


class _Node(Protocol):
    """The attributes of the package's ConfigNode that are used here."""

    value: Mapping[str, object]
    path: str


class _Merger(Protocol):
    """The methods of the package's KubeConfigMerger that are used here, with types."""

    config: _Node | None
    config_files: Mapping[str, Mapping[str, object]]

    def load_config(self, path: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Kubeconfig:
    """Merged kubeconfig files: three sections by name, and the current context."""

    source: str
    current_context: str = ""
    clusters: Mapping[str, KubeconfigEntry] = field(default_factory=dict)
    contexts: Mapping[str, KubeconfigEntry] = field(default_factory=dict)
    users: Mapping[str, KubeconfigEntry] = field(default_factory=dict)

    @property
    def empty(self) -> bool:
        """Whether there are no clusters, contexts, users or current context."""
        return not (self.clusters or self.contexts or self.users or self.current_context)


def find_files(kubeconfig: str | os.PathLike[str] | None) -> list[str]:
    """Return the absolute paths of the files to merge, in order.

    Empty if there are none.

    Args:
        kubeconfig: a path, or several joined by ``os.pathsep``; ``None`` means the current value of ``$KUBECONFIG``,
            else ``~/.kube/config``.

    Raises:
        ConfigError: a path was given that does not exist, or several of which none exists; or a path is invalid.
    """
    if kubeconfig is None:
        # Read at call time: the kubernetes package reads the variable once, at import.
        named = os.environ.get("KUBECONFIG", "")
        try:
            return _existing(named.split(os.pathsep) if named else [os.path.join("~", ".kube", "config")])  # noqa: PTH118 - "~" is expanded later
        except OSError as exc:
            where = " of $KUBECONFIG" if named else ""
            raise ConfigError(f"kubeconfig {exc.filename}{where} cannot be read: {exc.strerror}") from exc
    text = os.fspath(kubeconfig)
    if not text:
        raise ConfigError("kubeconfig= is an empty path: omit it to use $KUBECONFIG or ~/.kube/config")
    try:
        # A path that exists is one file, even if its name contains the separator (as an ARN does).
        one = isinstance(kubeconfig, os.PathLike) or _exists(Path(text).expanduser())
        files = _existing([text] if one else text.split(os.pathsep))
    except (OSError, ValueError, RuntimeError) as exc:  # mostly the content of a file, which is too long for a path
        reason = exc.strerror if isinstance(exc, OSError) else exc
        raise ConfigError(
            f"kubeconfig= is not a valid path ({reason}): pass the path of a file, or a decoded kubeconfig (a dict)"
        ) from exc
    if not files:
        raise ConfigError(f"kubeconfig {text} does not exist: check the path given as kubeconfig=")
    return files


def _existing(names: Sequence[str]) -> list[str]:
    """Return the paths that exist; as in kubectl, missing files are skipped."""
    try:
        paths = [absolute_path(name) for name in names if name]
    except RuntimeError:  # "~" without a home directory, as in many containers
        return []
    return [path for path in paths if _exists(Path(path))]


def _exists(path: Path) -> bool:
    """Whether the file exists; raises OSError if the path is invalid.

    ``Path.exists`` returns False for invalid paths since Python 3.14.
    """
    try:
        path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def merge_files(paths: Sequence[str]) -> Kubeconfig:
    """Read and merge files.

    Blocking file I/O; the first call also imports the package ``kubernetes``.

    Raises:
        ConfigError: a file cannot be read, is not a regular file, is too large, is not YAML, or is not a kubeconfig;
            the message contains none of its values.
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
    """Read a decoded kubeconfig.

    Relative paths in it are relative to the working directory.

    Raises:
        ConfigError: it does not have the structure of a kubeconfig.
    """
    source = "the mapping given as kubeconfig="
    if problem := _problem(document):
        raise ConfigError(f"{source}: {problem}")
    top = KubeconfigEntry(document, source, "kubeconfig")
    sections = {
        section: dict(
            _named(entry.values, section, body, source=source, directory="") for entry in top.entries(section)
        )
        for section, body in _SECTIONS.items()
    }
    return Kubeconfig(source, top.text("current-context"), **sections)


def _named(
    item: Mapping[str, object], section: str, body: str, *, source: str, directory: str
) -> tuple[str, KubeconfigEntry]:
    """Return name and content of an entry whose structure was validated."""
    name, values = str(item["name"]), item.get(body)
    at = f"{section}[name={name}].{body}"
    return name, KubeconfigEntry(values if isinstance(values, Mapping) else {}, source, at, directory)


def _check_file(path: str) -> bool:
    """Validate a file; return whether it has content to merge."""
    # Nothing is raised inside an except block, here and in merging: exceptions of the package and of PyYAML quote the
    # file, including tokens, and as the context of our error would be visible to error reporting tools.
    document, problem = _loaded(path)
    if problem:
        raise ConfigError(f"kubeconfig {path} {problem}")
    if document is not None and (problem := _problem(document)):
        raise ConfigError(f"kubeconfig {path}: {problem}")
    return document is not None


def _loaded(path: str) -> tuple[object, str]:
    """Return the only document of a file, or a problem.

    An empty file has the document ``None``, as in kubectl.
    """
    from dynkube.meta._yaml import loading as yaml  # lazy: PyYAML is needed only for files

    try:
        text = read_file(path, limit=yaml.MAX_CONFIG_BYTES)
    except OSError as error:
        return None, f"cannot be read: {error.strerror}"
    try:
        # kubectl uses the last of duplicate keys as well.
        return yaml.load_document(text, lenient=True, max_values=yaml.MAX_CONFIG_VALUES), ""
    except yaml.MalformedYAML as error:
        where = f" (line {error.line}, column {error.column})" if error.line is not None else ""
        return None, f"is not valid YAML: {error.problem}{where}"
    except ValueError:
        return None, "has several documents, expected one"


def _problem_in_merging(merger: _Merger, path: str) -> str:
    import yaml  # lazy, like the package: needed only for files
    from kubernetes.config import ConfigException

    try:
        merger.load_config(path)
    except OSError as error:
        return f"cannot be read: {error.strerror}"
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return f"it is not valid YAML ({type(error).__name__})"
    except (ConfigException, AttributeError, KeyError, TypeError):
        return "it is malformed"
    return ""


def _problem(document: object) -> str:
    """Return why a decoded document is not a kubeconfig; ``""`` if it is one.

    As strict as kubectl.
    """
    if not isinstance(document, Mapping):
        return "must be a mapping with clusters, contexts, users and current-context"
    if document.get("kind", "Config") != "Config":
        return "kind is not Config: not a kubeconfig"
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
            return f"{section}[{index}].name must be a non-empty string: put it in quotes"
        if name in seen:
            return f"{section} has two entries named {name!r}: rename or remove one"
        if not isinstance(entry.get(body) or {}, Mapping):
            return f"{section}[name={name}].{body} must be a mapping"
        seen.add(name)
    return ""
