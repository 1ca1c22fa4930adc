"""Limits on YAML input, and on data passed by callers.

API servers and kubectl read YAML with go-yaml, so its limits are used here. Its rule on aliases (``allowedAliasRatio``
in its ``decode.go``) addresses CVE-2019-11253, the "billion laughs" attack on kube-apiserver.
"""

from __future__ import annotations

from typing import Final

MAX_TEXT_BYTES: Final = 100 << 20
"""Maximum bytes of one YAML string, file or standard input.

kubectl has no limit. 100 MB is the largest request that kube-apiserver ever accepted (1.14 to 1.16; 3 MiB since), and
many times the largest bundles of manifests.
"""

MAX_CONFIG_BYTES: Final = 16 << 20
"""Maximum bytes of one kubeconfig.

Enough for a thousand clusters and users with 16 KiB of certificates each. client-go has no limit.
"""

MAX_CONFIG_VALUES: Final = 50_000
"""Maximum keys and values of one kubeconfig, aliases expanded.

Enough for a thousand clusters and users with exec plugins.
"""

MAX_DEPTH: Final = 1_000
"""Maximum nesting of lists and mappings, aliases followed.

go-yaml allows 10,000, but code that works on the result in Python recurses for each level, and Python stops at 1,000
calls. No Kubernetes object is a tenth as deep.
"""

MAX_ALIASED_BYTES: Final = 3 << 20
"""Maximum bytes that the aliases of one document may add when expanded.

An object larger than kube-apiserver's 3 MiB for a request (``MaxRequestBodyBytes``, and the limit on the total of the
copies in a JSON patch) cannot be written anyway. go-yaml counts only the number of values, as repeated values share
their strings in memory. Encoded as JSON, the strings are repeated.
"""

_MIN_NODES: Final = 1_000_000
_BYTES_A_NODE: Final = 8
_MEAN_DEPTH: Final = 32

# go-yaml: up to 99 % of a small document may come from aliases, and 10 % of a large one; in between the ratio allows
# 400,000 aliased values.
_SMALL: Final = 400_000
_LARGE: Final = 4_000_000
_ALIASED_ANYWAY: Final = 100
_VALUES_ANYWAY: Final = 1_000


def max_nodes(text_bytes: int) -> int:
    """Return the maximum number of keys and values in one document.

    Aliases are not expanded. A value takes up to 70 bytes of memory. To bound memory by ten times the size of the input
    plus some 50 MB, documents of more than a million values may have at most one value per 8 bytes; manifests have one
    per 10 to 20 bytes.
    """
    return max(_MIN_NODES, text_bytes // _BYTES_A_NODE)


def max_levels(text_bytes: int) -> int:
    """Return the maximum sum of the depths of all keys and values in one document.

    libyaml iterates over all open ``[`` and ``{`` for each token: 2 MB of ``1,`` at a depth of 990 take half a minute.
    Schemas in CRDs, the deepest documents in use, have a mean depth of 20, and a tenth as many values.
    """
    return _MEAN_DEPTH * max_nodes(text_bytes)


MAX_REPEATED_VALUES: Final = 1_000_000
"""Maximum values that shared lists and dicts of a caller may repeat.

``[item] * 1000`` is common in Python, billions are not.
"""


def excessive_aliasing(values: int, aliased: int) -> bool:
    """Whether aliases account for too many values, by go-yaml's rule.

    Args:
        values: number of keys and values so far, with aliases expanded.
        aliased: the number of these that come from aliases and merge keys.
    """
    if aliased <= _ALIASED_ANYWAY or values <= _VALUES_ANYWAY:
        return False
    beyond = min(max(values - _SMALL, 0) / (_LARGE - _SMALL), 1)
    return aliased / values > 0.99 - 0.89 * beyond
