"""Renderers of resource clients, applied objects, users and permissions."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from itertools import islice
from typing import Any, Final

from dynkube._display.cards import Card, Facts, Note, Span, Tone, line
from dynkube._display.discovery import listing_card, named_card
from dynkube._display.meta import unstructured_card
from dynkube._display.pills import pill
from dynkube._display.registry import render
from dynkube._text.words import several
from dynkube.client import Applied, Permission, ResourceClient, UserInfo
from dynkube.client._completion import Resources
from dynkube.discovery._listing import listing

_EXTRA: Final = 20


@render.register(ResourceClient)
def resource_client_card(client: ResourceClient, now: datetime) -> Card:
    """Return the card of a resource client: what is known of the resource, without a request."""
    name, session = client._target.spec, client._target.session
    return named_card(name, session.mapper.loaded, session.definition, outdated=session.mapper.may_be_outdated(name))


@render.register(Resources)
def known_resources_card(resources: Resources[Any], now: datetime) -> Card:
    """Return the card of the resources that the client has discovered so far."""
    mapper = resources._known()
    if mapper is not None:
        return listing_card(listing(mapper.discovery), now)
    note = Note(line("Discovery runs when the first verb is called."))
    return Card(line("resources", "not discovered yet"), (note,))


@render.register(Applied)
def applied_card(obj: Applied, now: datetime) -> Card:
    """Return the card of an applied object: the object's, with the kind of change."""
    card = unstructured_card(obj, now)
    labels = [obj.change, *(["terminating"] if obj.terminating else [])]
    return replace(card, head=(*card.head, *map(pill, labels)))


@render.register(UserInfo)
def user_card(user: UserInfo, now: datetime) -> Card:
    """Return the card of a user."""
    facts = [("groups", several(user.groups)), ("uid", user.uid)]
    facts += [(key, several(values)) for key, values in islice(user.extra.items(), _EXTRA)]
    return Card(line("user", Span(user.username, Tone.STRONG)), (Facts.of(facts),))


@render.register(Permission)
def permission_card(permission: Permission, now: datetime) -> Card:
    """Return the card of a permission."""
    answer = Span("yes", Tone.GOOD) if permission.allowed else Span("no", Tone.BAD)
    facts = [("because", permission.reason), ("not evaluated", permission.evaluation_error)]
    return Card(line(answer, permission.action), (Facts.of(facts),))
