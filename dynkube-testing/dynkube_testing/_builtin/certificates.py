"""CertificateSigningRequests: recording of the creator, immutable spec."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass

from dynkube_testing._builtin.findings import BuiltinFindings, section
from dynkube_testing._builtin.rules import BuiltinRules
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


def _check(findings: BuiltinFindings, obj: JSONObject, old: JSONObject | None) -> None:
    if old is not None:
        return
    spec = obj["spec"]
    request = spec.get("request")
    if b"-----BEGIN CERTIFICATE REQUEST-----" not in base64.b64decode(request or ""):
        findings.invalid("spec.request", request, "PEM block type must be CERTIFICATE REQUEST")
    usages = spec.get("usages") or []
    if not usages:
        findings.required("spec.usages")
    for index, usage in enumerate(usages):
        if usage not in _USAGES:
            findings.one_of(f"spec.usages[{index}]", usage, _USAGES)
        elif usage in usages[:index]:
            findings.duplicate(f"spec.usages[{index}]", usage)
    _check_signer(findings, spec.get("signerName") or "")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < _LEAST_SECONDS:
        detail = "may not specify a duration less than 600 seconds (10 minutes)"
        findings.invalid("spec.expirationSeconds", seconds, detail)


def _check_signer(findings: BuiltinFindings, signer: str) -> None:
    field, (domain, slash, path) = "spec.signerName", signer.partition("/")
    if not signer:
        findings.required(field)
    elif not slash or "/" in path:
        findings.invalid(field, signer, _FORM)
    elif signer == "kubernetes.io/legacy-unknown":
        findings.invalid(field, signer, "the legacy signerName is not allowed via this API version")
    else:
        if "." not in domain:
            findings.invalid(field, domain, "should be a domain with at least two segments separated by dots")
        for label in domain.split("."):
            if problem := naming.label_problem(label):
                findings.invalid(field, domain, f'validating label "{label}": {problem}')
        for label in path.split("."):
            if problem := naming.subdomain_problem(label):
                findings.invalid(field, path, f'validating label "{label}": {problem}')


RULES: Mapping[str, BuiltinRules] = {
    "certificatesigningrequests.certificates.k8s.io": CertificateRules(decides=_decide, checks=_check)
}
