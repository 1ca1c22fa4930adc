"""``Pod.debug``: a container that is added to a running pod."""

from __future__ import annotations

from collections.abc import Sequence

from dynkube.client import ResourceClient
from dynkube.errors import CommandNotStarted, DeadlineExceeded, InvalidInput
from dynkube.meta import PatchType, Unstructured
from dynkube.meta._arguments import brief
from dynkube.pods._process import checked_command
from dynkube.pods._target import PodTarget
from dynkube.pods._view import PodView


async def add_debugger(
    target: PodTarget,
    pods: ResourceClient,
    image: str,
    *,
    container: str | None,
    command: Sequence[str] | None,
    name: str | None,
    timeout: float,
) -> str:
    """Add an ephemeral container, and wait until it runs; see :meth:`Pod.debug`."""
    if not image:
        raise InvalidInput(f"image is {brief(image)}: pass the name of an image")
    view = await target.view()
    known = [] if view is None else [each.name for each in view.containers()]
    if container is not None and container not in known:
        raise InvalidInput(f"target: {target} has no container {container!r}; it has {', '.join(known)}")
    if name is None:
        name = next(free for number in range(1, len(known) + 2) if (free := f"debugger-{number}") not in known)
    elif name in known:
        raise InvalidInput(
            f"name: {target} has a container {name!r} already, and it cannot be changed: pass another one"
        )
    added: dict[str, object] = {"name": name, "image": image, "stdin": True, "tty": True}
    if command is not None:
        added["command"] = checked_command(command)
    if container is not None:
        added["targetContainerName"] = container
    patch = {"spec": {"ephemeralContainers": [added]}}
    adding = pods.subresource("ephemeralcontainers")
    await adding.patch(target.name, patch, patch_type=PatchType.STRATEGIC, namespace=target.namespace)
    await _wait_until_it_runs(target, pods, name, timeout)
    return name


async def _wait_until_it_runs(target: PodTarget, pods: ResourceClient, name: str, timeout: float) -> None:
    last: PodView | None = None

    def has_begun(pod: Unstructured) -> bool:
        nonlocal last
        last = PodView.of(pod.json)
        return last is not None and (last.is_running(name) or bool(last.ended(name)))

    try:
        await pods.wait_for(target.name, has_begun, namespace=target.namespace, timeout=timeout)
    except DeadlineExceeded as error:
        why = "" if last is None else last.why_not(name)
        raise DeadlineExceeded(
            f"{target}: container {name!r} was added, and does not run after {timeout:g} s: {why or error}"
        ) from error
    if last is not None and (ended := last.ended(name)):
        raise CommandNotStarted(f"{target}: container {name!r} was added, and has ended already: {ended}")
