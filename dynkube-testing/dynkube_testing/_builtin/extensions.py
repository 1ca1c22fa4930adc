"""Admission webhooks, and admission policies with their bindings."""

from __future__ import annotations

from dynkube_testing._builtin import checks, typechecks, typedefaults
from dynkube_testing._builtin.expressions import evaluates_to, matches
from dynkube_testing._builtin.fields import Field
from dynkube_testing._builtin.typechecks import Check, Rules
from dynkube_testing._calls.api import JSONObject
from dynkube_testing._kinds import naming
from dynkube_testing._schemas.cel.celtypes import BOOL, NULL, STRING, list_of
from dynkube_testing._schemas.cel.made import OBJECT, PATCH

_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_TWICE = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)
_NO_RULE = "validations or auditAnnotations must contain at least one item"
_EXCLUSIVE = "name and selector are mutually exclusive"
_MOST_CONDITIONS = 64
_MUTATIONS = {"ApplyConfiguration": "applyConfiguration", "JSONPatch": "jsonPatch"}


def alone(what: str, name: str = "*") -> Check:
    """Check that a list which has ``*`` has no other items."""
    return lambda field: (
        field.invalid(f"if '*' is present, must not specify other {what}")
        if len(field.value or ()) > 1 and name in field.value
        else None
    )


def stripped(detail: str = "") -> Check:
    """Check that a string is neither missing nor blank."""
    return lambda field: None if (field.value or "").strip() else field.required(detail)


# ── rules and conditions ──────────────────────────────────────────────────────────────────────


def _check_resources(rule: Field) -> None:
    resources = rule.at("resources")
    names: list[str] = resources.value or []
    if not names:
        resources.required()
    for index, name in enumerate(names):
        if not name:
            resources.item(index).required()
        resource, slash, part = name.partition("/")
        if slash and f"{resource}/*" in names[:index]:
            resources.item(index).invalid(f"if '{resource}/*' is present, must not specify {name}")
        if slash and f"*/{part}" in names[:index]:
            resources.item(index).invalid(f"if '*/{part}' is present, must not specify {name}")
    if len(names) > 1 and "*/*" in names:
        resources.invalid("if '*/*' is present, must not specify other resources")
    plain = [name for name in names if name and "/" not in name]
    if "*" in plain and plain[-1] != "*":
        resources.invalid("if '*' is present, must not specify other resources without subresources")


def _check_names(rule: Field) -> None:
    names = rule.at("resourceNames")
    for index, name in enumerate(names.value or ()):
        checks.path_segment(names.item(index))
        if name in names.value[:index]:
            names.item(index).duplicate()


def _check_identifier(variable: Field) -> None:
    name = variable.at("name")
    if not (name.value or "").strip():
        name.required("name is not specified")
    elif not name.value.isidentifier() or not name.value.isascii():
        name.invalid("must be a valid CEL identifier")


# ── webhooks ──────────────────────────────────────────────────────────────────────────────────


def _check_webhook_name(name: Field) -> None:
    text = name.value or ""
    if not text:
        name.required()
    elif problem := naming.subdomain_problem(text):
        name.invalid(problem)
    elif text.count(".") < 2:
        name.invalid("should be a domain with at least three segments separated by dots")


def _check_client(webhook: Field) -> None:
    client = webhook.at("clientConfig")
    if (client.get("url") is None) == (client.get("service") is None):
        client.required("exactly one of url or service is required")
    else:
        client.check()


def _check_url(url: Field) -> None:
    scheme, separator, rest = (url.value or "").partition("://")
    if scheme != "https" or not separator:
        url.invalid("'https' is the only allowed URL scheme; desired format: https://host[/path]", scheme)
    if not rest.partition("/")[0]:
        url.invalid("host must be specified; desired format: https://host[/path]")


def _check_review_versions(webhook: Field) -> None:
    versions = webhook.at("admissionReviewVersions")
    names: list[str] = versions.value or []
    if not names:
        versions.required("must specify one of v1, v1beta1")
        return
    for index, name in enumerate(names):
        if name in names[:index]:
            versions.item(index).invalid("duplicate version")
        else:
            checks.dns1035(versions.item(index))
    if not {"v1", "v1beta1"} & set(names):
        versions.invalid("must include at least one of v1, v1beta1")


# ── policies ──────────────────────────────────────────────────────────────────────────────────


def _check_param_kind(kind: Field) -> None:
    version, name = kind.at("apiVersion"), kind.at("kind")
    text = version.value or ""
    group, _, own = text.rpartition("/")
    if not text:
        version.required()
    elif "/" in group:
        version.invalid(f"unexpected GroupVersion string: {text}")
    else:
        if group:
            version.invalid(naming.subdomain_problem(group), group)
        version.invalid(naming.dns1035_problem(own) if own else "version must be specified", own or text)
    if not name.value:
        name.required()
    elif problem := naming.dns1035_problem(name.value.lower()):
        name.invalid(f"may have mixed case, but should otherwise match: {problem}")


