"""Service account tokens, issued by ``serviceaccounts/token`` (TokenRequest).

They are JSON Web Tokens with the same claims as those of kube-apiserver, since some clients decode them. They are
signed by HMAC with a secret of this server (a real server uses RS256 and publishes its keys), and verified on every
request.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import msgspec

from dynkube_testing._access.bound import Bindings, Unbound
from dynkube_testing._calls import refuse
from dynkube_testing._calls.api import Call, JSONObject
from dynkube_testing._calls.causes import bad_value
from dynkube_testing._calls.users import User, account_user
from dynkube_testing._kinds.kinds import Registry
from dynkube_testing._store.storage import Storage

ISSUER = "https://kubernetes.default.svc"
_MIN_SECONDS, _MAX_SECONDS, _DEFAULT_SECONDS = 600, 1 << 32, 3600
_TOO_LONG = "larger than 2^32 seconds"
_TOKEN_REQUEST = {"kind": "TokenRequest", "apiVersion": "authentication.k8s.io/v1"}


class InvalidToken(ValueError):
    """The token is invalid.

    The message is the ``error`` in the status of a TokenReview.
    """


@dataclass(frozen=True, slots=True)
class Verified:
    """The result of verifying a token: its user, and its requested audiences."""

    user: User
    audiences: tuple[str, ...]


class AccountTokens:
    """Issues and verifies service account tokens.

    Args:
        storage: Storage of the service accounts.
        registry: The served kinds, with those to which tokens can be bound.
        now: Wall clock for the expiration of tokens.
        random: Source of the signing secret and of token IDs.
    """

    def __init__(
        self, storage: Storage, registry: Registry, now: Callable[[], datetime], random: random.Random
    ) -> None:
        self._storage = storage
        self._bindings = Bindings(storage, registry)
        self._now = now
        self._random = random
        self._secret = random.randbytes(32)

    def request(self, call: Call) -> JSONObject:
        """Handle a ``create`` on ``serviceaccounts/NAME/token``.

        Returns the TokenRequest with the token in its status.

        Raises:
            NotFound: The service account, or the object to which the token is to be bound, does not exist.
            BadRequest: Tokens cannot be bound to this object.
            Conflict: The object to which the token is to be bound has another UID.
            Invalid: The requested lifetime is out of range, or the body has another name than the path.
        """
        kind, body = call.kind, call.body if isinstance(call.body, dict) else {}
        account = self._storage.get(kind, call.namespace, call.name)
        if account is None:
            raise refuse.not_found(kind, call.name)
        spec = dict(body.get("spec") or {})
        audiences = [text for text in spec.get("audiences") or () if isinstance(text, str)] or [ISSUER]
        seconds = self._lifetime(call, body, spec.get("expirationSeconds"))
        expires = self._now().astimezone(UTC) + timedelta(seconds=seconds)
        stamp = self._now().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        names = {"name": call.name, "namespace": call.namespace, "uid": account.uid}
        bound = spec.get("boundObjectRef")
        about = self._bindings.claims(call.namespace, call.name, bound) if bound else {}
        return {
            **_TOKEN_REQUEST,
            "metadata": {**names, "creationTimestamp": stamp},
            "spec": {"audiences": audiences, "expirationSeconds": seconds, "boundObjectRef": bound},
            "status": {
                "token": self._issue(names, audiences, expires, about),
                "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
            },
        }

    def verify(self, token: str, audiences: Sequence[str] = ()) -> Verified:
        """Verify ``token``, and return its user and those of ``audiences`` that it has.

        Args:
            token: The bearer token of a request.
            audiences: Audiences of which the token must have at least one; default: this server.

        Raises:
            InvalidToken: The token was not issued by this server, has expired, is for other audiences, or its service
                account or the object to which it is bound was deleted.
        """
        claims = self._claims(token)
        wanted = tuple(audiences) or (ISSUER,)
        given = tuple(claims["aud"])
        if not (shared := tuple(audience for audience in wanted if audience in given)):
            listed, asked = (" ".join(f'"{text}"' for text in texts) for texts in (given, wanted))
            raise InvalidToken(f"token audiences [{listed}] is invalid for the target audiences [{asked}]")
        if claims["exp"] < self._now().timestamp():
            raise InvalidToken("service account token has expired")
        private = claims["kubernetes.io"]
        account = private["serviceaccount"]
        found = self._storage.collection("serviceaccounts").current.get(f"{private['namespace']}/{account['name']}")
        if found is None:
            raise InvalidToken(f'serviceaccounts "{account["name"]}" not found')
        if found.uid != account["uid"]:
            raise InvalidToken(f"service account UID ({found.uid}) does not match claim ({account['uid']})")
        try:
            bound = self._bindings.check(private["namespace"], private)
        except Unbound as trouble:
            raise InvalidToken(str(trouble)) from None
        extra = {**bound, "authentication.kubernetes.io/credential-id": (f"JTI={claims['jti']}",)}
        user = replace(account_user(private["namespace"], account["name"]), uid=found.uid, extra=extra)
        return Verified(user.authenticated(), shared)

    def _lifetime(self, call: Call, body: JSONObject, seconds: object) -> int:
        named = (body.get("metadata") or {}).get("name") or call.name
        if named != call.name:
            cause = bad_value("metadata.name", named, "must match the service account name if specified")
            raise refuse.invalid_object("authentication.k8s.io", "TokenRequest", call.name, [cause])
        if not isinstance(seconds, int):
            return _DEFAULT_SECONDS
        for wrong, limit in ((seconds < _MIN_SECONDS, "less than 10 minutes"), (seconds > _MAX_SECONDS, _TOO_LONG)):
            if wrong:
                cause = bad_value("spec.expirationSeconds", seconds, f"may not specify a duration {limit}")
                raise refuse.invalid_object("authentication.k8s.io", "TokenRequest", "", [cause])
        return seconds

    def _issue(self, names: dict[str, str], audiences: list[str], expires: datetime, about: JSONObject) -> str:
        issued = int(self._now().timestamp())
        claims = {
            "aud": audiences,
            "exp": int(expires.timestamp()),
            "iat": issued,
            "iss": ISSUER,
            "jti": str(uuid.UUID(int=self._random.getrandbits(128), version=4)),
            "kubernetes.io": {
                "namespace": names["namespace"],
                "serviceaccount": {"name": names["name"], "uid": names["uid"]},
                **about,
            },
            "nbf": issued,
            "sub": f"system:serviceaccount:{names['namespace']}:{names['name']}",
        }
        signed = ".".join(_encode(msgspec.json.encode(part)) for part in ({"alg": "HS256", "typ": "JWT"}, claims))
        return f"{signed}.{self._signature(signed)}"

    def _claims(self, token: str) -> JSONObject:
        signed, _, signature = token.rpartition(".")
        if not hmac.compare_digest(self._signature(signed).encode(), signature.encode()):
            raise InvalidToken("invalid bearer token")
        payload = signed.partition(".")[2]
        claims: JSONObject = msgspec.json.decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return claims

    def _signature(self, signed: str) -> str:
        return _encode(hmac.digest(self._secret, signed.encode(), hashlib.sha256))


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
