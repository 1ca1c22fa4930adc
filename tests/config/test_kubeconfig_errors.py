"""Every mistake in a kubeconfig is a ConfigError with file, field and fix, but without the user's token."""

from __future__ import annotations

import base64
import copy
import re
import traceback
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dynkube.config import load_config
from dynkube.errors import ConfigError, CredentialError, InvalidInput

Write = Callable[[str, object], str]
SECRET = "s3cret-token"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: b: c", r"is not valid YAML: mapping values are not allowed in this context \(line 1, column 5\)"),
        (f"token: '{SECRET}", r"is not valid YAML: found unexpected end of stream"),
        (f"token: *{SECRET}", r"is not valid YAML: found undefined alias: quote .* \(line 1, column 8\)"),
        (
            f"token: !{SECRET} a",
            r"is not valid YAML: could not determine a constructor for a local tag.*\(line 1, column 8\)",
        ),
        (f"token: !!int {SECRET}", r"is not valid YAML: cannot decode a scalar as a !!int \(line 1, column 8\)"),
        ("[" * 10_000, "is not valid YAML: nested more than 1000 levels deep"),
        ("[]", "must be a mapping with clusters"),
        (f"{SECRET}", "must be a mapping with clusters"),
        ("apiVersion: v1\nkind: Pod", ", line 2: kind is not Config: not a kubeconfig"),
        ("apiVersion: v2", ", line 1: apiVersion is not v1: not a kubeconfig"),
        ("current-context: 3", ", line 1: current-context must be a string, not a number: put it in quotes"),
        ("clusters: {a: b}", "clusters must be a list, not a mapping"),
        ("users: [a, b]", r"users\[0\] must be a mapping"),
        (
            f"users:\n- name: z\n- name: x\n  user:\n    token: [{SECRET}]",
            r", line 5: users\[name=x\]\.user\.token must be a str",
        ),
        (f"users:\n- user:\n    token:\n      {SECRET}: a", r", line 3: users\[0\]\.user\.token must be a string"),
        ("users: [{name: x, user: {as-groups: [a, 1]}}]", r"users\[name=x\]\.user\.as-groups\[1\] must be a string"),
        (f"users: [{{name: x, user: [{SECRET}]}}]", r"users\[name=x\]\.user must be a mapping"),
        ("contexts: [{name: 12}]", r"contexts\[0\]\.name must be a string, not a number: put it in quotes"),
        ("clusters: [{name: x}, {name: x}]", r"clusters\[name=x\] is the second entry named 'x': rename or remove one"),
    ],
)
def test_the_error_for_a_malformed_file_names_file_and_mistake(content: str, message: str, write: Write) -> None:
    path = write("config", content)

    with pytest.raises(ConfigError, match=message) as caught:
        load_config(kubeconfig=path)

    assert str(caught.value).startswith(f"kubeconfig {path}")
    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_the_error_for_a_malformed_second_file_names_that_file(write: Write) -> None:
    first, second = (
        write("first", {"users": [{"name": "u"}]}),
        write("second", {"users": [{"user": {"token": [SECRET]}}]}),
    )

    with pytest.raises(ConfigError, match=f"kubeconfig {second}, line 1: ") as caught:
        load_config(kubeconfig=f"{first}:{second}")

    assert SECRET not in "".join(traceback.format_exception(caught.value))


def test_a_file_that_is_not_utf_8_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "config").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ConfigError, match=r"config is not valid YAML: .*incomplete UTF-16"):
        load_config(kubeconfig=tmp_path / "config")


def test_the_error_for_a_directory_names_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=f"{tmp_path} cannot be read: Is a directory"):
        load_config(kubeconfig=tmp_path)


