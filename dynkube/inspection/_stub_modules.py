"""Modules of models: one for each group-version, from a server's OpenAPI v3 or from CRDs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import msgspec
import trio

from dynkube.client._client import APIClient
from dynkube.errors import NoMatch, ProtocolError
from dynkube.inspection._model_source import module_source
from dynkube.inspection._models import Models, kinds_in, models_of_crd
from dynkube.inspection._openapi import openapi_document, openapi_index, openapi_path, schemas_of
from dynkube.meta import GroupVersion
from dynkube.rest import Answer


def module_name(version: GroupVersion) -> str:
    """Return the name of the module of a group-version: ``apps_v1``, ``core_v1``, ``gateway_networking_k8s_io_v1``."""
    return re.sub(r"\W", "_", f"{version.group or 'core'}_{version.version}", flags=re.ASCII)


def modules_of_crds(crds: Iterable[Mapping[str, Any]], *, partial_objects: bool = False) -> dict[str, str]:
    """Return the sources of modules, by name, for all versions of CRDs.

    Args:
        crds: the CRDs.
        partial_objects: whether all fields may be missing.

    Raises:
        InvalidInput: one is not a CRD, or its schema is too large.
    """
    found: dict[GroupVersion, Models] = {}
    for crd in crds:
        for gvk, schema in models_of_crd(crd):
            version = gvk.group_version
            found.setdefault(version, Models({}, partial_objects=partial_objects)).add(gvk, schema)
    return {module_name(version): _source(version, models) for version, models in sorted(found.items())}


async def modules_of_server(
    api: APIClient, versions: Iterable[GroupVersion] | None = None, *, partial_objects: bool = False
) -> dict[str, str]:
    """Return the sources of modules, by name, for what a server serves.

    Args:
        api: the client.
        versions: the group-versions; ``None`` for all.
        partial_objects: whether all fields may be missing.

    Raises:
        NoMatch: the server has no OpenAPI v3, or not that of one of the versions.
    """
    index = await openapi_index(api)
    if index is None:
        raise NoMatch(
            "the server does not serve /openapi/v3, which came with Kubernetes 1.24: pass the files of CRDs, or try "
            "again if the server has just started"
        )
    modules = {}
    for version in sorted(_versions_in(index) if versions is None else set(versions)):
        url = index.get(openapi_path(version))
        if url is None:
            raise NoMatch(f"the server has no OpenAPI v3 document of {version}")
        answer = await openapi_document(api, url)
        # In a thread: a document of megabytes would block the loop.
        source = await trio.to_thread.run_sync(partial(_read, answer, version, partial_objects))
        if source is not None:
            modules[module_name(version)] = source
    return modules


def _versions_in(index: Mapping[str, str]) -> set[GroupVersion]:
    found = set()
    for path in index:
        match path.split("/"):
            case ["api", version]:
                found.add(GroupVersion("", version))
            case ["apis", group, version]:
                found.add(GroupVersion(group, version))
    return found


def _read(answer: Answer, version: GroupVersion, partial_objects: bool) -> str | None:
    """Return the source for a document; ``None`` if it has no kinds with metadata."""
    try:
        schemas = {name: msgspec.json.decode(raw, type=dict[str, Any]) for name, raw in schemas_of(answer).items()}
    except msgspec.MsgspecError as exc:
        raise ProtocolError(f"{answer.request}: a schema is not an object: {exc}") from exc
    models = Models(schemas, partial_objects=partial_objects)
    for gvk, schema in kinds_in(schemas, version.group, version.version):
        models.add(gvk, schema)
    return _source(version, models) if models.all() else None


def _source(version: GroupVersion, models: Models) -> str:
    return module_source(models.all(), f"Models of the kinds of {version}.")
