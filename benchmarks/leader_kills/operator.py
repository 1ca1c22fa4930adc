"""One process of the operator examples/website_operator.py, with leader election.

Exits with code 3 if it has lost the leadership.
"""

from __future__ import annotations

import argparse
import logging
import sys

import trio

import dynkube
from benchmarks.leader_kills.lease import LOST, NAMESPACE, election
from dynkube.controllers import LeadershipLost, run
from examples.website_operator import websites


async def operate(options: argparse.Namespace) -> None:
    """Run the operator until the process is killed."""
    async with dynkube.connect(kubeconfig=options.kubeconfig, namespace=NAMESPACE) as client:
        await run(client, websites, election=election(options.identity, options.lease_duration))


def main() -> None:
    """Parse the command line, and run."""
    parser = argparse.ArgumentParser(description="One process of the operator.")
    parser.add_argument("--kubeconfig", required=True)
    parser.add_argument("--identity", required=True)
    parser.add_argument("--lease-duration", type=float, required=True)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    try:
        trio.run(operate, parser.parse_args())
    except LeadershipLost as exc:
        print(exc, file=sys.stderr)
        sys.exit(LOST)


if __name__ == "__main__":
    main()
