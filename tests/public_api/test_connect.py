"""``connect()``: its arguments, and opening and closing a client."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import httpx2
import pytest
import trio
import trio.testing

import dynkube
from dynkube.errors import ClosedError, ConfigError, InvalidInput
from dynkube_testing import APIServer
from tests.public_api.kit import config_map

KUBECONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "dev",
    "contexts": [{"name": "dev", "context": {"cluster": "c", "namespace": "shop"}}],
    "clusters": [{"name": "c", "cluster": {"server": "http://api.example"}}],
}


@pytest.mark.scenario("K11")
@pytest.mark.real_time
async def test_the_contexts_namespace_applies_to_single_objects_and_not_to_lists(server: APIServer) -> None:
    server.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    for namespace in ("shop", "default"):
        server.create(config_map(metadata={"name": "settings", "namespace": namespace}))

    async with dynkube.connect(kubeconfig=KUBECONFIG, transport=server.transport()) as client:
        one = await client.resource("configmaps").get("settings")
        everything = await client.resource("configmaps").list()
        async with client.informer("configmaps.v1") as informer:
            await informer.wait_synced()
            found = informer.get("settings")

    assert (one.namespace, len(everything)) == ("shop", 2)
    assert found is not None
    assert found.key == one.key


async def test_a_namespace_argument_overrides_the_contexts(server: APIServer) -> None:
    async with dynkube.connect(transport=server.transport(), namespace="team") as client:
        assert client.namespace == "team"


def test_on_asyncio_the_error_says_what_to_do() -> None:
    entering = dynkube.connect(url="http://127.0.0.1:9").__aenter__()

    with pytest.raises(InvalidInput, match=r"trio.run\(main\), or use dynkube.sync.connect"):
        entering.send(None)  # as on asyncio


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"token": "t"}, r"token and verify require url=\.\.\."),
        ({"verify": False}, r"token and verify require url=\.\.\."),
        ({"url": "https://a", "kubeconfig": "b"}, "url and kubeconfig are mutually exclusive"),
        ({"url": "https://a", "context": "dev"}, "context='dev' requires a kubeconfig: it cannot be combined with url"),
        ({"namespace": ""}, r"namespace='' is not a valid namespace: omit it"),
        ({"namespace": ["shop"]}, r"namespace is a list \(\['shop'\]\), not a string"),
        ({"limits": {"qps": 5}}, r"limits is a dict: pass dynkube.Limits\(...\)"),
        ({"transport": APIServer().transport}, "transport is a method: pass one of httpx2.s"),
        ({"settings": dynkube.Limits()}, r"settings is a Limits: pass dynkube.InformerSettings\(...\)"),
    ],
)
def test_incompatible_arguments_are_rejected_by_the_call(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        dynkube.connect(**arguments)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (
            {"url": "127.0.0.1:6443"},
            ConfigError,
            "'127.0.0.1:6443' is not a valid URL, it has no scheme: expected for example https://",
        ),
        ({"url": "localhost:6443"}, ConfigError, "'localhost:6443' is not a valid URL, it has no scheme"),
        ({"url": "ftp://api"}, ConfigError, "must start with https:// or http://"),
        ({"url": 5}, InvalidInput, "url is an int: pass a string"),
        ({"url": "https://a", "verify": "/nowhere.pem"}, ConfigError, "/nowhere.pem cannot be read: No such file"),
        ({"url": "https://a", "verify": None}, InvalidInput, "verify is None: pass True, False, the path of a PEM"),
        ({"url": "https://a", "token": ""}, ConfigError, "token= is empty"),
        ({"url": "https://a", "field_manager": ""}, InvalidInput, "field_manager must be the name of your program"),
    ],
)
async def test_the_error_for_an_invalid_argument_is_raised_on_entering(
    arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        async with dynkube.connect(**arguments):
            pass


async def test_a_token_is_sent_with_requests_over_a_transport() -> None:
    requests: list[httpx2.Request] = []

    def respond(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        return httpx2.Response(200, json={"gitVersion": "v1.34.0"})

    url, transport = "https://api.example:6443/prefix", httpx2.MockTransport(respond)
    async with dynkube.connect(url=url, token="s3cret", transport=transport) as client:
        version = await client.server_version()

    assert str(version) == "v1.34.0"
    assert str(requests[0].url) == "https://api.example:6443/prefix/version"
    assert requests[0].headers["authorization"] == "Bearer s3cret"
    assert "s3cret" not in repr(client)


async def test_a_client_can_be_entered_only_once(server: APIServer) -> None:
    client = dynkube.connect(transport=server.transport())

    async with client:
        with pytest.raises(ClosedError, match=r"entered before; create a new one with dynkube\.connect"):
            await client.__aenter__()
        assert await client.resource("pods").list() is not None
    with pytest.raises(ClosedError, match="entered before"):
        await client.__aenter__()


async def test_the_error_of_a_client_that_is_not_open_says_how_to_open_it(server: APIServer) -> None:
    client = dynkube.connect(transport=server.transport())
    informer = client.informer("pods.v1")

    for use in (lambda: client.resource("pods"), lambda: client.config, lambda: client.namespace):
        with pytest.raises(ClosedError, match=r"use it inside .* or use dynkube\.sync\.connect"):
            use()
    with pytest.raises(ClosedError, match="the client is not open"):
        await informer.__aenter__()


async def test_resources_and_informers_are_closed_with_their_client(server: APIServer) -> None:
    async with dynkube.connect(transport=server.transport()) as client:
        pods = client.resource("pods")
        informer = await client.informer("pods.v1").__aenter__()
        await informer.wait_synced()

    with pytest.raises(ClosedError, match="connect again"):
        await pods.list()
    with pytest.raises(ClosedError, match="STOPPED"):
        await informer.wait_state(dynkube.LIVE)
    assert (informer.list(), server.open_watches) == ([], ())


OWN = [
    KeyError("mine"),
    KeyboardInterrupt(),
    ExceptionGroup("mine", [KeyError("a"), ValueError("b")]),
    ExceptionGroup("mine", [ExceptionGroup("deep", [KeyError("a")])]),
]


@pytest.mark.parametrize("error", OWN)
async def test_an_exception_in_the_block_is_not_wrapped(server: APIServer, error: BaseException) -> None:
    before = ValueError("what it was raised about")

    async def program() -> None:
        async with dynkube.connect(transport=server.transport()) as client, client.informer("pods.v1") as pods:
            await pods.wait_synced()
            try:
                raise before
            except ValueError:
                raise error  # noqa: B904  # the context must be kept

    with pytest.raises(type(error)) as caught:
        await program()

    assert caught.value is error
    assert (error.__cause__, error.__context__, error.__suppress_context__) == (None, before, False)
    assert server.open_watches == ()


async def test_an_exception_is_not_lost_if_a_timeout_expires_at_the_same_time(server: APIServer) -> None:
    async def program() -> None:
        async with dynkube.connect(transport=server.transport()):
            try:
                await trio.sleep_forever()
            finally:
                raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"), trio.move_on_after(1):
        await program()


@pytest.mark.scenario("F28", "P10")
async def test_a_handler_that_cancels_ends_the_client_with_its_own_exception(server: APIServer) -> None:
    server.create(config_map(metadata={"name": "c", "namespace": "default"}))
    error = KeyError("from the handler")

    def fail(obj: dynkube.Unstructured) -> None:
        raise error

    async def program() -> None:
        async with (
            dynkube.connect(transport=server.transport()) as client,
            client.informer("configmaps.v1") as config_maps,
        ):
            config_maps.add_handler(on_add=fail, on_error="cancel")
            await trio.sleep_forever()

    with pytest.raises(KeyError) as caught:
        await program()

    assert caught.value is error
    assert server.open_watches == ()


@pytest.mark.scenario("F28", "P10")
async def test_an_exception_in_a_handler_is_logged_and_does_not_end_the_informer(
    server: APIServer, client: dynkube.Client, caplog: pytest.LogCaptureFixture
) -> None:
    server.create(config_map(metadata={"name": "c", "namespace": "default"}))

    async with client.informer("configmaps.v1") as config_maps:
        with caplog.at_level(logging.ERROR):
            config_maps.add_handler(on_add=lambda obj: obj["no such field"], name="mine")
            await config_maps.wait_synced()
            await trio.testing.wait_all_tasks_blocked()

        assert "handler mine failed on Added" in caplog.text
        assert config_maps.statistics().handlers[0].errors == 1


@pytest.mark.real_time
async def test_nothing_is_read_before_entering(tmp_path: Path) -> None:
    client = dynkube.connect(kubeconfig=tmp_path / "nowhere")

    assert repr(client) == "<Client, not open>"
    with pytest.raises(ConfigError, match="nowhere does not exist"):
        await client.__aenter__()
