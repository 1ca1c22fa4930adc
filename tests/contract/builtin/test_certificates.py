"""CertificateSigningRequests: the server sets the user, and the spec is immutable."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from tests.contract.cluster import MERGE, Cluster
from tests.contract.objects import JSONObject

_PATH = "/apis/certificates.k8s.io/v1/certificatesigningrequests"


@pytest.fixture(scope="module")
def pem() -> str:
    """A PEM certificate request in base64, as in ``spec.request``."""
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "alice")])
    key = ec.generate_private_key(ec.SECP256R1())
    request = x509.CertificateSigningRequestBuilder().subject_name(name).sign(key, hashes.SHA256())
    return base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()


def _body(name: str, pem: str, **spec: Any) -> JSONObject:
    spec = {"request": pem, "signerName": "example.com/signer", "usages": ["client auth"], **spec}
    return {"metadata": {"name": name}, "spec": spec}


async def test_the_user_in_the_spec_is_that_of_the_request(cluster: Cluster, pem: str) -> None:
    body = _body(cluster.namespace, pem, username="somebody", uid="7", groups=["g"], extra={"k": ["v"]})
    headers = {"Impersonate-User": "alice", "Impersonate-Group": "system:masters", "Impersonate-Extra-a": "b"}

    response = await cluster.call("POST", _PATH, body=body, headers=headers, params={"dryRun": "All"})

    spec = response.body["spec"]
    assert (spec["username"], spec["groups"]) == ("alice", ["system:masters", "system:authenticated"])
    assert spec["extra"] == {"a": ["b"]}
    assert "uid" not in spec
    assert response.body["status"] == {}


async def test_changes_of_the_spec_are_ignored(cluster: Cluster, pem: str) -> None:
    name = cluster.namespace
    created = (await cluster.call("POST", _PATH, body=_body(name, pem))).body
    cluster.leftovers.append(f"{_PATH}/{name}")

    change = {"spec": {"usages": ["server auth"]}, "metadata": {"labels": {"a": "b"}}}
    changed = await cluster.call("PATCH", f"{_PATH}/{name}", body=change, content_type=MERGE)

    assert changed.code == 200
    assert changed.body["spec"] == created["spec"]
    assert changed.body["metadata"]["labels"] == {"a": "b"}


_FORM = "must be a fully qualified domain and path of the form 'example.com/signer-name'"


@pytest.mark.since("1.22", "messages quote values as JSON since 1.22")
@pytest.mark.parametrize(
    ("spec", "field", "message"),
    [
        ({"usages": []}, "usages", "Required value"),
        ({"usages": ["any", "any"]}, "usages[1]", 'Duplicate value: "any"'),
        ({"request": "aGk="}, "request", 'Invalid value: "aGk=": PEM block type must be CERTIFICATE REQUEST'),
        ({"request": None}, "request", "Invalid value: null: PEM block type must be CERTIFICATE REQUEST"),
        ({"signerName": ""}, "signerName", "Required value"),
        ({"signerName": "a"}, "signerName", f'Invalid value: "a": {_FORM}'),
        (
            {"signerName": "kubernetes.io/legacy-unknown"},
            "signerName",
            'Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
        ),
        (
            {"expirationSeconds": 5},
            "expirationSeconds",
            "Invalid value: 5: may not specify a duration less than 600 seconds (10 minutes)",
        ),
    ],
)
async def test_an_invalid_request_is_a_422(
    cluster: Cluster, pem: str, spec: dict[str, object], field: str, message: str
) -> None:
    response = await cluster.call("POST", _PATH, body=_body("x", pem, **spec), params={"dryRun": "All"})

    assert response.code == 422
    (cause,) = response.body["details"]["causes"]
    assert (cause["field"], cause["message"]) == (f"spec.{field}", message)
