"""The proxy that the environment variables give."""

from __future__ import annotations

import pytest

from dynkube.rest._proxy import proxy_from_environment

PROXIES = {"HTTPS_PROXY": "http://secure:3128", "http_proxy": "plain:3128"}


@pytest.mark.parametrize(
    ("server", "environ", "proxy"),
    [
        ("https://api.example:6443", {}, None),
        ("https://api.example:6443", PROXIES, "http://secure:3128"),
        ("http://api.example", PROXIES, "http://plain:3128"),
        ("https://api.example", {"https_proxy": "a:1", "HTTPS_PROXY": ""}, "http://a:1"),
        ("https://localhost:6443", PROXIES, None),
        ("https://127.9.9.9:6443", PROXIES, None),
        ("https://[::1]:6443", PROXIES, None),
        ("https://[::ffff:127.0.0.1]:6443", PROXIES, None),
    ],
)
def test_the_scheme_selects_the_variable_and_the_loopback_is_never_proxied(
    server: str, environ: dict[str, str], proxy: str | None
) -> None:
    assert proxy_from_environment(server, environ) == proxy


@pytest.mark.parametrize(
    ("no_proxy", "direct"),
    [
        ("*", True),
        ("api.example", True),
        ("API.Example", True),
        ("other, example ", True),
        (".example", True),
        ("*.example", True),
        ("*ple", False),
        ("api.example:", True),
        (".api.example", False),
        ("i.example", False),
        ("api.example:6443", True),
        ("api.example:443", False),
        ("api.example:https", False),
        ("6443", False),
        ("", False),
        (",", False),
    ],
)
def test_no_proxy_lists_domains_and_ports(no_proxy: str, direct: bool) -> None:
    environ = {**PROXIES, "NO_PROXY": no_proxy}

    assert (proxy_from_environment("https://api.example:6443", environ) is None) == direct


@pytest.mark.parametrize(
    ("server", "no_proxy", "direct"),
    [
        ("https://10.1.2.3", "10.0.0.0/8", True),
        ("https://11.1.2.3", "10.0.0.0/8", False),
        ("https://10.1.2.3", "10.1.2.3", True),
        ("https://10.1.2.3:6443", "10.1.2.3:6443", True),
        ("https://10.1.2.3", "nonsense/8", False),
        ("https://[fd00::1]", "fd00::/8", True),
        ("https://[fd00::1]", "fd00::1", True),
        ("https://[fd00::1]:6443", "[fd00::1]:6443", True),
        ("https://[fd00::1]", "fd00::2", False),
        ("https://[::ffff:10.1.2.3]", "10.1.2.3", True),
        ("https://[::ffff:10.1.2.3]", "10.0.0.0/8", True),
        ("https://10.1.2.3", "::ffff:10.1.2.3", True),
        ("https://10.1.2.3", "::ffff:10.0.0.0/104", True),
        ("https://11.1.2.3", "::ffff:10.0.0.0/104", False),
        ("https://10.1.2.3", "::ffff:10.0.0.0/64", False),
        ("https://10.1.2.3", "::/0", False),
        ("https://10.1.2.3", "10.0.0.0/255.0.0.0", False),
        ("https://10.1.2.3:6443", "[::ffff:10.1.2.3]:6443", True),
        ("https://[fd00::1]", "[fd00::1]", False),
        ("https://[fe80::1%25eth0]", "fe80::1", True),
        ("https://10.1.2.3", "2.3", False),
    ],
)
def test_no_proxy_lists_addresses_and_networks(server: str, no_proxy: str, direct: bool) -> None:
    environ = {**PROXIES, "no_proxy": no_proxy}

    assert (proxy_from_environment(server, environ) is None) == direct
