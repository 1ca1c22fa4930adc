"""Write the objects that kube-apiserver creates at its start, for the embedded API server.

    python -m tools.bootstrap_objects ASSETS [--output FILE]

``ASSETS`` is a folder with etcd and kube-apiserver, which are run for a moment: see docs/control-plane.md. The file has
the default roles and bindings of RBAC, and the PriorityClasses, without what differs in each cluster (UIDs, times,
resourceVersions), each with the fields that kube-apiserver manages. The output depends on the release only.
"""

from __future__ import annotations

import argparse
import gzip
import json
from pathlib import Path
from typing import Any

import trio

from dynkube import connect
from dynkube_testing import ControlPlane

OUTPUT = Path(__file__).parent.parent / "dynkube-testing/dynkube_testing/_kinds/bootstrap_objects.json.gz"

# In the order in which they are created: bindings refer to roles.
_RESOURCES = {
    "scheduling.k8s.io": {"PriorityClass": "priorityclasses"},
    "rbac.authorization.k8s.io": {
        "ClusterRole": "clusterroles",
        "ClusterRoleBinding": "clusterrolebindings",
        "Role": "roles",
        "RoleBinding": "rolebindings",
    },
}
_OF_A_CLUSTER = {"uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"}


async def collect(assets: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the objects of a new control plane by API group."""
    found: dict[str, list[dict[str, Any]]] = {}
    async with ControlPlane(assets) as plane, connect(kubeconfig=plane.kubeconfig()) as client:
        for group, resources in _RESOURCES.items():
            for kind, plural in resources.items():
                answer = await client.raw("GET", f"/apis/{group}/v1/{plural}")
                items = json.loads(answer.body)["items"]
                found.setdefault(group, []).extend(_entry(f"{group}/v1", kind, item) for item in items)
    return found


def _entry(api_version: str, kind: str, item: dict[str, Any]) -> dict[str, Any]:
    metadata = {name: value for name, value in item["metadata"].items() if name not in _OF_A_CLUSTER}
    (managed,) = item["metadata"]["managedFields"]
    content = {"apiVersion": api_version, "kind": kind, **item, "metadata": metadata}
    return {"object": content, "fields": managed["fieldsV1"]}


def main() -> None:
    """Read the arguments, write the file, and print its size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("assets", type=Path, help="a folder with etcd and kube-apiserver")
    parser.add_argument("--output", type=Path, default=OUTPUT)
    options = parser.parse_args()
    found = trio.run(collect, options.assets)
    text = json.dumps(found, sort_keys=True, separators=(",", ":"))
    options.output.write_bytes(gzip.compress(text.encode(), mtime=0))
    print(f"{sum(map(len, found.values()))} objects in {options.output.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