def _check_constraints(spec: Field) -> None:
    constraints = spec.at("matchConstraints")
    if constraints.value is None:
        constraints.required()
        return
    constraints.check()
    if not constraints.get("resourceRules"):
        constraints.at("resourceRules").required()


def _check_validations(spec: Field) -> None:
    if not spec.get("validations") and not spec.get("auditAnnotations"):
        spec.at("validations").required(_NO_RULE)
        spec.at("auditAnnotations").required(_NO_RULE)


def _mutable(field: str) -> typechecks.Rule:
    """Check that the rules in ``field`` are about requests that can be mutated."""

    def check(spec: Field) -> None:
        for rule in spec.get(field, "resourceRules") or ():
            for operation in rule.get("operations") or ():
                spec.at(field, "resourceRules", "operations").one_of(("*", "CONNECT", "CREATE", "UPDATE"), operation)

    return check


def _check_mutation(mutation: Field) -> None:
    kind = mutation.at("patchType")
    if not kind.value:
        kind.required()
    elif kind.value not in _MUTATIONS:
        kind.unsupported(tuple(_MUTATIONS))
    for patch_type, name in _MUTATIONS.items():
        field = mutation.at(name)
        if patch_type == kind.value and field.value is None:
            field.required(f"must be specified when patchType is {patch_type}")
        elif patch_type == kind.value:
            field.check()
        elif kind.value in _MUTATIONS and field.value is not None:
            field.invalid(f"must not be specified when patchType is {kind.value}", f"{{{name}}}")


def _check_message(validation: Field) -> None:
    for name in ("messageExpression", "message"):
        field = validation.at(name)
        if field.value and not field.value.strip():
            field.invalid("must be non-empty if specified")
        elif name == "message" and any(end in (field.value or "").strip() for end in "\r\n"):
            field.invalid("must not contain line breaks")


def _check_annotation(annotation: Field) -> None:
    policy = annotation.above("ValidatingAdmissionPolicy").get("metadata", "name") or ""
    key = annotation.at("key")
    if policy:
        checks.qualified_name(key.with_value(f"{policy}/{key.value or ''}"))
    else:
        key.invalid("requires metadata.name be non-empty", key.value or "")


def _check_actions(spec: Field) -> None:
    actions = spec.at("validationActions")
    given: list[str] = actions.value or []
    for index, action in enumerate(given):
        actions.item(index).one_of(("Audit", "Deny", "Warn"))
        if action in given[:index]:
            actions.item(index).duplicate()
    if {"Deny", "Warn"} <= set(given):
        actions.invalid(_TWICE)
    if not given:
        actions.required("at least one validation action is required")


def _check_reference(reference: Field) -> None:
    name, selector = reference.at("name"), reference.at("selector")
    if name.value:
        checks.path_segment(name)
    if name.value and selector.value is not None:
        name.forbidden(_EXCLUSIVE)
    selector.check()
    if name.value and selector.value is not None:
        selector.forbidden(_EXCLUSIVE)
    if not name.value and selector.value is None:
        reference.required("one of name or selector must be specified")


def _selectors(obj: JSONObject) -> None:
    for name in ("namespaceSelector", "objectSelector"):
        obj[name] = {} if obj.get(name) is None else obj[name]


_FAILURE: typechecks.Rule = ("failurePolicy", checks.one_of("Fail", "Ignore"))
_MATCH: typechecks.Rule = ("matchPolicy", checks.one_of("Equivalent", "Exact"))
_RULE: Rules = (
    "operations!",
    ("operations", alone("operations")),
    ("operations[]", checks.one_of(*_OPERATIONS)),
    "apiGroups!",
    ("apiGroups", alone("API groups")),
    "apiVersions!",
    ("apiVersions", alone("API versions")),
    ("apiVersions[]", checks.required("")),
    _check_resources,
    ("scope", checks.one_of("*", "Cluster", "Namespaced")),
)
_CONDITIONS: Rules = (("matchConditions", checks.at_most(_MOST_CONDITIONS)),)


def _webhook(*more: typechecks.Rule) -> Rules:
    """Return the rules of a webhook; ``more`` are those of a mutating one."""
    return (
        ("name", _check_webhook_name),
        "rules",
        _FAILURE,
        _MATCH,
        (
            "sideEffects",
            checks.required("must specify one of None, NoneOnDryRun"),
            checks.one_of("None", "NoneOnDryRun"),
        ),
        ("timeoutSeconds", checks.between(1, 30, "the timeout value must be between 1 and 30 seconds")),
        "namespaceSelector",
        "objectSelector",
        *more,
        _check_client,
        *_CONDITIONS,
        _check_review_versions,
        checks.unique("name"),
    )


