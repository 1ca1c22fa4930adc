"""Warnings about volumes of a pod: deprecated or removed types, overlapping files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dynkube_testing._builtin.containerwarnings import fraction
from dynkube_testing._builtin.sections import indexed, items
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.gotext import quoted
from dynkube_testing._schemas.quantities import each

# Deprecated and removed volume types: the name in messages and the text, by field.
_GONE = {
    "photonPersistentDisk": ("photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    "gitRepo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}


def volume_warnings(at: str, spec: JSONObject) -> Iterator[str]:
    """Yield the warnings for the volumes of the pod spec at the path ``at``."""
    for path, volume in indexed(spec, at, "volumes"):
        yield from (
            f"{path}.{name}: {warning}" for field, (name, warning) in _GONE.items() if volume.get(field) is not None
        )
        claim = (volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}
        yield from claim_warnings(f"{path}.ephemeral.volumeClaimTemplate.spec", claim.get("spec") or {})
    for volume in items(spec, "volumes"):
        yield from _overlap_warnings(volume)


def claim_warnings(at: str, spec: JSONObject) -> Iterator[str]:
    """Yield the warnings for the claim spec at the path ``at``."""
    resources = spec.get("resources") or {}
    for name in ("requests", "limits"):
        if warning := fraction(each(resources, name).get("storage"), f"{at}.resources.{name}[storage]"):
            yield warning


@dataclass(frozen=True, slots=True)
class _File:
    """A path in a volume, and the source of the file if warnings contain it."""

    path: str
    source: str = ""

    def __str__(self) -> str:
        return f"{quoted(self.path)} ({self.source})" if self.source else quoted(self.path)

    def overlaps(self, other: _File) -> bool:
        """Return whether the paths are equal, or one contains the other."""
        mine, theirs = f"{self.path}/", f"{other.path}/"
        return bool(self.path and other.path) and (mine.startswith(theirs) or theirs.startswith(mine))


def _overlap_warnings(volume: JSONObject) -> Iterator[str]:
    name = f"volume {quoted(volume.get('name', ''))}"
    for field, described in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        source = volume.get(field) or {}
        named = _described(described, source.get("secretName" if field == "secret" else "name"))
        yield from _overlaps(f"{name} ({named})", _files(source))
    files: list[_File] = []
    for source in items(volume.get("projected") or {}, "sources"):
        if not source:
            yield f"{name} (Projected) has no sources provided"
        files += _projected(source)
    yield from _overlaps(f"{name} (Projected)", files)


def _described(what: str, name: object) -> str:
    return what if what == "DownwardAPI" else f"{what} {quoted(str(name or ''))}"


def _files(source: JSONObject, origin: str = "") -> list[_File]:
    return [_File((item.get("path") or "").rstrip("/"), origin) for item in items(source, "items")]


def _projected(source: JSONObject) -> list[_File]:
    """Return the files of one source of a projected volume."""
    for field, described in (("configMap", "ConfigMap"), ("secret", "Secret"), ("downwardAPI", "DownwardAPI")):
        if (given := source.get(field)) is not None:
            return _files(given, _described(described, given.get("name")))
    if (token := source.get("serviceAccountToken")) is not None:
        return [_File((token.get("path") or "").rstrip("/"), "ServiceAccountToken")]
    if (bundle := source.get("clusterTrustBundle")) is not None:
        origin = _described("ClusterTrustBundle", bundle.get("name") or bundle.get("signerName"))
        return [_File((bundle.get("path") or "").rstrip("/"), origin)]
    return _certificates(source.get("podCertificate") or {})


def _certificates(source: JSONObject) -> list[_File]:
    warning = {"certificateChainPath": "chain", "keyPath": "key", "credentialBundlePath": "credential bundle"}
    return [
        _File(source[field].rstrip("/"), f"PodCertificate {part}")
        for field, part in warning.items()
        if source.get(field)
    ]


def _overlaps(described: str, files: list[_File]) -> Iterator[str]:
    for index, file in enumerate(files):
        for other in files[:index]:
            if file.overlaps(other):
                yield f"{described}: overlapping paths: {file} with {other}"
