"""Manifests: ``ok`` means that all of it is so on the server."""

from __future__ import annotations

from functools import partial

from dynkube import Client
from dynkube.manifests import Report
from dynkube_testing import APIServer
from tests.informers.kit import crd, namespace, widget
from tests.sweep.cluster import WIDGETS, config, configs
from tests.sweep.lab import Lab, scenario

APPLY = "dynkube.Client.apply_all"
MEMBERS = [config("m"), config("n"), widget("w")]
on_configs = partial(scenario, prepare=configs)


def verdict(lab: Lab, report: Report, right: bool, claim: str) -> None:
    """Fail if the report is ok and the server's state does not justify it."""
    if not report.ok:
        lab.note("report is not ok")
    else:
        lab.check(right, f"ok, and {claim}")


@on_configs("apply_all", APPLY, "dynkube.ApplyRun")
async def apply_all(lab: Lab) -> None:
    report = await lab.client.apply_all([config("a", key="2"), config("m")])
    right = lab.server.get("configmaps", "a", "default")["data"] == {"key": "2"} and lab.exists("configmaps", "m")
    verdict(lab, report, right, "objects are not as in the source")


@on_configs("apply_all, dry run", f"{APPLY}(dry_run)")
async def dry_run(lab: Lab) -> None:
    report = await lab.client.apply_all([config("a", key="2"), config("m")], dry_run=True)
    counts = {str(key): value for key, value in report.counts.items() if value}
    verdict(lab, report, counts == {"changed": 1, "created": 1}, f"it would do {counts}")


@on_configs("apply_all, a CRD and its objects")
async def with_a_crd(lab: Lab) -> None:
    report = await lab.client.apply_all([namespace("n"), crd(), widget("w"), config("m", namespace="n")])
    right = lab.exists(WIDGETS, "w") and lab.exists("configmaps", "m", "n") if lab.exists("crds", CRD, None) else False
    verdict(lab, report, right, "objects do not exist")


CRD = "widgets.example.com"


async def members(server: APIServer, client: Client) -> None:
    """Create a set of three members."""
    server.create(crd())
    assert (await client.apply_all(MEMBERS, prune="set")).ok


@on_configs("apply_all, pruning", f"{APPLY}(prune)", before=members)
async def prune(lab: Lab) -> None:
    report = await lab.client.apply_all([config("n")], prune="set")
    left = [name for kind, name in ((WIDGETS, "w"), ("configmaps", "m")) if lab.exists(kind, name)]
    lab.check(lab.exists("configmaps", "n"), "a member of the source was pruned")
    lab.check(lab.exists("configmaps", "a"), "an object of no set was pruned")
    verdict(lab, report, not left, f"members are left: {', '.join(left)}")
    if left:  # nothing may be forgotten: the next run prunes them
        again = await lab.client.apply_all([config("n")], prune="set")
        left = [name for kind, name in ((WIDGETS, "w"), ("configmaps", "m")) if lab.exists(kind, name)]
        lab.check(not (again.ok and left), f"the next run is ok, and members are left: {', '.join(left)}")


@on_configs("diff_all", "dynkube.Client.diff_all")
async def diff_all(lab: Lab) -> None:
    report = await lab.client.diff_all([config("a", key="2"), config("m")])
    if report.ok:
        shown = {entry.object.name: entry.diff.before is None for entry in report if entry.object and entry.diff}
        lab.check(shown == {"a": False, "m": True}, f"shows as new: {shown}")
    else:
        lab.note("report is not ok")


@on_configs("diff_all, pruning", before=members)
async def diff_all_prune(lab: Lab) -> None:
    report = await lab.client.diff_all([config("n")], prune="set")
    if report.ok:
        shown = sorted(str(entry.object and entry.object.name) for entry in report if entry.pruned)
        lab.equal(shown, ["m", "w"], "ok, and would prune")
    else:
        lab.note("report is not ok")
