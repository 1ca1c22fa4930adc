"""Layer 7: looking at objects and kinds: events, descriptions, fields of kinds, resource usage.

Start reading in ``_verbs.py``. ``_event_list.py`` and ``_schemas.py`` are pure; ``_owned.py`` finds what an object
owns.
"""

from dynkube.inspection._description import Description
from dynkube.inspection._event_list import ObjectEvent, ObjectEvents
from dynkube.inspection._explanation import Explanation
from dynkube.inspection._schemas import SchemaField
from dynkube.inspection._usage import Usage, Usages

__all__ = ["Description", "Explanation", "ObjectEvent", "ObjectEvents", "SchemaField", "Usage", "Usages"]
