"""Write the schemas of the built-in types for the embedded API server, from a release of Kubernetes.

    python tools/builtin_schemas.py FOLDER RELEASE [--output FILE]

``FOLDER`` contains the OpenAPI v3 documents of the release: ``api/openapi-spec/v3`` of its source. Only facts are
copied (names, types, references, required fields, defaults, merge keys), no descriptions, and only those that stable
group-versions refer to. The output depends on the input only.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

# Decoded JSON of OpenAPI documents.
JSONObject: TypeAlias = dict[str, Any]

OUTPUT = Path(__file__).parent.parent / "dynkube-testing/dynkube_testing/_kinds/builtin_schemas.json.gz"

_KINDS_KEY = "x-kubernetes-group-version-kind"
_REFERENCE = "#/components/schemas/"
_STABLE = re.compile(r"(api__|apis__.+__)v[0-9]+_openapi\.json")
# Copied as they are. "properties", "items", "additionalProperties" and "allOf" contain schemas: see facts().
_FACTS = (
    "$ref",
    "type",
    "format",
    "enum",
    "required",
    "default",
    "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-unions",
)


def main() -> None:
    """Read the arguments, write the file, and print its size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path, help="OpenAPI v3 documents of a release (api/openapi-spec/v3)")
    parser.add_argument("release", help="the version of the release, such as 1.36.3")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    args = parser.parse_args()
    definitions = collect(args.folder)
    args.output.write_bytes(encode(args.release, definitions))
    print(f"{len(definitions)} definitions in {args.output.stat().st_size:,} bytes")


def collect(folder: Path) -> JSONObject:
    """Return the definitions that the stable group-versions in ``folder`` use, by name.

    Raises:
        SystemExit: there are no such documents, or two of them have different definitions of one name.
    """
    paths = sorted(path for path in folder.glob("*.json") if _STABLE.fullmatch(path.name))
    if not paths:
        raise SystemExit(f"{folder} has no documents named like apis__apps__v1_openapi.json")
    found: JSONObject = {}
    for path in paths:
        for name, schema in json.loads(path.read_bytes())["components"]["schemas"].items():
            _add(found, name, facts(schema))
    return {name: found[name] for name in sorted(found)}


def _add(found: JSONObject, name: str, schema: JSONObject) -> None:
    known = found.setdefault(name, schema)
    # Types shared by all groups (DeleteOptions) are listed in each document with the kinds of its own group.
    kinds = [*known.get(_KINDS_KEY, ()), *schema.get(_KINDS_KEY, ())]
    if {**known, _KINDS_KEY: []} != {**schema, _KINDS_KEY: []}:
        raise SystemExit(f"{name} is defined in two ways")
    if kinds:
        unique = {tuple(kind[part] for part in ("group", "version", "kind")): kind for kind in kinds}
        known[_KINDS_KEY] = [unique[key] for key in sorted(unique)]


def facts(schema: JSONObject) -> JSONObject:
    """Return ``schema`` without its descriptions."""
    kept: JSONObject = {key: schema[key] for key in _FACTS if key in schema}
    if kinds := schema.get(_KINDS_KEY):
        kept[_KINDS_KEY] = kinds
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            kept[key] = facts(schema[key])
    for key in ("allOf", "oneOf", "anyOf"):
        if key in schema:
            kept[key] = [facts(part) for part in schema[key]]
    if "properties" in schema:
        kept["properties"] = {name: facts(part) for name, part in schema["properties"].items()}
    return kept


def references(schema: object) -> Iterator[str]:
    """Yield the names of the definitions that ``schema`` refers to."""
    if isinstance(schema, dict):
        if isinstance(target := schema.get("$ref"), str):
            yield target.removeprefix(_REFERENCE)
        for part in schema.values():
            yield from references(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from references(part)


def dangling(definitions: JSONObject) -> Iterable[str]:
    """Return the names that are referred to and not defined."""
    return sorted(set(references(definitions)) - definitions.keys())


def encode(release: str, definitions: JSONObject) -> bytes:
    """Return the file's content, which is the same on every machine.

    Raises:
        SystemExit: a definition refers to one that does not exist.
    """
    if missing := dangling(definitions):
        raise SystemExit(f"not defined: {', '.join(missing)}")
    content = {"release": release, "definitions": definitions}
    return gzip.compress(json.dumps(content, separators=(",", ":"), sort_keys=True).encode(), 9, mtime=0)


if __name__ == "__main__":
    main()
