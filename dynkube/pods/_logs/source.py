"""One pod, as the reader of a log needs it: its status, changes of it, and requests for its logs."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager, suppress
from random import Random
from typing import Final, Literal, TypeAlias

import trio

from dynkube.client._client import APIClient
from dynkube.errors import DynkubeError, Gone, NotFound
from dynkube.errors._evidence import proves_deletion
from dynkube.meta import GVR, Unstructured
from dynkube.meta._path import resource_path
from dynkube.rest._messages import Request
from dynkube.rest._stream import ByteStream

State: TypeAlias = Literal["waiting", "reading", "ended", "failed"]
"""What happens to the log of a container."""

PODS: Final = GVR("", "v1", "pods")
SILENCE: Final = 300.0
"""Seconds without a line: the connection may be dead without anyone noticing, and opening another one loses nothing."""


class PodSource:
    """One pod of a cluster: that which had the name when it was first read.

    Args:
        api: sends the requests.
        name: the pod's name.
        namespace: the pod's namespace.
        uid: the pod's UID, if it is known already.
    """

    def __init__(self, api: APIClient, name: str, namespace: str, uid: str = "") -> None:
        self._api = api
        self._uid = uid
        self._path = resource_path(PODS, namespace=namespace, name=name, subresource="log")
        self.name: str = name
        self.namespace: str = namespace

    @property
    def random(self) -> Random:
        """The source of jitter."""
        return self._api.random

    async def find(self) -> Unstructured:
        """Request the pod.

        Raises:
            NotFound: there is no such pod.
            DynkubeError: any other failure.
        """
        pod = await self._api.resource(PODS).get(self.name, namespace=self.namespace)
        self._uid = self._uid or pod.uid
        return pod

    async def read(self) -> Unstructured | None:
        """Request the pod; ``None`` if it was deleted, also if another one has its name now."""
        try:
            pod = await self.find()
        except NotFound as error:
            if not proves_deletion(error):
                raise
            return None
        return pod if pod.uid == self._uid else None

    async def is_gone(self) -> bool:
        """Return whether the pod does not exist any more; ``False`` if it cannot be read."""
        with suppress(DynkubeError):  # the log is read on
            return await self.read() is None
        return False

    def note_state(self, state: State, reason: str = "") -> None:
        """Take note of what happens to the log; for subclasses."""

    async def wait_changed(self, pod: Unstructured) -> None:
        """Wait until the pod is not as ``pod`` any more, or may not be.

        Raises:
            Forbidden: the user may not watch pods.
            DynkubeError: any other failure.
        """
        await trio.lowlevel.checkpoint()
        watch = self._api.resource(PODS).watch(
            namespace=self.namespace,
            field_selector={"metadata.name": self.name},
            resource_version=pod.resource_version,
            bookmarks=False,
        )
        with suppress(Gone):  # the pod is read again, which shows what has changed
            async with watch as events:
                await anext(aiter(events), None)

    def request_log(self, params: Mapping[str, str], *, follow: bool) -> AbstractAsyncContextManager[ByteStream]:
        """Return a request for a log, to be entered."""
        request = Request(
            method="GET",
            path=self._path,
            params=params,
            accept="application/json, */*",  # without JSON, error responses would be plain text
            timeout=SILENCE if follow else None,  # older kubelets send no response before the first line
        )
        return self._api.rest.stream(request, watch=follow)
