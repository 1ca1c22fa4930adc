"""Validation of ``spec.conversion`` of a CRD."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

from dynkube.errors import StatusCause
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._calls.causes import bad_value, not_allowed, not_supported, required
from dynkube_testing._kinds import naming

_FIELD = "spec.conversion"
_CLIENT = f"{_FIELD}.webhookClientConfig"
_REVIEWS = f"{_FIELD}.conversionReviewVersions"
_KNOWN_REVIEWS = ("v1", "v1beta1")
_FORM = "; desired format: https://host[/path]"
_ONLY_WITH_WEBHOOK = "should not be set when strategy is not set to Webhook"
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----\s+([A-Za-z0-9+/=\s]+)-----END CERTIFICATE-----")


def conversion_causes(conversion: JSONObject, *, check_bundle: bool) -> Iterator[StatusCause]:
    """Yield the causes for an invalid ``spec.conversion``.

    Args:
        conversion: The value of ``spec.conversion``, with defaults set.
        check_bundle: Whether an invalid ``caBundle`` is an error.
    """
    strategy, webhook = conversion["strategy"], conversion.get("webhook") or {}
    client, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions")
    if not strategy:
        yield required(f"{_FIELD}.strategy")
    elif strategy not in {"None", "Webhook"}:
        yield not_supported(f"{_FIELD}.strategy", strategy, ["None", "Webhook"])
    if strategy == "Webhook":
        if client is None:
            yield required(_CLIENT, "required when strategy is set to Webhook")
        else:
            yield from _client_causes(client, check_bundle)
        yield from _review_causes(reviews or [])
        return
    if client is not None:
        yield not_allowed(_CLIENT, _ONLY_WITH_WEBHOOK)
    if reviews:
        yield not_allowed(_REVIEWS, _ONLY_WITH_WEBHOOK)


def bundle_is_bad(definition: JSONObject) -> bool:
    """Return whether the webhook's ``caBundle`` is set, but contains no certificate.

    A missing ``caBundle`` is valid: the CAs of the system are used.
    """
    webhook = (definition["spec"].get("conversion") or {}).get("webhook") or {}
    bundle = (webhook.get("clientConfig") or {}).get("caBundle", "")
    if not bundle:
        return False
    found = _CERTIFICATE.search(base64.b64decode(bundle).decode("latin-1"))
    return found is None


def _client_causes(client: JSONObject, check_bundle: bool) -> Iterator[StatusCause]:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        yield required(_CLIENT, "exactly one of url or service is required")
    elif url is not None:
        yield from _url_causes(url)
    elif service is not None:
        yield from _service_causes(service)
    bundle = client.get("caBundle", "")
    if check_bundle and bundle_is_bad({"spec": {"conversion": {"webhook": {"clientConfig": client}}}}):
        detail = "unable to load root certificates: unable to parse bytes as PEM block"
        yield bad_value(f"{_CLIENT}.caBundle", bundle, detail)


def _url_causes(url: str) -> Iterator[StatusCause]:
    field = f"{_CLIENT}.url"
    try:
        parts = urlsplit(url)
    except ValueError as error:
        yield required(field, f'url must be a valid URL: parse "{url}": {error}{_FORM}')
        return
    if parts.scheme != "https":
        yield bad_value(field, parts.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    user, at, host = parts.netloc.rpartition("@")
    if not host:
        yield bad_value(field, "", f"host must be specified{_FORM}")
    if at:
        yield bad_value(field, user, "user information is not permitted in the URL")
    if parts.fragment:
        yield bad_value(field, parts.fragment, "fragments are not permitted in the URL")
    if parts.query:
        yield bad_value(field, parts.query, "query parameters are not permitted in the URL")


def _service_causes(service: JSONObject) -> Iterator[StatusCause]:
    field = f"{_CLIENT}.service"
    # The real server swaps the two arguments, so a missing namespace is reported as a missing name and vice versa.
    if not service["namespace"]:
        yield required(f"{field}.name")
    if not service["name"]:
        yield required(f"{field}.namespace")
    port, path = service.get("port", 443), service.get("path")
    if not 1 <= port <= 65535:
        yield bad_value(f"{field}.port", port, "port is not valid: must be between 1 and 65535, inclusive")
    if path is None or path in {"", "/"}:
        return
    field = f"{field}.path"
    if path == "//":
        yield bad_value(field, path, "segment[0] may not be empty")
        return
    if not path.startswith("/"):
        yield bad_value(field, path, "must start with a '/'")
    for index, segment in enumerate(path[1:].removesuffix("/").split("/")):
        if not segment:
            yield bad_value(field, path, f"segment[{index}] may not be empty")
        elif problem := naming.subdomain_problem(segment):
            yield bad_value(field, path, f"segment[{index}]: {problem}")


def _review_causes(versions: Sequence[str]) -> Iterator[StatusCause]:
    if not versions:
        yield required(_REVIEWS)
        return
    for index, version in enumerate(versions):
        if version in versions[:index]:
            yield bad_value(f"{_REVIEWS}[{index}]", version, "duplicate version")
        elif problem := naming.dns1035_problem(version):
            yield bad_value(f"{_REVIEWS}[{index}]", version, problem)
    if not set(versions) & set(_KNOWN_REVIEWS):
        yield bad_value(_REVIEWS, versions, f"must include at least one of {', '.join(_KNOWN_REVIEWS)}")
