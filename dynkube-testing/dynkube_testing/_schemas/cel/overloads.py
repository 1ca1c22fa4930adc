"""The functions and operators that Kubernetes declares for CEL, with their overloads.

They are cel-go's standard library, its libraries for optional values, strings, sets, lists and comprehensions with two
variables, and those of Kubernetes (https://kubernetes.io/docs/reference/using-api/cel/). A line is ``FUNCTION:
OVERLOAD (ARGUMENTS) RESULT``; a ``.`` before the arguments marks a method, whose first argument is the target. Single
capital letters are type parameters, and ``@`` stands for ``kubernetes.authorization.``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from dynkube_testing._schemas.cel import celtypes as types
from dynkube_testing._schemas.cel.celtypes import Type


@dataclass(frozen=True, slots=True)
class Overload:
    """One signature of a function.

    Attributes:
        id: Its name in cel-go, which the estimation of costs uses.
        method: Whether it is called on a target, its first argument.
    """

    id: str
    method: bool
    arguments: tuple[Type, ...]
    result: Type
    params: frozenset[Type]


_TABLE = """
_?_:_: conditional (bool, A, A) A
_&&_: logical_and (bool, bool) bool
_||_: logical_or (bool, bool) bool
!_: logical_not (bool) bool
@not_strictly_false: not_strictly_false (bool) bool
_==_: equals (A, A) bool
_!=_: not_equals (A, A) bool
_+_: add_bytes (bytes, bytes) bytes
_+_: add_double (double, double) double
_+_: add_duration_duration (duration, duration) duration
_+_: add_duration_timestamp (duration, timestamp) timestamp
_+_: add_timestamp_duration (timestamp, duration) timestamp
_+_: add_int64 (int, int) int
_+_: add_list (list(A), list(A)) list(A)
_+_: add_string (string, string) string
_+_: add_uint64 (uint, uint) uint
_/_: divide_double (double, double) double
_/_: divide_int64 (int, int) int
_/_: divide_uint64 (uint, uint) uint
_%_: modulo_int64 (int, int) int
_%_: modulo_uint64 (uint, uint) uint
_*_: multiply_double (double, double) double
_*_: multiply_int64 (int, int) int
_*_: multiply_uint64 (uint, uint) uint
-_: negate_double (double) double
-_: negate_int64 (int) int
_-_: subtract_double (double, double) double
_-_: subtract_duration_duration (duration, duration) duration
_-_: subtract_int64 (int, int) int
_-_: subtract_timestamp_duration (timestamp, duration) timestamp
_-_: subtract_timestamp_timestamp (timestamp, timestamp) duration
_-_: subtract_uint64 (uint, uint) uint
_[_]: index_list (list(A), int) A
_[_]: index_map (map(A, B), A) B
_[_]: optional_list_index_int (optional_type(list(V)), int) optional_type(V)
_[_]: optional_map_index_value (optional_type(map(K, V)), K) optional_type(V)
@in: in_list (A, list(A)) bool
@in: in_map (A, map(A, B)) bool
size: size_bytes (bytes) int
size: bytes_size .(bytes) int
size: size_list (list(A)) int
size: list_size .(list(A)) int
size: size_map (map(A, B)) int
size: map_size .(map(A, B)) int
size: size_string (string) int
size: string_size .(string) int
type: type (A) type(A)
bool: bool_to_bool (bool) bool
bool: string_to_bool (string) bool
bytes: bytes_to_bytes (bytes) bytes
bytes: string_to_bytes (string) bytes
double: double_to_double (double) double
double: int64_to_double (int) double
double: string_to_double (string) double
double: uint64_to_double (uint) double
duration: duration_to_duration (duration) duration
duration: int64_to_duration (int) duration
duration: string_to_duration (string) duration
dyn: to_dyn (A) dyn
int: int64_to_int64 (int) int
int: double_to_int64 (double) int
int: duration_to_int64 (duration) int
int: string_to_int64 (string) int
int: timestamp_to_int64 (timestamp) int
int: uint64_to_int64 (uint) int
string: string_to_string (string) string
string: bool_to_string (bool) string
string: bytes_to_string (bytes) string
string: double_to_string (double) string
string: duration_to_string (duration) string
string: int64_to_string (int) string
string: timestamp_to_string (timestamp) string
string: uint64_to_string (uint) string
string: ip_to_string (net.IP) string
string: cidr_to_string (net.CIDR) string
timestamp: timestamp_to_timestamp (timestamp) timestamp
timestamp: int64_to_timestamp (int) timestamp
timestamp: string_to_timestamp (string) timestamp
uint: uint64_to_uint64 (uint) uint
uint: double_to_uint64 (double) uint
uint: int64_to_uint64 (int) uint
uint: string_to_uint64 (string) uint
contains: contains_string .(string, string) bool
endsWith: ends_with_string .(string, string) bool
startsWith: starts_with_string .(string, string) bool
matches: matches (string, string) bool
matches: matches_string .(string, string) bool
optional.of: optional_of (V) optional_type(V)
optional.ofNonZeroValue: optional_ofNonZeroValue (V) optional_type(V)
optional.none: optional_none () optional_type(V)
value: optional_value .(optional_type(V)) V
hasValue: optional_hasValue .(optional_type(V)) bool
or: optional_or_optional .(optional_type(V), optional_type(V)) optional_type(V)
orValue: optional_orValue_value .(optional_type(V), V) V
_?._: select_optional_field (dyn, string) optional_type(V)
_[?_]: list_optindex_optional_int (list(V), int) optional_type(V)
_[?_]: optional_list_optindex_optional_int (optional_type(list(V)), int) optional_type(V)
_[?_]: map_optindex_optional_value (map(K, V), K) optional_type(V)
_[?_]: optional_map_optindex_optional_value (optional_type(map(K, V)), K) optional_type(V)
last: list_last .(list(V)) optional_type(V)
first: list_first .(list(V)) optional_type(V)
optional.unwrap: optional_unwrap (list(optional_type(V))) list(V)
unwrapOpt: optional_unwrapOpt .(list(optional_type(V))) list(V)
charAt: string_char_at_int .(string, int) string
indexOf: string_index_of_string .(string, string) int
indexOf: string_index_of_string_int .(string, string, int) int
lastIndexOf: string_last_index_of_string .(string, string) int
lastIndexOf: string_last_index_of_string_int .(string, string, int) int
lowerAscii: string_lower_ascii .(string) string
replace: string_replace_string_string .(string, string, string) string
replace: string_replace_string_string_int .(string, string, string, int) string
split: string_split_string .(string, string) list(string)
split: string_split_string_int .(string, string, int) list(string)
substring: string_substring_int .(string, int) string
substring: string_substring_int_int .(string, int, int) string
trim: string_trim .(string) string
upperAscii: string_upper_ascii .(string) string
format: string_format .(string, list(dyn)) string
strings.quote: strings_quote (string) string
join: list_join .(list(string)) string
join: list_join_string .(list(string), string) string
sets.contains: list_sets_contains_list (list(T), list(T)) bool
sets.equivalent: list_sets_equivalent_list (list(T), list(T)) bool
sets.intersects: list_sets_intersects_list (list(T), list(T)) bool
cel.@mapInsert: @mapInsert_map_key_value (map(K, V), K, V) map(K, V)
cel.@mapInsert: @mapInsert_map_map (map(K, V), map(K, V)) map(K, V)
slice: list_slice .(list(T), int, int) list(T)
flatten: list_flatten .(list(list(T))) list(T)
flatten: list_flatten_int .(list(dyn), int) list(dyn)
lists.range: lists_range (int) list(int)
reverse: list_reverse .(list(T)) list(T)
distinct: list_distinct .(list(T)) list(T)
indexOf: list_a_index_of_int .(list(A), A) int
lastIndexOf: list_a_last_index_of_int .(list(A), A) int
find: string_find_string .(string, string) string
findAll: string_find_all_string .(string, string) list(string)
findAll: string_find_all_string_int .(string, string, int) list(string)
url: string_to_url (string) kubernetes.URL
getScheme: url_get_scheme .(kubernetes.URL) string
getHost: url_get_host .(kubernetes.URL) string
getHostname: url_get_hostname .(kubernetes.URL) string
getPort: url_get_port .(kubernetes.URL) string
getEscapedPath: url_get_escaped_path .(kubernetes.URL) string
getQuery: url_get_query .(kubernetes.URL) map(string, list(string))
isURL: is_url_string (string) bool
quantity: string_to_quantity (string) kubernetes.Quantity
isQuantity: is_quantity_string (string) bool
sign: quantity_sign (kubernetes.Quantity) int
isGreaterThan: quantity_is_greater_than .(kubernetes.Quantity, kubernetes.Quantity) bool
isLessThan: quantity_is_less_than .(kubernetes.Quantity, kubernetes.Quantity) bool
compareTo: quantity_compare_to .(kubernetes.Quantity, kubernetes.Quantity) int
asApproximateFloat: quantity_get_float .(kubernetes.Quantity) double
asInteger: quantity_get_int .(kubernetes.Quantity) int
isInteger: quantity_is_integer .(kubernetes.Quantity) bool
add: quantity_add .(kubernetes.Quantity, kubernetes.Quantity) kubernetes.Quantity
add: quantity_add_int .(kubernetes.Quantity, int) kubernetes.Quantity
sub: quantity_sub .(kubernetes.Quantity, kubernetes.Quantity) kubernetes.Quantity
sub: quantity_sub_int .(kubernetes.Quantity, int) kubernetes.Quantity
ip: string_to_ip (string) net.IP
ip: cidr_ip .(net.CIDR) net.IP
family: ip_family .(net.IP) int
ip.isCanonical: ip_is_canonical (string) bool
isUnspecified: ip_is_unspecified .(net.IP) bool
isLoopback: ip_is_loopback .(net.IP) bool
isLinkLocalMulticast: ip_is_link_local_multicast .(net.IP) bool
isLinkLocalUnicast: ip_is_link_local_unicast .(net.IP) bool
isGlobalUnicast: ip_is_global_unicast .(net.IP) bool
isIP: is_ip (string) bool
cidr: string_to_cidr (string) net.CIDR
containsIP: cidr_contains_ip_string .(net.CIDR, string) bool
containsIP: cidr_contains_ip_ip .(net.CIDR, net.IP) bool
containsCIDR: cidr_contains_cidr_string .(net.CIDR, string) bool
containsCIDR: cidr_contains_cidr .(net.CIDR, net.CIDR) bool
prefixLength: cidr_prefix_length .(net.CIDR) int
masked: cidr_masked .(net.CIDR) net.CIDR
isCIDR: is_cidr (string) bool
semver: string_to_semver (string) kubernetes.Semver
semver: string_bool_to_semver (string, bool) kubernetes.Semver
isSemver: is_semver_string (string) bool
isSemver: is_semver_string_bool (string, bool) bool
isGreaterThan: semver_is_greater_than .(kubernetes.Semver, kubernetes.Semver) bool
isLessThan: semver_is_less_than .(kubernetes.Semver, kubernetes.Semver) bool
compareTo: semver_compare_to .(kubernetes.Semver, kubernetes.Semver) int
major: semver_major .(kubernetes.Semver) int
minor: semver_minor .(kubernetes.Semver) int
patch: semver_patch .(kubernetes.Semver) int
validate: format-validate .(kubernetes.NamedFormat, string) optional_type(list(string))
path: authorizer_path .(@Authorizer, string) @PathCheck
group: authorizer_group .(@Authorizer, string) @GroupCheck
serviceAccount: authorizer_serviceaccount .(@Authorizer, string, string) @Authorizer
resource: groupcheck_resource .(@GroupCheck, string) @ResourceCheck
subresource: resourcecheck_subresource .(@ResourceCheck, string) @ResourceCheck
namespace: resourcecheck_namespace .(@ResourceCheck, string) @ResourceCheck
name: resourcecheck_name .(@ResourceCheck, string) @ResourceCheck
check: pathcheck_check .(@PathCheck, string) @Decision
check: resourcecheck_check .(@ResourceCheck, string) @Decision
fieldSelector: authorizer_fieldselector .(@ResourceCheck, string) @ResourceCheck
labelSelector: authorizer_labelselector .(@ResourceCheck, string) @ResourceCheck
errored: decision_errored .(@Decision) bool
error: decision_error .(@Decision) string
allowed: decision_allowed .(@Decision) bool
reason: decision_reason .(@Decision) string
format.named: format-named (string) optional_type(kubernetes.NamedFormat)
jsonpatch.escapeKey: string_jsonpatch_escapeKey_string (string) string
"""
#: The formats of ``format.named``, which are functions without arguments as well.
NAMED_FORMATS = (
    "dns1123Label",
    "dns1123Subdomain",
    "dns1035Label",
    "qualifiedName",
    "dns1123LabelPrefix",
    "dns1123SubdomainPrefix",
    "dns1035LabelPrefix",
    "labelValue",
    "uri",
    "uuid",
    "byte",
    "date",
    "datetime",
)
_ORDERS = {"_<_": "less", "_<=_": "less_equals", "_>_": "greater", "_>=_": "greater_equals"}
_NUMBERS = (("int64", "int"), ("uint64", "uint"), ("double", "double"))
_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
_GETTERS = {
    "getFullYear": "year",
    "getMonth": "month",
    "getDayOfYear": "day_of_year",
    "getDayOfMonth": "day_of_month",
    "getDate": "day_of_month_1_based",
    "getDayOfWeek": "day_of_week",
    "getHours": "hours",
    "getMinutes": "minutes",
    "getSeconds": "seconds",
    "getMilliseconds": "milliseconds",
}


def _generated() -> Iterator[str]:
    """Yield the lines of functions with an overload for each of several types."""
    for operator, name in _ORDERS.items():
        for other in ("bool", "string", "bytes", "timestamp", "duration"):
            yield f"{operator}: {name}_{other} ({other}, {other}) bool"
        for one, type_one in _NUMBERS:
            for other, type_other in _NUMBERS:
                found = f"{name}_{one}" if one == other else f"{name}_{one}_{other}"
                yield f"{operator}: {found} ({type_one}, {type_other}) bool"
    for getter, name in _GETTERS.items():
        yield f"{getter}: timestamp_to_{name} .(timestamp) int"
        yield f"{getter}: timestamp_to_{name}_with_tz .(timestamp, string) int"
        if name in {"hours", "minutes", "seconds", "milliseconds"}:
            yield f"{getter}: duration_to_{name} .(duration) int"
    for item in _COMPARABLE:
        yield f"isSorted: list_{item}_is_sorted_bool .(list({item})) bool"
        yield f"max: list_{item}_max_{item} .(list({item})) {item}"
        yield f"min: list_{item}_min_{item} .(list({item})) {item}"
        yield f"sort: list_{item}_sort .(list({item})) list({item})"
        yield f"@sortByAssociatedKeys: list_{item}_sortByAssociatedKeys .(list(T), list({item})) list(T)"
        if item in {"int", "uint", "double", "duration"}:
            yield f"sum: list_{item}_sum_{item} .(list({item})) {item}"
    for name in NAMED_FORMATS:
        yield f"format.{name}: format.{name} () kubernetes.NamedFormat"


_LINE = re.compile(r"(?P<name>\S+): (?P<id>\S+) (?P<method>\.?)\((?P<arguments>.*)\) (?P<result>\S.*)")
_NAMED = {
    each.name: each for each in (types.BOOL, types.BYTES, types.DOUBLE, types.DYN, types.INT, types.STRING, types.UINT)
} | {"duration": types.DURATION, "timestamp": types.TIMESTAMP}


@cache
def functions() -> Mapping[str, tuple[Overload, ...]]:
    """Return the overloads of each function, by its name."""
    table: dict[str, list[Overload]] = {}
    for line in (*_TABLE.strip().splitlines(), *_generated()):
        found = _LINE.fullmatch(line)
        assert found is not None, line
        arguments, result = tuple(map(parsed, _split(found["arguments"]))), parsed(found["result"])
        params = frozenset(part for each in arguments for part in _params(each)) | frozenset(_params(result))
        overload = Overload(found["id"], bool(found["method"]), arguments, result, params)
        table.setdefault(found["name"], []).append(overload)
    return {name: tuple(overloads) for name, overloads in table.items()}


def parsed(text: str) -> Type:
    """Return the type of a text such as ``list(A)``."""
    name, _, inner = text.replace("@", "kubernetes.authorization.").partition("(")
    params = tuple(map(parsed, _split(inner[:-1]))) if inner else ()
    if name in {"list", "map", "type"}:
        return Type(name, name, params)
    if len(name) == 1:
        return types.param(name)
    if name in _NAMED:
        return _NAMED[name]
    return Type("struct" if name.startswith("kubernetes.") else "opaque", name, params)


def _split(text: str) -> list[str]:
    """Return the parts of ``A, map(K, V)`` between the outer commas."""
    return re.findall(r"(?:[^,()]|\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))+", text.replace(", ", ","))


def _params(value: Type) -> Iterator[Type]:
    if value.kind == "param":
        yield value
    for part in value.params:
        yield from _params(part)


#: The names of types, which are values of type ``type``.
TYPE_NAMES: Mapping[str, Type] = {
    **{name: value for name, value in _NAMED.items() if value.name == name and name != "dyn"},
    "list": types.list_of(types.DYN),
    "map": types.map_of(types.DYN, types.DYN),
    "null_type": types.NULL,
    "type": types.TYPE,
    types.DURATION.name: types.DURATION,
    types.TIMESTAMP.name: types.TIMESTAMP,
    "optional_type": types.optional_of(types.param("V")),
    "net.IP": Type("opaque", "net.IP"),
    "net.CIDR": Type("opaque", "net.CIDR"),
}
