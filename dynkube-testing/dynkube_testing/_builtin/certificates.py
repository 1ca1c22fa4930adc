"""CertificateSigningRequests: recording of the creator, immutable spec."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from dynkube_testing._builtin import checks, typechecks
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.rules import BuiltinRules, Factory
from dynkube_testing._builtin.sections import section
from dynkube_testing._calls.api import Call, JSONObject
from dynkube_testing._kinds import naming

_USAGES = (
    "any", "cert sign", "client auth", "code signing", "content commitment", "crl sign", "data encipherment",
    "decipher only", "digital signature", "email protection", "encipher only", "ipsec end system", "ipsec tunnel",
    "ipsec user", "key agreement", "key encipherment", "microsoft sgc", "netscape sgc", "ocsp signing", "s/mime",
    "server auth", "signing", "timestamping",
)  # fmt: skip
_LEAST_SECONDS = 600
_FORM = "must be a fully qualified domain and path of the form 'example.com/signer-name'"


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateRules(BuiltinRules):
    """The rules of CertificateSigningRequests."""

    def ascribe(self, call: Call, obj: JSONObject) -> None:
        """Record the user of the request as creator, even if the object names another."""
        spec, user = section(obj, "spec"), call.user.info
        for field in ("username", "uid", "groups", "extra"):
            spec.pop(field, None)
            if field in user:
                spec[field] = user[field]


def _decide(obj: JSONObject, old: JSONObject | None) -> None:
    section(obj, "status")
    if old is not None:
        obj["spec"] = old["spec"]


def _check_request(spec: Field) -> None:
    request = spec.at("request")
    if b"-----BEGIN CERTIFICATE REQUEST-----" not in base64.b64decode(request.value or ""):
        request.invalid("PEM block type must be CERTIFICATE REQUEST")


def _check_usages(spec: Field) -> None:
    usages = spec.get("usages") or []
    for index, usage in enumerate(usages):
        field = spec.at("usages").item(index)
        field.one_of(_USAGES)
        if usage in _USAGES and usage in usages[:index]:
            field.duplicate()


def _check_signer(field: Field) -> None:
    domain, slash, path = field.value.partition("/")
    if not slash or "/" in path:
        field.invalid(_FORM)
    elif field.value == "kubernetes.io/legacy-unknown":
        field.invalid("the legacy signerName is not allowed via this API version")
    else:
        if "." not in domain:
            field.invalid("should be a domain with at least two segments separated by dots", domain)
        for part, check in ((domain, naming.label_problem), (path, naming.subdomain_problem)):
            for label in part.split("."):
                if problem := check(label):
                    field.invalid(f'validating label "{label}": {problem}', part)


CHECKS: typechecks.Table = {
    # The spec of a request cannot change, so that it is checked only once.
    "certificates.v1.CertificateSigningRequest": (
        lambda request: request.at("spec").check() if request.creating else None,
    ),
    "certificates.v1.CertificateSigningRequestSpec": (
        _check_request,
        "usages!",
        _check_usages,
        ("signerName!", _check_signer),
        (
            "expirationSeconds",
            checks.at_least(_LEAST_SECONDS, "may not specify a duration less than 600 seconds (10 minutes)"),
        ),
    ),
}
RULES: Mapping[str, Factory] = {
    "certificatesigningrequests.certificates.k8s.io": partial(CertificateRules, decides=_decide)
}