@pytest.mark.parametrize("missing", ["/nowhere/config", "/nowhere/a:/nowhere/b"])
def test_a_path_passed_as_argument_must_exist(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")  # it must not fall back to in-cluster

    with pytest.raises(ConfigError, match=f"kubeconfig {missing} does not exist"):
        load_config(kubeconfig=missing)


def test_an_empty_path_is_rejected() -> None:
    with pytest.raises(ConfigError, match="empty path"):
        load_config(kubeconfig="")


@pytest.mark.parametrize(
    ("variable", "message"), [(None, r"\$KUBECONFIG is not set"), ("/nowhere/c", r"\$KUBECONFIG is /nowhere/c")]
)
def test_the_error_without_any_configuration_lists_the_places_searched(
    variable: str | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable:
        monkeypatch.setenv("KUBECONFIG", variable)

    with pytest.raises(ConfigError, match=f"{message}.*not running in a pod.*pass kubeconfig= or url="):
        load_config()


@pytest.mark.parametrize(("name", "why"), [("loop", "Too many levels"), ("x" * 1000, "File name too long")])
def test_an_invalid_path_in_the_variable_is_explained(
    name: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / name))

    with pytest.raises(ConfigError, match=rf"kubeconfig {tmp_path / name} of \$KUBECONFIG cannot be read: {why}"):
        load_config()


def test_a_context_without_a_kubeconfig_is_not_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")

    with pytest.raises(ConfigError, match="context 'prod' not found"):
        load_config(context="prod")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"current-context": None}, r"has no current-context: pass context= .*there are 'ctx'"),
        ({"current-context": "prod"}, r"has no context 'prod' \(there are 'ctx'\)"),
        ({"clusters": []}, r"contexts\[name=ctx\]\.context\.cluster refers to the unknown cluster 'c'"),
        ({"users": [{"name": "v"}]}, r"context\.user refers to the unknown user 'u' \(there are 'v'\)"),
        ({"contexts": [{"name": "ctx"}]}, r"contexts\[name=ctx\]\.context\.cluster is missing"),
        ({"clusters": [{"name": "c", "cluster": {}}]}, r"clusters\[name=c\]\.cluster\.server is missing"),
    ],
)
@pytest.mark.parametrize("form", ["file", "mapping"])
def test_the_error_for_an_unknown_name_lists_the_known_ones(
    change: dict[str, Any], message: str, form: str, document: Any, write: Write
) -> None:
    broken = {**document({"token": SECRET}), **change}

    with pytest.raises(ConfigError, match=message):
        load_config(kubeconfig=write("config", broken) if form == "file" else broken)


def test_the_error_for_an_unknown_context_lists_at_most_ten() -> None:
    contexts = [{"name": f"ctx-{index:02}", "context": {}} for index in range(25)]

    with pytest.raises(ConfigError, match="'ctx-09' and 15 more"):
        load_config(kubeconfig={"contexts": contexts}, context="prod")


CLUSTER_FAULTS: list[tuple[dict[str, object], str]] = [
    ({"server": 6443}, "server must be a string, not a number"),
    ({"server": True}, "server must be a string, not a boolean"),
    ({"server": "https://"}, "server 'https:///?' is not a valid URL"),
    ({"server": f"https://me:{SECRET}@api"}, "must not contain a user or password"),
    ({"certificate-authority-data": "%%%"}, "certificate-authority-data is not valid base64"),
    ({"certificate-authority-data": base64.b64encode(b"junk").decode()}, "certificate-authority-data contains no PEM"),
    ({"certificate-authority": "nowhere.pem"}, r"the certificate authority .*/nowhere\.pem cannot be read"),
    ({"insecure-skip-tls-verify": "true"}, "insecure-skip-tls-verify must be true or false, not a string"),
    (
        {"insecure-skip-tls-verify": True, "certificate-authority": "x"},
        "and a certificate authority are mutually exclusive",
    ),
    ({"proxy-url": f"gopher://me:{SECRET}@p"}, r"proxy-url 'gopher://<hidden>@p' must start with one of http"),
]


@pytest.mark.parametrize(("fields", "message"), CLUSTER_FAULTS)
def test_the_error_for_an_invalid_cluster_names_the_field(
    fields: dict[str, object], message: str, document: Any, write: Write
) -> None:
    path = write("config", document({"token": SECRET}, **fields))

    with pytest.raises(ConfigError, match=message) as caught:
        load_config(kubeconfig=path)

    assert path in str(caught.value)
    assert SECRET not in str(caught.value)


