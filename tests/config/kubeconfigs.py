"""Kubeconfigs that this library has to read as kubectl does; ``record_kubectl.py`` records its outcomes."""

# ruff: noqa: E501 - one case a line

from __future__ import annotations

import base64
import itertools
import json
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

V1 = "client.authentication.k8s.io/v1"


@dataclass(frozen=True)
class Place:
    """What differs between two recordings: the server, its CA, and a client certificate."""

    server: str
    ca: str
    certificate: str
    key: str
    other_key: str


@dataclass(frozen=True)
class Case:
    """Files in an empty directory, which is also the home directory, and the value of $KUBECONFIG."""

    files: Mapping[str, str | bytes]
    variable: str = "config"
    """Names of files, separated by colons."""

    def write(self, directory: Path) -> str:
        """Write the files; return the value of $KUBECONFIG."""
        for name, content in self.files.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            path.chmod(0o755 if name.endswith(".sh") else 0o644)
        return ":".join(str(directory / name) if name else "" for name in self.variable.split(":"))


def base64_of(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


class Texts:
    """Texts of kubeconfigs for one place."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.ca_data = base64_of(place.ca)

    def config(
        self,
        *,
        cluster: str | None = None,
        user: str = "{token: secret}",
        context: str = "{cluster: c, user: u}",
        users: str | None = None,
        top: str = "current-context: x",
    ) -> str:
        """Return a kubeconfig with these fragments of YAML."""
        cluster = cluster or self.cluster()
        users = users or f"[{{name: u, user: {user}}}]" if "\n" not in user else f"\n- name: u\n  user:{user}"
        return (
            f"apiVersion: v1\nkind: Config\nclusters:\n- name: c\n  cluster: {cluster}\n"
            f"contexts:\n- name: x\n  context: {context}\nusers: {users}\n{top}\n"
        )

    def cluster(self, *more: str, server: str | None = None, ca: bool = True) -> str:
        """Return a cluster with these fields; one that begins with ``server`` replaces the server."""
        fields = [f"server: '{self.place.server if server is None else server}'", *more]
        if ca:
            fields.append(f"certificate-authority-data: {self.ca_data}")
        return f"{{{', '.join(fields)}}}"


def cases(place: Place) -> dict[str, Case]:
    """Return all cases by name; the name before the colon is that of the group."""
    texts = Texts(place)
    groups = {
        "encodings": encodings(texts),
        "documents": documents(texts),
        "top level": top_level(texts),
        "entries": entries(texts),
        "types": types(texts),
        "merges": merges(texts),
        "clusters": clusters(texts),
        "authorities": authorities(texts),
        "users": users(texts),
        "certificates": certificates(texts),
        "plugins": plugins(texts),
        "answers": answers(texts),
    }
    return {
        f"{group}: {name}": case if isinstance(case, Case) else Case({"config": case})
        for group, found in groups.items()
        for name, case in found
    }


Found = Iterator[tuple[str, Case | str | bytes]]


def encodings(texts: Texts) -> Found:
    """Bytes that are the same text, or are no text."""
    good = texts.config()
    yield "UTF-8", good
    yield "UTF-8 with a byte order mark", b"\xef\xbb\xbf" + good.encode()
    yield "UTF-16 LE with a byte order mark", "\ufeff".encode("utf-16-le") + good.encode("utf-16-le")
    yield "UTF-16 BE with a byte order mark", "\ufeff".encode("utf-16-be") + good.encode("utf-16-be")
    yield "UTF-16 LE without a byte order mark", good.encode("utf-16-le")
    yield "UTF-32 with a byte order mark", good.encode("utf-32")
    yield "Latin-1 in a comment", b"# gr\xf6\xdfe\n" + good.encode()
    yield "an umlaut in a comment", "# größe\n" + good
    yield (
        "an umlaut in names",
        good.replace("name: x", "name: größe").replace("current-context: x", "current-context: größe"),
    )
    yield "an emoji in a namespace", texts.config(context="{cluster: c, user: u, namespace: 🐍}")
    yield "CRLF", good.replace("\n", "\r\n")
    yield "CR only", good.replace("\n", "\r")
    yield "no final line break", good.rstrip()
    yield "NEL as line break", good.replace("\n", "\u0085")
    yield "a NUL character", good + "# \0\n"
    yield "an escape character in a comment", good + "# \x1b[1m\n"
    yield "DEL in a comment", good + "# \x7f\n"
    yield "a byte order mark in the middle", good + "\ufeff# end\n"
    yield "blanks at line ends", good.replace("\n", "  \n")
    yield "tabs at line ends", good.replace("\n", "\t\n")
    yield "tab indentation", good.replace("  cluster: {", "\tcluster: {")
    yield "tabs in a flow mapping", good.replace("{", "{\t").replace(", ", ",\t")
    yield "a comment without a blank", good.replace("kind: Config", "kind: Config#a")
    yield "JSON", as_json(texts, None)
    yield "JSON with tabs", as_json(texts, "\t")
    yield "JSON with escapes", as_json(texts, None).replace('"token"', '"\\u0074oken"')
    yield "JSON with a comma at the end", as_json(texts, None).rstrip("}") + ",}"
    yield "JSON with a solidus escaped", as_json(texts, None).replace("https://", "https:\\/\\/")


def as_json(texts: Texts, indent: str | None) -> str:
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "c", "cluster": {"server": texts.place.server, "certificate-authority-data": texts.ca_data}}
        ],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": {"token": "secret"}}],
        "current-context": "x",
    }
    return json.dumps(content, indent=indent)


def documents(texts: Texts) -> Found:
    """Several documents, markers, anchors, tags and duplicates."""
    good = texts.config()
    other = good.replace("token: secret", "token: other")
    yield "a marker at the end", f"---\n{good}---\n"
    yield "an end marker", good + "...\n"
    yield "an end marker and text", good + "...\nsomething: else\n"
    yield "two documents", f"{good}---\n{other}"
    yield "an empty document first", f"---\n---\n{good}"
    yield "a comment as first document", f"# nothing\n---\n{good}"
    yield "the second document is malformed", f"{good}---\na: b: c\n"
    yield "the second document is of another kind", f"{good}---\nkind: Pod\n"
    yield "a directive", f"%YAML 1.1\n---\n{good}"
    yield "a directive of YAML 1.2", f"%YAML 1.2\n---\n{good}"
    yield "a directive of YAML 2.0", f"%YAML 2.0\n---\n{good}"
    yield "an unknown directive", f"%FOO bar\n---\n{good}"
    yield "empty file", ""
    yield "only a comment", "# nothing\n"
    yield "only null", "null\n"
    yield "only a marker", "---\n"
    yield "a list", "[]\n"
    yield "a string", "secret\n"
    yield "a number", "5\n"
    yield "an empty mapping", "{}\n"
    yield "malformed", "a: b: c\n"
    yield "anchors", f"x-user: &u {{token: secret}}\n{texts.config(user='*u')}"
    yield "merge keys", f"x-user: &u {{token: secret}}\n{texts.config(user='{<<: *u}')}"
    yield "a list of merge keys", f"x: &a {{token: secret}}\ny: &b {{token: no}}\n{texts.config(user='{<<: [*a, *b]}')}"
    yield "a merge key before the key", texts.config(user="{<<: {token: other}, token: secret}")
    yield "a merge key beside the key", f"x: &a {{token: other}}\n{texts.config(user='{token: secret, <<: *a}')}"
    yield "an unknown alias", texts.config(user="*nowhere")
    yield "an alias of the parent", texts.config(user="&u {extensions: [{name: a, extension: *u}]}")
    yield "a duplicate key", texts.config(user="{token: other, token: secret}")
    yield "a duplicate section", f"{good}users: [{{name: u, user: {{token: other}}}}]\n"
    yield "a duplicate kind", f"kind: Pod\n{good}"
    yield "a tag for a string", texts.config(user="{token: !!str 12345}")
    yield "a tag for a number", texts.config(user="{token: !!int 12345}")
    yield "a tag for binary data", texts.config(user="{token: !!binary c2VjcmV0}")
    yield "a local tag", texts.config(user="{token: !secret abc}")
    yield "a tag of Python", texts.config(user="{token: !!python/name:os.system ''}")
    yield "a non-specific tag", texts.config(user="{token: ! 12345}")
    yield "a complex key", texts.config(user="{token: secret, ? [a] : b}")
    yield "a null key", texts.config(user="{token: secret, ~: b}")
    yield "a key that is a number", texts.config(user="{token: secret, 5: b}")
    yield "a key that is a boolean", texts.config(user="{token: secret, y: b}")
    yield (
        "an infinite number in an extension",
        texts.config(top="current-context: x\nextensions: [{name: a, extension: .inf}]"),
    )
    yield (
        "a date in an extension",
        texts.config(top="current-context: x\nextensions: [{name: a, extension: {t: 2020-01-02}}]"),
    )
    yield (
        "an impossible date",
        texts.config(top="current-context: x\nextensions: [{name: a, extension: {t: 2020-13-45}}]"),
    )
    yield "a sexagesimal number", texts.config(user="{token: 12:30:45}")
    yield "a number that is too large", texts.config(user="{token: 1e999}")
    yield "digits with underscores", texts.config(user="{token: 1_000}")
    yield "an octal number", texts.config(user="{token: 0o17}")
    yield "nested twenty levels deep", texts.config(top=f"current-context: x\nother: {'[' * 20}{']' * 20}")


def top_level(texts: Texts) -> Found:
    """``kind``, ``apiVersion``, ``current-context``, and unknown fields."""
    good = texts.config()
    yield "without kind and apiVersion", good.replace("apiVersion: v1\nkind: Config\n", "")
    yield "without apiVersion", good.replace("apiVersion: v1\n", "")
    yield "without kind", good.replace("kind: Config\n", "")
    for version in ("v2", "''", "null", "1", "clientconfig/v1", "v1beta1", "V1"):
        yield f"apiVersion {version}", good.replace("apiVersion: v1\n", f"apiVersion: {version}\n")
    for kind in ("config", "Pod", "''", "null", "5", "List"):
        yield f"kind {kind}", good.replace("kind: Config\n", f"kind: {kind}\n")
    for current in ("''", "null", "7", "true", "y", "[x]", "other", "X", "'x '"):
        yield f"current-context {current}", texts.config(top=f"current-context: {current}")
    yield "without current-context", texts.config(top="")
    yield "Current-Context", texts.config(top="Current-Context: x")
    yield "an unknown field", texts.config(top="current-context: x\ncolours: [blue]")
    yield "preferences null", texts.config(top="current-context: x\npreferences: null\nextensions: null")
    yield "preferences with colors", texts.config(top="current-context: x\npreferences: {colors: true}")
    yield "preferences with wrong colors", texts.config(top="current-context: x\npreferences: {colors: blue}")
    yield (
        "two extensions of one name",
        texts.config(top="current-context: x\nextensions: [{name: a, extension: 1}, {name: a, extension: 2}]"),
    )
    yield (
        "extensions without names",
        texts.config(top="current-context: x\nextensions: [{extension: 1}, {extension: 2}]"),
    )
    yield "names that are numbers", good.replace("name: u", "name: 123").replace("user: u}", "user: 123}")
    yield (
        "a name with colons",
        good.replace("name: u,", "name: 'arn:aws:eks:eu-1:1:cluster/a',").replace(
            "user: u}", "user: 'arn:aws:eks:eu-1:1:cluster/a'}"
        ),
    )


def entries(texts: Texts) -> Found:
    """Names and references of clusters, contexts and users."""
    good = texts.config()
    secret, other = "{name: u, user: {token: secret}}", "{name: u, user: {token: other}}"
    yield "two users of one name", texts.config(users=f"[{secret}, {other}]")
    yield "the same user twice", texts.config(users=f"[{secret}, {secret}]")
    yield "two contexts of one name", good.replace("contexts:\n", "contexts:\n- {name: x, context: {cluster: a}}\n")
    yield "a user without a name", texts.config(users=f"[{{user: {{token: other}}}}, {secret}]")
    yield "two users without names", texts.config(users=f"[{{user: {{token: other}}}}, {{user: {{}}}}, {secret}]")
    yield "a user with an empty name", texts.config(users=f"[{{name: '', user: {{token: other}}}}, {secret}]")
    yield "a null user", texts.config(users=f"[null, {secret}]")
    yield "two null users", texts.config(users=f"[null, null, {secret}]")
    yield "an empty user", texts.config(user="{}")
    yield "a user that is null", texts.config(user="null")
    yield "a user without content", texts.config(users="[{name: u}]")
    yield "users null", texts.config(users="null", context="{cluster: c}")
    yield (
        "an unnamed user, and no user in the context",
        texts.config(users="[{user: {token: secret}}]", context="{cluster: c}"),
    )
    yield (
        "an unnamed cluster, and no cluster in the context",
        good.replace("- name: c\n", "- name: ''\n").replace("{cluster: c, user: u}", "{user: u}"),
    )
    yield (
        "an unnamed cluster and no context",
        (f"clusters: [{{name: '', cluster: {texts.cluster()}}}]\ncontexts: []\ncurrent-context: ''\nusers: []\n"),
    )
    yield (
        "an unnamed cluster and user, and no context",
        (f"clusters: [{{cluster: {texts.cluster()}}}]\nusers: [{{user: {{token: secret}}}}]\n"),
    )
    yield (
        "an unnamed cluster beside a named one",
        good.replace("clusters:\n", "clusters:\n- cluster: {server: 'https://x'}\n"),
    )
    yield (
        "a context with an empty name",
        good.replace("- name: x\n", "- name: ''\n").replace("-context: x", "-context: ''"),
    )
    yield (
        "a context without a name",
        good.replace("- name: x\n  context", "- context").replace("current-context: x\n", ""),
    )
    yield "a context without a user", texts.config(context="{cluster: c}")
    yield "a context with an empty user", texts.config(context="{cluster: c, user: ''}")
    yield "a context with an unknown user", texts.config(context="{cluster: c, user: other}")
    yield "a context with an unknown cluster", texts.config(context="{cluster: other, user: u}")
    yield "a context without a cluster", texts.config(context="{user: u}")
    yield "a null context", texts.config(context="null")
    for namespace in ("shop", "''", "null", "42", "n", "off", "~", "'n'", "No.1", "UPPER", "1e3", "0x", "a.b"):
        yield f"namespace {namespace}", texts.config(context=f"{{cluster: c, user: u, namespace: {namespace}}}")
    for field in ("Server", "Token", "Namespace"):
        text = texts.config(context="{cluster: c, user: u, namespace: shop}")
        yield f"the field {field}", text.replace(f"{field.lower()}:", f"{field}:")
    yield "unknown fields everywhere", good.replace("- name: ", "- a: b\n  name: ").replace("{", "{hobby: [chess], ")


WRONG = ("5", "1.5", "true", "text", "''", "[text]", "[5]", "[null]", "{a: b}", "{a: [b]}", "{a: null}", "null")
FIELDS = {
    "cluster": (
        "tls-server-name", "insecure-skip-tls-verify", "proxy-url", "disable-compression", "extensions",
    ),
    "user": (
        "token", "username", "as", "as-groups", "as-user-extra", "auth-provider", "exec", "client-key-data", "extensions",
    ),
    "context": ("namespace", "extensions"),
}  # fmt: skip


def types(texts: Texts) -> Found:
    """Values of each type for fields of each type, in entries that are used and that are not."""
    for field, value in itertools.product(FIELDS["context"], WRONG):
        yield f"context.{field} {value}", texts.config(context=f"{{cluster: c, user: u, {field}: {value}}}")
    # In a cluster or user that is not used a value is not checked further, only its type.
    for field, value in itertools.product(FIELDS["cluster"], WRONG):
        text = f"clusters:\n- name: unused\n  cluster: {{{field}: {value}}}\n"
        yield f"cluster.{field} {value}", texts.config().replace("clusters:\n", text)
    for field, value in itertools.product(FIELDS["user"], WRONG):
        unused = f"{{name: unused, user: {{{field}: {value}}}}}"
        yield f"user.{field} {value}", texts.config(users=f"[{unused}, {{name: u, user: {{token: secret}}}}]")
    for section, value in itertools.product(("clusters", "contexts", "users"), WRONG):
        yield f"{section} {value}", texts.config(users="[]", top=f"current-context: x\n{section}: {value}")
    for field, value in itertools.product(("args", "env", "provideClusterInfo", "command"), WRONG):
        unused = f"{{name: unused, user: {{exec: {{{field}: {value}}}}}}}"
        yield f"exec.{field} {value}", texts.config(users=f"[{unused}, {{name: u, user: {{token: secret}}}}]")


def merges(texts: Texts) -> Found:
    """Several files: what wins, and what relative paths are relative to."""
    good, other = texts.config(), texts.config().replace("token: secret", "token: other")
    user = "users: [{name: u, user: {token: other}}]\n"

    def files(variable: str, **content: str | bytes) -> Case:
        return Case(content, variable)

    yield "the first user wins", files("a:b", a=good, b=user)
    yield "the first user wins, whole", files("a:b", a=texts.config(user="{username: me}"), b=good)
    yield "the second file has the user", files("a:b", a=good.replace("name: u,", "name: v,"), b=user)
    yield (
        "the first current-context wins",
        files("a:b", a="current-context: x\n", b=good.replace("current-context: x", "current-context: y")),
    )
    yield "an empty current-context does not win", files("a:b", a="current-context: ''\n", b=good)
    yield "an empty file", files("a:b", a="", b=good)
    yield "a file with a comment", files("a:b", a="# nothing\n", b=good)
    yield "a missing file", files("a:b", b=good)
    yield "a missing file at the end", files("b:a", b=good)
    yield "all missing", files("a:b")
    yield "an empty name", files(":b", b=good)
    yield "the same file twice", files("b:b", b=good)
    yield "a file that is malformed", files("a:b", a=good, b="a: b: c\n")
    yield "a file of another kind", files("a:b", a=good, b="kind: Pod\n")
    yield "a file with a wrong type", files("a:b", a=good, b="users: [{name: v, user: {token: 5}}]\n")
    yield "a duplicate name in the second file", files("a:b", a=good, b="users: [{name: v}, {name: v}]\n")
    yield "one of two has an unnamed user", files("a:b", a="users: [{user: {token: other}}]\n", b=good)
    yield "one of two has two documents", files("a:b", a=f"{good}---\n{other}", b=other)
    yield "one of two is UTF-16", files("a:b", a="users: []\n".encode("utf-16"), b=good)
    yield "a null section first", files("a:b", a="users: null\nclusters: null\ncontexts: null\n", b=good)
    yield "a file below a file", files("b/a:b", b=good)
    ca = texts.cluster("certificate-authority: pki/ca.pem", ca=False)
    relative = {"one/config": texts.config(cluster=ca), "two/config": "users: []\n", "one/pki/ca.pem": texts.place.ca}
    yield "a path relative to its file", Case(relative, "two/config:one/config")
    token = {"two/config": "users: [{name: u, user: {tokenFile: token}}]\n", "two/token": "secret", "one/token": "no"}
    yield (
        "a path relative to the second file",
        Case({"one/config": texts.config(users="[]"), **token}, "one/config:two/config"),
    )


def clusters(texts: Texts) -> Found:
    """Addresses, and the other fields of a cluster."""
    server = texts.place.server
    for name, address in {
        "with a slash": f"{server}/",
        "with two slashes": f"{server}//",
        "with a path": f"{server}/k8s/clusters/c-1",
        "with a path and a slash": f"{server}/k8s/clusters/c-1/",
        "with a path and a query": f"{server}/k8s?a=b",
        "in upper case": server.upper(),
        "without a scheme": server.removeprefix("https://"),
        "with blanks around it": f" {server} ",
        "with user and password": server.replace("://", "://me:pw@"),
        "with a query": f"{server}?a=b",
        "with a fragment": f"{server}#top",
        "empty": "",
        "of another scheme": server.replace("https", "ftp"),
        "without a host": "https://",
        "with a port that is none": "https://127.0.0.1:port",
        "IPv4-mapped": server.replace("127.0.0.1", "[::ffff:127.0.0.1]"),
    }.items():
        yield f"a server {name}", texts.config(cluster=texts.cluster(server=address))
    fields = (
        "tls-server-name: localhost", "tls-server-name: ''", "proxy-url: ''", "proxy-url: 'ftp://localhost:1'",
        "proxy-url: 'localhost:1'", "proxy-url: 'http://'", "proxy-url: '://'", "disable-compression: true",
        "insecure-skip-tls-verify: true", "insecure-skip-tls-verify: false",
        "extensions: [{name: cluster_info, extension: {last-update: 'Tue, 01 Jan 2030', version: v1}}]",
        "extensions: [{name: a, extension: null}]", "extensions: [{name: a}, {name: a}]",
    )  # fmt: skip
    for field in fields:
        yield field, texts.config(cluster=texts.cluster(field))
    for value in ("true", "yes", "'true'", "1"):
        cluster = texts.cluster(f"insecure-skip-tls-verify: {value}", ca=False)
        yield f"without a CA, insecure {value}", texts.config(cluster=cluster)
    yield "null server", texts.config(cluster=texts.cluster().replace(f"'{server}'", "null"))
    yield "an empty cluster", texts.config(cluster="{}")


def authorities(texts: Texts) -> Found:
    """Certificate authorities, as data and as files."""
    ca = texts.place.ca
    wrapped = "\n".join(textwrap.wrap(texts.ca_data, 64))

    def data(value: str) -> str:
        return texts.config(cluster=texts.cluster(f"certificate-authority-data: {value}", ca=False))

    def block(text: str, style: str = "|") -> str:
        cluster = f"\n    server: '{texts.place.server}'\n    certificate-authority-data: {style}\n"
        return texts.config(cluster=cluster + textwrap.indent(text, "      "))

    yield "data in lines", block(wrapped)
    yield "data in a folded block", block(wrapped, ">")
    yield "data in quotes with blanks", data(f"' {texts.ca_data} '")
    yield "data without padding", data(base64_of(ca + "\n" * ((1 - len(ca)) % 3)).rstrip("="))
    yield "data in the alphabet for URLs", data(base64.urlsafe_b64encode((ca + "?>~?>~").encode()).decode())
    yield "data that is PEM itself", block(ca)
    yield "data that is encoded twice", data(base64_of(texts.ca_data))
    yield "data that is not base64", data("'%%%'")
    yield "data that is not PEM", data(base64_of("junk"))
    yield "data with other text", data(base64_of(f"subject=ca\nissuer=ca\n{ca}\n# end\n"))
    yield "data with CRLF", data(base64_of(ca.replace("\n", "\r\n")))
    yield "data with a byte order mark", data(base64_of("\ufeff" + ca))
    yield "data with padding that is too long", data(f"'{texts.ca_data.rstrip('=')}===='")
    yield (
        "data that is empty, insecure",
        texts.config(
            cluster=texts.cluster("certificate-authority-data: ''", "insecure-skip-tls-verify: true", ca=False)
        ),
    )
    yield (
        "data and a file",
        Case({"config": texts.config(cluster=texts.cluster("certificate-authority: ca.pem")), "ca.pem": ca}),
    )
    yield "data and a missing file", texts.config(cluster=texts.cluster("certificate-authority: nowhere.pem"))
    for name, path, content in (
        ("a relative file", "ca.pem", ca),
        ("a relative file with dots", "./pki/../ca.pem", ca),
        ("a file in the home directory", "~/ca.pem", ca),
        ("a file with a variable", "$HOME/ca.pem", ca),
        ("an empty file", "ca.pem", ""),
        ("a file that is not PEM", "ca.pem", "junk"),
        ("a missing file", "nowhere.pem", ca),
        ("a directory", ".", ca),
    ):
        cluster = texts.cluster(f"certificate-authority: {path}", ca=False)
        files = {"config": texts.config(cluster=cluster), "ca.pem": content, "pki/a": ""}
        yield name, Case(files)
    yield "an empty path and data", texts.config(cluster=texts.cluster("certificate-authority: ''"))
    yield "a null file and data", texts.config(cluster=texts.cluster("certificate-authority: null"))


def users(texts: Texts) -> Found:
    """Tokens, passwords, impersonation, auth providers."""
    valid, expired = jwt(4e9), jwt(1e9)
    issuer = "idp-issuer-url: 'https://127.0.0.1:1', client-id: a"
    for user in (
        "{token: secret, hobby: chess}", "{token: ''}", "{token: null}", "{token: '12345'}", "{token: 12345}",
        r'{token: "secret\n"}', r'{token: " secret"}', r'{token: "sec\nret"}', '{token: "secrët"}', "{token: secret, auth-provider: null}",
        "{username: me}", "{password: pw}", "{username: me, password: pw}", "{username: '', password: ''}",
        "{username: 'a:b', password: pw}", "{username: mé, password: pw}", "{token: secret, username: me}",
        "{token: secret, as: jane}", "{token: secret, as: jane, as-uid: '7', as-groups: [a, b]}",
        "{token: secret, as: jane, as-user-extra: {scopes: [a, b], Other: [c]}}", "{token: secret, as-uid: '7'}",
        "{token: secret, as: jane, as-user-extra: {scopes: null}}", "{token: secret, as: jane, as-groups: [null]}",
        "{token: secret, as-groups: [a]}", "{token: secret, as-user-extra: {a: [b]}}", "{token: secret, as: ''}",
        "{token: secret, auth-provider: {name: gcp, config: null}}", "{auth-provider: {name: azure}}",
        "{auth-provider: {name: gcp, config: {access-token: secret, expiry: '2099-01-01T00:00:00Z'}}}",
        "{auth-provider: {name: oidc, config: {expiry: 5}}}",
    ):  # fmt: skip
        yield user, texts.config(user=user)
    yield (
        "an id-token",
        texts.config(user=f"{{auth-provider: {{name: oidc, config: {{{issuer}, id-token: {valid}}}}}}}"),
    )
    yield (
        "an expired id-token",
        texts.config(
            user=f"{{auth-provider: {{name: oidc, config: {{{issuer}, id-token: {expired}, refresh-token: r}}}}}}"
        ),
    )
    yield (
        "a refresh-token only",
        texts.config(user=f"{{auth-provider: {{name: oidc, config: {{{issuer}, refresh-token: r}}}}}}"),
    )
    yield "a token in a block", texts.config(user="\n    token: |-\n      secret")
    for name, user, content in (
        ("a token file", "{tokenFile: token}", "secret\n"),
        ("a token file with CRLF", "{tokenFile: token}", "secret\r\n"),
        ("a token file with a byte order mark", "{tokenFile: token}", "\ufeffsecret\n"),
        ("a token file with two lines", "{tokenFile: token}", "secret\nother\n"),
        ("a token file that is empty", "{tokenFile: token}", ""),
        ("an empty token file, and a token", "{tokenFile: token, token: secret}", ""),
        ("a missing token file", "{tokenFile: nowhere}", ""),
        ("a missing token file, and a token", "{tokenFile: nowhere, token: secret}", ""),
        ("a token file and a token", "{tokenFile: token, token: other}", "secret"),
        ("a token file and a password", "{tokenFile: token, username: me}", "secret"),
        ("a token file with an empty path", "{tokenFile: '', token: secret}", ""),
        ("a token file in the home directory", "{tokenFile: ~/token}", "secret"),
    ):
        yield name, Case({"config": texts.config(user=user), "token": content})


def jwt(expires_at: float) -> str:
    parts = ({"alg": "none"}, {"exp": expires_at, "sub": "x"})
    encoded = (base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts)
    return ".".join((*encoded, "signature"))


def certificates(texts: Texts) -> Found:
    """Client certificates and keys."""
    certificate, key = base64_of(texts.place.certificate), base64_of(texts.place.key)
    pem = {"tls.crt": texts.place.certificate, "tls.key": texts.place.key, "empty": ""}
    data = f"client-certificate-data: {certificate}, client-key-data: {key}"
    files = "client-certificate: tls.crt, client-key: tls.key"
    plugin = f"exec: {{apiVersion: {V1}, interactiveMode: Never, command: /bin/false}}"
    for name, user in {
        "data": data,
        "files": files,
        "data and a token": f"{data}, token: secret",
        "data and a password": f"{data}, username: me, password: pw",
        "data and a plugin": f"{data}, {plugin}",
        "files and a plugin": f"{files}, {plugin}",
        "data and files": f"{data}, {files}",
        "certificate data and a key file": f"client-certificate-data: {certificate}, client-key: tls.key",
        "a certificate file and key data": f"client-certificate: tls.crt, client-key-data: {key}",
        "a certificate without a key": f"client-certificate-data: {certificate}",
        "a key without a certificate": f"client-key-data: {key}",
        "a key without a certificate, and a token": f"client-key-data: {key}, token: secret",
        "a key of another certificate": f"client-certificate-data: {certificate}, client-key-data: {base64_of(texts.place.other_key)}",
        "data that is not base64": f"client-certificate-data: '%', client-key-data: {key}",
        "data that is not PEM": f"client-certificate-data: {base64_of('junk')}, client-key-data: {key}",
        "a missing file": "client-certificate: nowhere, client-key: tls.key",
        "an empty file": "client-certificate: empty, client-key: tls.key",
        "an empty path": "client-certificate: '', client-key: ''",
        "null data": "client-certificate-data: null, client-key-data: null",
        "empty data": "client-certificate-data: '', client-key-data: ''",
    }.items():
        yield name, Case({"config": texts.config(user=f"{{{user}}}"), **pem})


def plugins(texts: Texts) -> Found:
    """The ``exec`` section."""
    answer = f"echo '{answered()}'\n"
    fields = f"apiVersion: {V1}, interactiveMode: Never"

    def plugin(more: str, script: str = answer, user: str = "", **files: str) -> Case:
        text = texts.config(user=f"{{{user}exec: {{{more}}}}}")
        return Case({"config": text, "plugin.sh": f"#!/bin/sh\n{script}", **files})

    for more in (
        "args: null, env: null", "args: [], env: []", "args: [null, a]", "args: [--n, 5]", "args: [true]",
        "env: [{name: A}]", "env: [{name: A, value: null}]", "env: [{name: A, value: 1}]", "env: [null]",
        "env: [{name: '', value: a}]", "env: [{value: a}]", "env: {A: b}", "installHint: 5", "installHint: null", "provideClusterInfo: 'yes'",
        "provideClusterInfo: null", "stdin: true", "env: [{name: A, value: b, more: c}]",
    ):  # fmt: skip
        yield more, plugin(f"{fields}, command: ./plugin.sh, {more}")
    yield (
        "a null argument is empty",
        plugin(f"{fields}, command: ./plugin.sh, args: [null]", f'test $# = 1 -a -z "$1" || exit 1\n{answer}'),
    )
    yield (
        "the last variable of a name",
        plugin(
            f"{fields}, command: ./plugin.sh, env: [{{name: A, value: a}}, {{name: A, value: b}}]",
            f'test "$A" = b || exit 1\n{answer}',
        ),
    )
    yield (
        "a name with an equals sign",
        plugin(
            f"{fields}, command: ./plugin.sh, env: [{{name: A=b, value: c}}]", f'test "$A" = b=c || exit 1\n{answer}'
        ),
    )
    yield (
        "PATH in env",
        plugin(
            f"{fields}, command: ./plugin.sh, env: [{{name: PATH, value: /nowhere}}]",
            f'test "$PATH" = /nowhere || exit 1\n{answer}',
        ),
    )
    yield (
        "cluster info",
        plugin(
            f"{fields}, command: ./plugin.sh, provideClusterInfo: true",
            f'case "$KUBERNETES_EXEC_INFO" in *certificate-authority-data*) {answer};; *) exit 1;; esac\n',
        ),
    )
    yield (
        "no cluster info",
        plugin(f"{fields}, command: ./plugin.sh", f'case "$KUBERNETES_EXEC_INFO" in *https*) exit 1;; esac\n{answer}'),
    )
    for mode in ("IfAvailable", "Always", "never", "''", "null", "Sometimes"):
        yield f"interactiveMode {mode}", plugin(f"apiVersion: {V1}, interactiveMode: {mode}, command: ./plugin.sh")
    yield "v1 without interactiveMode", plugin(f"apiVersion: {V1}, command: ./plugin.sh")
    beta = answered(version=f"{V1}beta1")
    yield "v1beta1 without interactiveMode", plugin(f"apiVersion: {V1}beta1, command: ./plugin.sh", f"echo '{beta}'\n")
    for version in (f"{V1}alpha1", "v1", "''", "null", f"{V1}/a"):
        yield f"apiVersion {version}", plugin(f"apiVersion: {version}, interactiveMode: Never, command: ./plugin.sh")
    for command in (
        "./nowhere.sh",
        "''",
        "null",
        "5",
        "'./plugin.sh get-token'",
        "~/plugin.sh",
        "$HOME/plugin.sh",
        "plugin.sh",
        "./",
    ):
        yield f"command {command}", plugin(f"{fields}, command: {command}")
    yield (
        "a blank in the path",
        plugin(f"{fields}, command: './my plugin.sh'", **{"my plugin.sh": f"#!/bin/sh\n{answer}"}),
    )
    yield "no shebang", plugin(f"{fields}, command: ./bare.sh", **{"bare.sh": answer})
    yield "not executable", plugin(f"{fields}, command: ./plugin", plugin=f"#!/bin/sh\n{answer}")
    for name, user in (("a token", "token: other, "), ("a password", "username: me, password: pw, ")):
        yield f"beside {name}", plugin(f"{fields}, command: ./plugin.sh", "exit 1\n", user)
        yield f"malformed, beside {name}", plugin("command: ./plugin.sh", "exit 1\n", user)
        yield (
            f"of a removed version, beside {name}",
            plugin(f"apiVersion: {V1}alpha1, interactiveMode: Never, command: ./plugin.sh", "exit 1\n", user),
        )
    yield "beside an auth-provider", plugin(f"{fields}, command: ./plugin.sh", answer, "auth-provider: {name: oidc}, ")
    yield "two of them", plugin(f"{fields}, command: ./plugin.sh", answer, "exec: null, ")


def answered(status: str = '{"token":"secret"}', *, version: str = V1, kind: str = '"kind":"ExecCredential",') -> str:
    return f'{{"apiVersion":"{version}",{kind}"status":{status}}}'


def answers(texts: Texts) -> Found:
    """What a plugin prints."""
    fields = f"apiVersion: {V1}, interactiveMode: Never, command: ./plugin.sh"
    ok = answered()
    yaml = f"apiVersion: {V1}\nkind: ExecCredential\nstatus:\n  token: secret\n"
    outputs: dict[str, str | bytes] = {
        "nothing": "",
        "a blank line": "\n",
        "a text": "secret\n",
        "a list": "[]\n",
        "a number": "5\n",
        "indented JSON": json.dumps(json.loads(ok), indent="\t"),
        "YAML": yaml,
        "YAML with a marker": f"---\n{yaml}",
        "two documents of YAML": f"{yaml}---\n{yaml}",
        "YAML with an unquoted date": f"{yaml}  expirationTimestamp: 2099-01-01T00:00:00Z\n",
        "a line before": f"notice: new version\n{ok}\n",
        "a line after": f"{ok}\nbye\n",
        "JSON twice": f"{ok}\n{ok}\n",
        "a byte order mark": b"\xef\xbb\xbf" + ok.encode(),
        "UTF-16": ok.encode("utf-16"),
        "blank lines around": f"\n\n {ok}\n\n",
        "no kind": answered(kind=""),
        "an empty kind": answered(kind='"kind":"",'),
        "another kind": answered(kind='"kind":"Secret",'),
        "kind in lower case": answered(kind='"kind":"execCredential",'),
        "v1beta1": answered(version=f"{V1}beta1"),
        "v1alpha1": answered(version=f"{V1}alpha1"),
        "another group": answered(version="v1"),
        "an empty version": answered(version=""),
        "no version": ok.replace(f'"apiVersion":"{V1}",', ""),
        "no version and no kind": '{"status":{"token":"secret"}}',
        "unknown fields": answered('{"token":"secret","colour":"blue"}'),
        "a duplicate key": answered('{"token":"other","token":"secret"}'),
        "Token": answered('{"Token":"secret"}'),
        "an empty status": answered("{}"),
        "a status of null": answered("null"),
        "a status that is a list": answered("[]"),
        "an empty token": answered('{"token":""}'),
        "a token of null": answered('{"token":null,"clientCertificateData":null}'),
        "a token that is a number": answered('{"token":5}'),
        "a token with a line break": answered('{"token":"secret\\n"}'),
        "a token with a blank": answered('{"token":"sec ret"}'),
        "a certificate without a key": answered('{"token":"secret","clientCertificateData":"x"}'),
        "a certificate that is none": answered('{"clientCertificateData":"x","clientKeyData":"x"}'),
        "a certificate": answered(
            json.dumps({"clientCertificateData": texts.place.certificate, "clientKeyData": texts.place.key})
        ),
        "NaN in an unknown field": answered('{"token":"secret","a":NaN}'),
    }
    for expiry in (
        "null", '""', '"2020-01-01T00:00:00Z"', '"0001-01-01T00:00:00Z"', '"2099-01-01T00:00:00+02:00"', "5",
        '"2099-01-01T00:00:00"', '"2099-01-01t00:00:00z"', '"2099-01-01 00:00:00Z"', '"9999-12-31T23:59:59Z"',
        '"2099-01-01T00:00:00.123456789Z"', '"2099-02-30T00:00:00Z"', '"2099-01-01"', '"soon"', '"99-01-01T00:00:00Z"',
    ):  # fmt: skip
        outputs[f"expiry {expiry}"] = answered(f'{{"token":"secret","expirationTimestamp":{expiry}}}')
    for name, output in outputs.items():
        files = {"config": texts.config(user=f"{{exec: {{{fields}}}}}"), "output": output}
        yield name, Case({**files, "plugin.sh": '#!/bin/sh\ncat "${0%/*}/output"\n'})
