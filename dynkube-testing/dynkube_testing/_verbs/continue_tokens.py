"""Continue tokens: the key and the revision at which a chunked list continues.

The encoding is that of kube-apiserver, so tokens of one server are valid in the other, although clients must treat them
as opaque. The key is relative to the listed collection: ``NAMESPACE/NAME`` in a list of all namespaces, else ``NAME``.
"""

from __future__ import annotations

import base64
import binascii
import posixpath
import re

import msgspec

from dynkube_testing._calls import refuse

_ENCODING = "meta.k8s.io/v1"
_NO_BASE64 = re.compile("[^A-Za-z0-9_-]")


class ContinueToken(msgspec.Struct, frozen=True):
    """A decoded continue token.

    Attributes:
        v: The version of the encoding.
        rv: The revision of the list; a negative number means the latest revision.
        start: The lowest key to return, with a leading slash.
    """

    v: str = ""
    rv: int = 0
    start: str = ""

    @classmethod
    def behind(cls, key: str, revision: int) -> ContinueToken:
        """Return the token to continue after ``key``.

        The key is relative to the listed collection.
        """
        return cls(_ENCODING, revision, f"/{key}\0")

    @classmethod
    def parse(cls, text: str) -> ContinueToken:
        """Decode a token.

        Raises:
            BadRequest: ``text`` is not a valid token.
        """
        try:
            token = msgspec.json.decode(_decoded(text), type=cls)
        except (ValueError, msgspec.DecodeError) as error:
            raise _bad_token(f"{error}") from None
        if token.v != _ENCODING:
            raise _bad_token(f"server does not recognize this encoded version {token.v}")
        if token.rv == 0:
            raise _bad_token(f"incorrect encoded start resourceVersion (version {_ENCODING})")
        if not token.start:
            raise _bad_token(f"encoded start key empty (version {_ENCODING})")
        start = token.start if token.start.startswith("/") else f"/{token.start}"
        if posixpath.normpath(start) != start:
            raise _bad_token(token.start)
        return cls(token.v, token.rv, start)

    @property
    def key(self) -> str:
        """The lowest key to return, relative to the listed collection."""
        return self.start[1:]

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode(self)).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    if wrong := _NO_BASE64.search(text):
        raise ValueError(f"illegal base64 data at input byte {wrong.start()}")
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error:
        raise ValueError(f"illegal base64 data at input byte {len(text) // 4 * 4}") from None
    if data and not data.startswith(b"{"):
        # Not JSON. Go's error message prints the first byte as a character.
        character = chr(data[0])
        shown = character if character.isprintable() else f"\\u{ord(character):04x}"
        raise ValueError(f"invalid character '{shown}' looking for beginning of value")
    return data


def _bad_token(detail: str) -> Exception:
    return refuse.bad_request(f"invalid continue token: continue key is not valid: {detail}")
