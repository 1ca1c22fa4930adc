"""A program in a process of its own: creates ships, says what it does, and runs until it is killed.

Usage: ``launcher.py named|generated|failing|with-child``. It only uses the standard library, to start soon.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

SERVER = re.search(r'"?server"?: "?(http[^"\s,]+)', Path(os.environ["KUBECONFIG"]).read_text())


def create(**metadata: str) -> None:
    """Create a ConfigMap, unless one of this name exists."""
    assert SERVER is not None
    url = f"{SERVER[1]}/api/v1/namespaces/default/configmaps"
    body = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}).encode()
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        urllib.request.urlopen(request).close()
    except urllib.error.HTTPError as error:
        if error.code != 409:
            raise


def main(how: str) -> None:
    """Create three ships."""
    for number in range(3):
        create(**({"generateName": "ship-"} if how == "generated" else {"name": f"ship-{number}"}))
    if how == "failing":
        sys.exit(3)
    if how == "with-child":
        child = subprocess.Popen(["sleep", "1000"])
        print("child", child.pid, "of", os.environ.get("OWNER"), flush=True)
    time.sleep(1000)


main(sys.argv[1])
