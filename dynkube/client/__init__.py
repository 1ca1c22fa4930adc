"""Floor 5: verbs on one resource."""

from dynkube.client._listwatch import ListWatch, UnreadableEvent

__all__ = ["ListWatch", "UnreadableEvent"]
