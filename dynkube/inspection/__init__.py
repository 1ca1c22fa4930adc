"""Layer 7: looking at single objects of any kind: their events, and a description.

Start reading in ``_verbs.py``. ``_event_list.py`` is pure; ``_owned.py`` finds what an object owns.
"""

from dynkube.inspection._description import Description
from dynkube.inspection._event_list import ObjectEvent, ObjectEvents

__all__ = ["Description", "ObjectEvent", "ObjectEvents"]
