"""The controllers of the examples under perturbations (docs/perturbation.md); by ``python -m pytest examples``."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
import trio

import dynkube
from dynkube.controllers import run
from dynkube_testing import APIServer, PerturbedRun, RunLimits
from examples import policy_scanner
from examples.my_controller import session_expiry
from examples.test_policy_scanner import RULES, definition, rules
from examples.website_operator import websites

HERE = Path(__file__).parent


def virtual_now() -> datetime:
    return datetime(2030, 1, 1, tzinfo=UTC) + timedelta(seconds=trio.current_time())


async def operate(client: dynkube.Client) -> None:
    await run(client, websites, shutdown_timeout=0)


@pytest.mark.perturb(plans=15)
async def test_whatever_happens_a_website_ends_as_it_should(perturbed: PerturbedRun) -> None:
    site = {"apiVersion": "example.com/v1", "kind": "Website", "metadata": {"name": "shop"}}
    perturbed.server.load(HERE / "websites.yaml")
    perturbed.start(operate)
    perturbed.server.create({**site, "spec": {"replicas": 2}})
    await perturbed.settle()
    perturbed.server.apply({**site, "spec": {"theme": "dark", "replicas": 3}})
    await perturbed.settle()
    perturbed.server.delete("websites", "shop")
    await perturbed.settle()
    assert perturbed.server.list("deployments") == []


async def expire(client: dynkube.Client) -> None:
    await run(client, session_expiry(virtual_now), shutdown_timeout=0)


def new_server(random: Random) -> APIServer:
    return APIServer(now=virtual_now, random=random, watch_list=False)


@pytest.mark.perturb(plans=15, server=new_server)
async def test_whatever_happens_sessions_end(perturbed: PerturbedRun) -> None:
    perturbed.server.load(HERE / "sessions.yaml")
    perturbed.start(expire)
    await perturbed.settle(quiet=600)
    await perturbed.settle(quiet=4000)
    assert perturbed.server.list("sessions") == []


@pytest.mark.perturb(plans=15, limits=RunLimits(quiet=60))
async def test_whatever_happens_reports_are_those_of_the_rules(perturbed: PerturbedRun) -> None:
    server = perturbed.server
    server.load(HERE / "sessions.yaml")
    server.create(definition("PolicyReport", "Namespaced"))
    server.create(definition("ClusterPolicyReport", "Cluster"))
    server.create(rules(RULES))
    perturbed.start(policy_scanner.scan)
    await perturbed.settle()
    server.update(rules(RULES.replace("3600", "60")))
    await perturbed.settle()
    server.delete("configmaps", "rules")
    await perturbed.settle()
    assert server.list("policyreports") + server.list("clusterpolicyreports") == []