_WEBHOOK_DEFAULTS = {"failurePolicy": "Fail", "matchPolicy": "Equivalent", "timeoutSeconds": 10}
_GROUP = "admissionregistration.v1"

DEFAULTS: typedefaults.Table = {
    f"{_GROUP}.ValidatingWebhook": (_WEBHOOK_DEFAULTS, _selectors),
    f"{_GROUP}.MutatingWebhook": ({**_WEBHOOK_DEFAULTS, "reinvocationPolicy": "Never"}, _selectors),
    f"{_GROUP}.ServiceReference": ({"port": 443},),
    f"{_GROUP}.RuleWithOperations": ({"scope": "*"},),
    f"{_GROUP}.NamedRuleWithOperations": ({"scope": "*"},),
    f"{_GROUP}.ValidatingAdmissionPolicySpec": ({"failurePolicy": "Fail"},),
    f"{_GROUP}.MutatingAdmissionPolicySpec": ({"failurePolicy": "Fail"},),
    f"{_GROUP}.MatchResources": ({"matchPolicy": "Equivalent"}, _selectors),
}
CHECKS: typechecks.Table = {
    f"{_GROUP}.ValidatingWebhookConfiguration": ("webhooks",),
    f"{_GROUP}.MutatingWebhookConfiguration": ("webhooks",),
    f"{_GROUP}.ValidatingWebhook": _webhook(),
    f"{_GROUP}.MutatingWebhook": _webhook(("reinvocationPolicy", checks.one_of("IfNeeded", "Never"))),
    f"{_GROUP}.WebhookClientConfig": (("url?", _check_url), "service"),
    f"{_GROUP}.ServiceReference": ("name!", "namespace!"),
    f"{_GROUP}.RuleWithOperations": _RULE,
    f"{_GROUP}.NamedRuleWithOperations": (_check_names, *_RULE),
    f"{_GROUP}.MatchCondition": (
        ("expression", stripped(), matches(BOOL)),
        ("name!", checks.qualified_name),
        checks.unique("name"),
    ),
    f"{_GROUP}.MatchResources": (
        _MATCH,
        "namespaceSelector",
        "objectSelector",
        "resourceRules",
        "excludeResourceRules",
    ),
    f"{_GROUP}.ValidatingAdmissionPolicy": ("spec",),
    f"{_GROUP}.ValidatingAdmissionPolicySpec": (
        _FAILURE,
        "paramKind",
        _check_constraints,
        *_CONDITIONS,
        "variables",
        _check_validations,
        "validations",
        "auditAnnotations",
    ),
    f"{_GROUP}.ParamKind": (_check_param_kind,),
    f"{_GROUP}.Variable": (
        _check_identifier,
        ("expression", stripped("expression is not specified"), evaluates_to()),
    ),
    f"{_GROUP}.Validation": (
        ("expression", stripped("expression is not specified"), evaluates_to(BOOL)),
        ("messageExpression?", evaluates_to(STRING, authorizer=False)),
        _check_message,
        ("reason?", checks.one_of("Forbidden", "Invalid", "RequestEntityTooLarge")),
    ),
    f"{_GROUP}.AuditAnnotation": (
        _check_annotation,
        ("valueExpression", stripped("valueExpression is not specified"), evaluates_to(STRING, NULL)),
        checks.unique("key"),
    ),
    f"{_GROUP}.ValidatingAdmissionPolicyBinding": ("spec",),
    f"{_GROUP}.ValidatingAdmissionPolicyBindingSpec": (
        ("policyName!", checks.subdomain),
        "paramRef",
        "matchResources",
        _check_actions,
    ),
    f"{_GROUP}.MutatingAdmissionPolicy": ("spec",),
    f"{_GROUP}.MutatingAdmissionPolicySpec": (
        _FAILURE,
        "paramKind",
        _check_constraints,
        _mutable("matchConstraints"),
        *_CONDITIONS,
        "variables",
        ("mutations", checks.required("mutations must contain at least one item")),
        ("reinvocationPolicy", checks.required(""), checks.one_of("IfNeeded", "Never")),
    ),
    f"{_GROUP}.Mutation": (_check_mutation,),
    f"{_GROUP}.ApplyConfiguration": (("expression", stripped(), evaluates_to(OBJECT, makes=True)),),
    f"{_GROUP}.JSONPatch": (("expression", stripped(), evaluates_to(list_of(PATCH), makes=True)),),
    f"{_GROUP}.MutatingAdmissionPolicyBinding": ("spec",),
    f"{_GROUP}.MutatingAdmissionPolicyBindingSpec": (
        ("policyName!", checks.subdomain),
        "paramRef",
        "matchResources",
        _mutable("matchResources"),
    ),
    f"{_GROUP}.ParamRef": (_check_reference, ("parameterNotFoundAction!", checks.one_of("Deny", "Allow"))),
}