EXEC = {"command": "p", "apiVersion": "client.authentication.k8s.io/v1", "interactiveMode": "Never"}
USER_FAULTS: list[tuple[dict[str, object], str]] = [
    ({"token": 12345}, r"user\.token must be a string, not a number: put it in quotes"),
    ({"token": f"{SECRET} {SECRET}"}, r"user\.token is not a valid bearer token"),
    ({"token": SECRET, "username": "u"}, r"user\.token and username/password are mutually exclusive"),
    ({"tokenFile": "nowhere"}, r"user\.tokenFile: .*/nowhere cannot be read"),
    ({"username": "a:b", "password": SECRET}, r"user\.username contains a colon"),
    ({"client-certificate-data": "%"}, r"user\.client-certificate-data is not valid base64"),
    ({"client-certificate": "x"}, r"user\.client-key or client-key-data is missing"),
    ({"client-key": "x"}, r"user\.client-certificate or client-certificate-data is missing"),
    ({"client-certificate": "x", "client-key": "y"}, r"user\.client-certificate: .*/x cannot be read"),
    ({"as-groups": ["g"]}, r"user\.as-groups requires 'as'"),
    ({"as-uid": "1"}, r"user\.as-uid requires 'as'"),
    ({"as-user-extra": {"k": ["v"]}}, r"user\.as-user-extra requires 'as'"),
    ({"as": "jane", "as-groups": "dev"}, r"user\.as-groups must be a list, not a string"),
    ({"as": "jane", "as-user-extra": {"k": "v"}}, r"user\.as-user-extra\.k must be a list"),
    ({"as": "jane", "as-groups": [1]}, r"user\.as-groups\[0\] must be a string, not a number"),
    ({"exec": "p"}, r"user\.exec must be a mapping, not a string"),
    ({"exec": {**EXEC, "command": ""}}, r"user\.exec\.command is missing"),
    ({"exec": {**EXEC, "apiVersion": "client.authentication.k8s.io/v1alpha1"}}, r"exec\.apiVersion must be .*v1beta1"),
    ({"exec": {**EXEC, "interactiveMode": None}}, r"exec\.interactiveMode is missing, which v1 requires"),
    ({"exec": {**EXEC, "interactiveMode": "Sometimes"}}, r"exec\.interactiveMode must be one of Never"),
    ({"exec": {**EXEC, "args": [1]}}, r"exec\.args\[0\] must be a string"),
    ({"exec": {**EXEC, "env": [{"value": SECRET}]}}, r"exec\.env\[0\]\.name is missing"),
    ({"exec": {**EXEC, "env": ["A=1"]}}, r"exec\.env\[0\] must be a mapping"),
    ({"exec": EXEC, "auth-provider": {"name": "gcp"}}, r"user\.auth-provider and exec are mutually exclusive"),
    ({"auth-provider": {"name": "gcp"}}, r"auth-provider\.name 'gcp' .*gke-gcloud-auth-plugin"),
    ({"auth-provider": {"name": "azure"}}, r"kubelogin convert-kubeconfig"),
    (
        {"auth-provider": {"name": "oidc", "config": {"refresh-token": SECRET}}},
        r"log in to obtain an id-token",
    ),
    ({"auth-provider": {"name": "openstack"}}, r"'openstack' .*use an exec plugin"),
]


@pytest.mark.parametrize(("user", "message"), USER_FAULTS)
def test_the_error_for_an_invalid_user_names_the_field(
    user: dict[str, object], message: str, document: Any, write: Write
) -> None:
    path = write("config", document(copy.deepcopy(user)))

    with pytest.raises(ConfigError, match=message) as caught:
        load_config(kubeconfig=path)

    assert re.match(rf"kubeconfig {path}(, line 1)?: users\[name=u\]\.user", str(caught.value))
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("form", ["data", "files"])
def test_the_error_for_an_expired_client_certificate_names_it(
    form: str, document: Any, write: Write, issue: Any, clock: Any
) -> None:
    pair = issue(clock() - timedelta(hours=1))
    fields = {"client-certificate": pair.certificate_pem, "client-key": pair.key_pem}
    if form == "data":
        user = {f"{name}-data": base64.b64encode(pem).decode() for name, pem in fields.items()}
    else:
        user = {name: write(f"{name}.pem", pem.decode()) for name, pem in fields.items()}

    with pytest.raises(
        CredentialError, match=r"expired at 2030-01-01T11:00:00\+00:00 \(it is 2030-01-01T12:00:00"
    ) as caught:
        load_config(kubeconfig=write("config", document(user)), now=clock)

    assert "users[name=u].user.client-certificate" in str(caught.value)


def test_the_error_for_an_expired_ca_names_it(document: Any, write: Write, authority: Any, clock: Any) -> None:
    clock.advance(days=365 * 5000)
    data = base64.b64encode(authority.cert_pem.bytes()).decode()
    path = write("config", document(**{"certificate-authority-data": data}))

    with pytest.raises(ConfigError, match=r"clusters\[name=c\]\.cluster: certificate-authority-data expired at"):
        load_config(kubeconfig=path, now=clock)


def test_a_kubeconfig_that_is_neither_path_nor_mapping_is_rejected() -> None:
    with pytest.raises(InvalidInput, match="kubeconfig is an int: pass a path"):
        load_config(kubeconfig=5)  # type: ignore[arg-type]  # the mistake under test
