"""Write facts about fields of the built-in types that OpenAPI lacks, from the Go source of a release.

    python tools/go_fields.py API_MODULE APIMACHINERY_MODULE [--output FILE]

The folders are those of ``k8s.io/api`` and ``k8s.io/apimachinery`` of the release. The facts are: which fields of
simple types are omitted from JSON if they have the zero value, which lists and maps are written even if they are empty,
and which strings have a named type. The output depends on the input only.
"""

from __future__ import annotations

import argparse
import gzip
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

OUTPUT = Path(__file__).parent.parent / "dynkube-testing/dynkube_testing/_kinds/go_fields.json.gz"
Facts: TypeAlias = dict[str, list[str] | dict[str, str]]
Fields: TypeAlias = dict[str, Facts]

_STRUCT = re.compile(r"^type (\w+) struct \{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
_NAMED = re.compile(r"^type (\w+) (string|bool|int|int32|int64)$", re.MULTILINE)
_FIELD = re.compile(r'^\s+\w+\s+(\S+)\s+`json:"(\w+)((?:,\w+)*)"', re.MULTILINE)
_SIMPLE = {"string", "bool", "int", "int32", "int64"}
# Named string types of apimachinery, used in all groups.
_SHARED = {"types.UID": "types.UID", "types.NodeName": "types.NodeName"}


def main() -> None:
    """Read the arguments, write the file, and print its size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("api", type=Path, help="the module k8s.io/api of a release")
    parser.add_argument("apimachinery", type=Path, help="the module k8s.io/apimachinery of the same release")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    args = parser.parse_args()
    found: Fields = {}
    named = {name for path in args.api.glob("*/v[0-9]/types*.go") for name, _ in _NAMED.findall(path.read_text())}
    for path in sorted(args.api.glob("*/v[0-9]/types*.go")):
        found |= dict(fields_of(path, f"io.k8s.api.{path.parent.parent.name}.{path.parent.name}", named))
    meta = args.apimachinery / "pkg/apis/meta/v1"
    found |= dict(fields_of(meta / "types.go", "io.k8s.apimachinery.pkg.apis.meta.v1", named))
    args.output.write_bytes(encode(found))
    print(f"{len(found)} types in {args.output.stat().st_size:,} bytes")


def fields_of(path: Path, package: str, named: set[str]) -> Iterator[tuple[str, Facts]]:
    """Yield the types of one file by their OpenAPI names, with the facts about their fields."""
    source, version = path.read_text(), package.rpartition(".")[2]
    for struct, body in _STRUCT.findall(source):
        kept, omitted, texts = list[str](), list[str](), dict[str, str]()
        for go_type, name, options in _FIELD.findall(body):
            simple = go_type.removeprefix("[]").removeprefix("*")
            short = simple.rpartition(".")[2]
            if simple in _SHARED or short in named:
                texts[name] = _SHARED.get(simple, f"{version if '.' not in simple else 'v1'}.{short}")
            if "omitempty" in options and (go_type in _SIMPLE or (go_type == simple and name in texts)):
                omitted.append(name)
            if "omitempty" not in options and go_type.startswith(("[]", "map[")):
                kept.append(name)
        if kept or omitted or texts:
            facts: Facts = {"kept": sorted(kept), "omitted": sorted(omitted), "texts": dict(sorted(texts.items()))}
            yield f"{package}.{struct}", facts


def encode(found: Fields) -> bytes:
    """Return the file's content, which is the same on every machine."""
    packed = io.BytesIO()
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0, filename="") as file:
        file.write(json.dumps(found, sort_keys=True, separators=(",", ":")).encode())
    return packed.getvalue()


if __name__ == "__main__":
    main()
