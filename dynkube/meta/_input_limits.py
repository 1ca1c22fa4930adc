"""How much one text may hold, and may become: the limits on YAML, and on data that callers pass, in one place.

Where Go has a limit it is Go's: API servers and kubectl read YAML with go-yaml, whose rule on aliases
(``allowedAliasRatio`` in its ``decode.go``) answers CVE-2019-11253, the "billion laughs" against kube-apiserver.
"""

from __future__ import annotations

from typing import Final

MAX_TEXT_BYTES: Final = 100 << 20
"""Of one text, file or standard input.

kubectl has no limit. 100 MB is the most that kube-apiserver ever took as one request (1.14 to 1.16; 3 MiB since), and
many times the largest bundles of manifests.
"""

MAX_CONFIG_BYTES: Final = 16 << 20
"""Of one kubeconfig: a thousand clusters and users, with 16 KiB of certificates each. client-go has no limit."""

MAX_CONFIG_VALUES: Final = 50_000
"""Keys and values of one kubeconfig, with those that aliases repeat: a thousand clusters and users with plugins.

The ``kubernetes`` package reads it again, with PyYAML's own loader, which takes 40 microseconds and 0.9 KB for each.
"""

MAX_DEPTH: Final = 1_000
"""Levels of lists and mappings, aliases followed.

go-yaml allows 10,000, but whatever works on the result in Python calls itself for each level, and Python stops at
1,000 calls. No Kubernetes object is a tenth as deep.
"""

MAX_ALIASED_BYTES: Final = 3 << 20
"""Of what the aliases of one document repeat: an object larger than kube-apiserver's 3 MiB for a request
(``MaxRequestBodyBytes``, and the limit on what the copies in a JSON patch add up to) cannot be written anyway.

go-yaml counts values alone, and its values share their text; as JSON they do not.
"""

_MIN_NODES: Final = 1_000_000
_BYTES_A_NODE: Final = 8
_MEAN_DEPTH: Final = 32

# go-yaml: small documents may consist of repeats by 99 %, large ones by 10 %; anywhere between that is 400,000 repeats.
_SMALL: Final = 400_000
_LARGE: Final = 4_000_000
_ALIASED_ANYWAY: Final = 100
_VALUES_ANYWAY: Final = 1_000


def max_nodes(text_bytes: int) -> int:
    """How many keys and values one document may have without its aliases.

    A value takes up to 70 bytes of memory. So that a text of any size needs no more than ten times itself beyond some
    50 MB, there is at most one value for 8 bytes where there are more than a million; manifests have one for 10 to 20.
    """
    return max(_MIN_NODES, text_bytes // _BYTES_A_NODE)


def max_levels(text_bytes: int) -> int:
    """How many levels the keys and values of one document may be deep, added up.

    libyaml looks at each level of ``[`` and ``{`` for each token: 2 MB of ``1,`` at a depth of 990 take it half a
    minute. Schemas in CRDs, the deepest that there is, are 20 levels deep in the mean, and a tenth as many values.
    """
    return _MEAN_DEPTH * max_nodes(text_bytes)


MAX_REPEATED_VALUES: Final = 1_000_000
"""Values that a caller's lists and dicts may repeat: ``[item] * 1000`` is usual in Python, billions are not."""


def excessive_aliasing(values: int, aliased: int) -> bool:
    """Whether too many of the values that have been read so far are repeats, by go-yaml's rule.

    Args:
        values: keys and values so far, each alias counted as all that it stands for.
        aliased: those of them that aliases and merge keys repeat.
    """
    if aliased <= _ALIASED_ANYWAY or values <= _VALUES_ANYWAY:
        return False
    beyond = min(max(values - _SMALL, 0) / (_LARGE - _SMALL), 1)
    return aliased / values > 0.99 - 0.89 * beyond
