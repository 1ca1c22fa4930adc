"""Custom resources that are stored in another version than the requested one: conversion by webhooks, lost versions."""

from __future__ import annotations

from collections.abc import Iterable

from dynkube.errors import APIError
from dynkube_testing._calls import refuse
from dynkube_testing._calls.webhook_calls import AnswersNeeded, WebhookCall
from dynkube_testing._kinds.kinds import Kind
from dynkube_testing._store.storage import Storage
from dynkube_testing._store.versions import Version, remote_content


def convert_all(kind: Kind, versions: Iterable[Version], *, again: bool = False) -> None:
    """Let webhooks convert stored objects to the version of ``kind``; nothing is done without a webhook.

    Those that can be converted are, even if others cannot. ``again`` is as for :meth:`Version.convert`.

    Raises:
        AnswersNeeded: Webhooks must be called: all calls at once.
        ServerError: A webhook has failed, for one of the objects; the first one's error.
    """
    if remote_content(kind) is None:
        return
    calls: list[WebhookCall] = []
    problems: list[APIError] = []
    for version in versions:
        try:
            version.convert(kind, again=again)
        except AnswersNeeded as needed:
            calls += needed.calls
        except APIError as problem:
            problems.append(problem)
    if calls:
        raise AnswersNeeded(*calls)
    if problems:
        raise problems[0]


def check_convertible(kind: Kind, *versions: Version) -> None:
    """Check that stored objects can be converted to the version of ``kind``.

    Raises:
        ServerError: The CRD has no longer the version in which an object is stored.
    """
    for version in versions:
        if lost := _lost_version(kind, version):
            raise refuse.failed(_problem(kind, lost))


def check_cached(storage: Storage, kind: Kind) -> None:
    """Check that all objects of a resource can be converted, for requests that a watch cache answers.

    Raises:
        TooManyRequests: One cannot be converted, so that a real server's watch cache cannot be filled.
        ServerError: A webhook has failed to convert one that is newer than a real server's watch cache.
        AnswersNeeded: Webhooks must be called.
    """
    if problem := cache_problem(storage, kind):
        raise refuse.too_many(problem, retry_after=1)
    if (content := remote_content(kind)) is None:
        return
    try:
        convert_all(kind, storage.collection(kind.storage_group).current.values())
    except APIError as error:
        if content.filled:
            raise
        raise refuse.too_many(_unfilled(kind, error.status.message), retry_after=1) from None
    content.filled = True


def cache_problem(storage: Storage, kind: Kind) -> str:
    """Return why a real server's watch cache of a resource cannot be filled; ``""`` if it can."""
    if kind.content is None:
        return ""
    versions = storage.collection(kind.storage_group).current.values()
    lost = next((lost for version in versions if (lost := _lost_version(kind, version))), "")
    if not lost:
        return ""
    return _unfilled(kind, _problem(kind, lost))


def _unfilled(kind: Kind, why: str) -> str:
    return f"storage is (re)initializing: failed to list {kind.api_version}, Kind={kind.kind}: {why}"


def _lost_version(kind: Kind, version: Version) -> str:
    return kind.content.lost_version(version.shape) if kind.content is not None else ""


def _problem(kind: Kind, version: str) -> str:
    return f"request to convert CR from an invalid group/version: {kind.gvr.group}/{version}"
