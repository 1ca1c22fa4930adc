"""Finding, reading and merging kubeconfig files as kubectl does.

Each file is read once. As in client-go, its first document counts, the last of duplicate keys, and the first file that
has an entry or a current context.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from dynkube._input_files import read_file
from dynkube.config._credential_files import absolute_path
from dynkube.config._entries import SECTIONS, KubeconfigEntry, Origin, decode
from dynkube.errors import ConfigError


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
    """Read and merge files: the first one with an entry, or with a current context, wins.

    Blocking file I/O.

    Args:
        paths: absolute paths.

    Raises:
        ConfigError: a file cannot be read, is not a regular file, is too large, is not YAML, or is not a kubeconfig;
            the message names file, line and field, and contains none of its values.
    """
    return _merged(f"kubeconfig {os.pathsep.join(paths)}", map(_read, paths))


def read_mapping(document: Mapping[str, object]) -> Kubeconfig:
    """Read a decoded kubeconfig.

    Relative paths in it are relative to the working directory.

    Raises:
        ConfigError: it does not have the structure of a kubeconfig.
    """
    origin = Origin("the mapping given as kubeconfig=")
    return _merged(origin.name, [(decode(document, origin), origin)])


def _merged(source: str, documents: Iterable[tuple[Mapping[str, object], Origin]]) -> Kubeconfig:
    current = ""
    sections: dict[str, dict[str, KubeconfigEntry]] = {section: {} for section in SECTIONS}
    for document, origin in documents:
        current = current or cast("str", document.get("current-context", ""))
        for section, body in SECTIONS.items():
            items = cast("Sequence[Mapping[str, object]]", document.get(section, ()))
            for index, item in enumerate(items):
                name = cast("str", item.get("name", ""))
                values = cast("Mapping[str, object]", item.get(body, {}))
                at = f"{section}[name={name}].{body}" if name else f"{section}[{index}].{body}"
                sections[section].setdefault(name, KubeconfigEntry(values, origin, (section, index, body), at))
    return Kubeconfig(source, current, **sections)


def _read(path: str) -> tuple[Mapping[str, object], Origin]:
    from dynkube.meta._yaml import loading as yaml  # lazy: PyYAML is needed only for files

    name = f"kubeconfig {path}"
    try:
        text = read_file(path, limit=yaml.MAX_CONFIG_BYTES)
        first = yaml.load_first(text, any_tag=False, max_values=yaml.MAX_CONFIG_VALUES)
    except OSError as error:
        raise ConfigError(f"{name} cannot be read: {error.strerror}") from error
    except yaml.MalformedYAML as error:
        where = f" (line {error.line}, column {error.column})" if error.line is not None else ""
        complaint = f"is not valid YAML: {error.problem}{where}"
    else:
        origin = Origin(name, str(Path(path).parent), text)
        return decode(None if first is None else first.data, origin), origin
    # Not in the except block: the exception may quote the file, including tokens, and as the context of this one would
    # be visible to error reporting tools.
    raise ConfigError(f"{name} {complaint}")
