"""``Pod``: a handle of one pod."""

from __future__ import annotations

from typing import Final

from dynkube._bound import Bound
from dynkube.client._client import APIClient
from dynkube.errors import InvalidInput
from dynkube.meta import GVR
from dynkube.meta._arguments import brief
from dynkube.meta._path import resource_path

_PODS: Final = GVR("", "v1", "pods")


class Pod(Bound):
    """One pod of a cluster, by name; from :meth:`Client.pod <dynkube.Client.pod>`.

    Making one does no I/O, so the pod need not exist. It may be used any number of times, also by several tasks at
    once.

    Attributes:
        name: the pod's name.
        namespace: the pod's namespace.
    """

    __slots__ = ("_api", "name", "namespace")

    def __init__(self, api: APIClient, name: str, namespace: str | None = None) -> None:
        if not isinstance(name, str):
            raise InvalidInput(f"name is {brief(name)}: pass the name of a pod")
        self._api = api
        self.name: str = name
        self.namespace: str = api.namespace if namespace is None else namespace
        if self.namespace == "":
            raise InvalidInput("namespace is '': pass the namespace of the pod, or None for the context's")
        self._path()  # refuses what cannot be part of a path

    def _path(self, subresource: str | None = None) -> str:
        return resource_path(_PODS, namespace=self.namespace, name=self.name, subresource=subresource)

    def __repr__(self) -> str:
        return f"<Pod {self.namespace}/{self.name}>"
