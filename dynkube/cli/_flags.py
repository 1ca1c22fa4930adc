"""Messages of the library in the words of the command line: flags instead of Python arguments.

Options are checked before the library sees them wherever that is possible without repeating it. What remains are
messages from deep inside, such as hints to a connection that failed; these are translated here, phrase by phrase, so
that other text, such as a message of the server, stays as it is. Tests compare the
phrases with the library, so that one that is worded anew there fails them.
"""

from __future__ import annotations

import re
import shlex
from ast import literal_eval
from typing import Final

_PHRASES: Final = tuple(
    (re.compile(phrase, re.MULTILINE), flags)
    for phrase, flags in (
        # connecting
        (r"pass kubeconfig= or url=", "pass --kubeconfig or --url"),
        (r"pass context= or run 'kubectl", "pass --context or run 'kubectl"),
        (r"check the path given as kubeconfig=", "check the path given as --kubeconfig"),
        (
            r"kubeconfig= is not a valid path (\(.*\)): .*",
            r"--kubeconfig is not a valid path \1: pass the path of a file",
        ),
        (r"log in manually first, or raise exec_timeout=", "log in manually first"),
        (r"\((server from |from )?url=\)", r"(\1--url)"),
        (r"no credentials were sent: pass token=", "no credentials were sent: pass --token"),
        (r"^url=: ", "--url: "),
        (r"^token= is (empty|not a valid bearer token)", r"--token is \1"),
        (r"insecure-skip-tls-verify or verify=False", "insecure-skip-tls-verify or --insecure"),
        (r"\(certificate-authority-data, verify=(PATH)?\)", "(certificate-authority-data of a kubeconfig)"),
        # namespaces
        (r"has no namespace: pass namespace=", "has no namespace: pass -n"),
        (r"leave namespace=('[^']*')? out", "leave -n out"),
        (r"but the call has namespace=", "but -n is "),
        # sources and ApplySets
        (r"^source ('.*' is a URL: download it), and pass its content or its path", r"-f \1, and pass its path"),
        (r"^source has no objects, so all members", "-f has no objects, so all members"),
        (r"or pass that as the tooling to share it", "or pass that as --tooling to share it"),
        # ownership
        (r"see fields_of\(\); convert with upgrade_managed_fields\(\)", "convert with dynkube upgrade-managed-fields"),
        (r"Pass a manager that applied it, or missing_ok=True .*", "Pass a manager that applied it as --manager"),
        (
            r"are unknown: read the object with get\(\)\. Informers .* manifests have none\. \((.*)\)",
            r"are unknown. \1",
        ),
        # workloads and nodes
        (
            r"would not be restarted: call resume\(\) first",
            "would not be restarted: run 'dynkube rollout resume' first",
        ),
        (r": use client\.rollout\(\) with what it owns, ", ": use what it owns, "),
        (r"pass ignore_daemonsets=True to leave", "pass --ignore-daemonsets to leave"),
        (r"pass delete_emptydir_data=True to delete", "pass --delete-emptydir-data to delete"),
        (r"that would create it again: pass force=True to", "that would create it again: pass --force to"),
        (r": client\.uncordon\('([^']*)'\) undoes that", r": 'dynkube uncordon \1' undoes that"),
        # pods
        (r"has no log: (.*); follow=True waits for it", r"has no log: \1; --follow waits for it"),
        (
            r"^cannot listen on address=('[^']*'), local_port=(\d+): (.*); use another one, or local_port=0 for any",
            r"cannot listen on port \2 of --address \1: \3; use another one, or :REMOTE for any",
        ),
        (r"bytes \(max_size\): copy less", "bytes (--max-size): copy less"),
        (r"^max_size must be ", "--max-size must be "),
        # limits
        (r"; page_size=None requests one response", ""),
        (r" with a namespace or selectors, or raise the limit: connect\(limits=\.\.\.\)", " with -n, -l or --field"),
        (
            r": request less at a time \(limit=, or page_size of InformerSettings\), or .* connect\(limits=\.\.\.\)",
            ": narrow it with -n, -l or --field",
        ),
        (r"; client\.raw\(\) accepts any response", ""),
        # the embedded server
        (r"^accept_hosts has ", "--accept-hosts has "),
        (r"^(host|port) (.* cannot be in a certificate|.* is not an address of this machine)", r"--\1 \2"),
    )
)
_FORCE: Final = re.compile(r"with force=\[(.*), \.\.\.\] for some of the fields or force=True for all;")


def in_flags(text: str) -> str:
    """Return a message of the library with flags instead of Python arguments."""
    for phrase, flags in _PHRASES:
        text = phrase.sub(flags, text)
    return _FORCE.sub(_take, text)


def _take(found: re.Match[str]) -> str:
    try:
        path = shlex.quote(literal_eval(found[1]))
    except (SyntaxError, ValueError):  # a path with characters that were replaced for the terminal
        path = "PATH"
    return f"with --take {path} for some of the fields or --force for all;"
