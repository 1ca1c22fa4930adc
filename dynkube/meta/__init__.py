"""API types and syntax as data. No I/O, no trio.

GVR, GVK, Unstructured, selectors, patches, paths.
"""

from dynkube.meta._dataframes import to_pandas, to_polars
from dynkube.meta._edit import REMOVE
from dynkube.meta._events import Added, Bookmark, Deleted, InformerEvent, Modified, Updated, WatchEvent
from dynkube.meta._frames.fields import Fields
from dynkube.meta._frozen import FrozenDict, FrozenList, thaw
from dynkube.meta._gvr import GVK, GVR, GroupVersion, ResourceArg
from dynkube.meta._json import JSON, JSONLike, JSONObject
from dynkube.meta._jsonpath.compiled import JSONPath
from dynkube.meta._jsonpath.template import JSONPathTemplate
from dynkube.meta._list import UnstructuredList
from dynkube.meta._models import ModelLike
from dynkube.meta._object import Unstructured
from dynkube.meta._partial import MISSING, Missing
from dynkube.meta._patch import PatchType
from dynkube.meta._selectors.fields import FieldOperator, FieldRequirement, FieldSelector
from dynkube.meta._selectors.hash_shard import HashShard
from dynkube.meta._selectors.labels import LabelOperator, LabelRequirement, LabelSelector
from dynkube.meta._table import UnstructuredTable
from dynkube.meta._table_columns import TableColumn

__all__ = [
    "GVK",
    "GVR",
    "JSON",
    "MISSING",
    "REMOVE",
    "Added",
    "Bookmark",
    "Deleted",
    "FieldOperator",
    "FieldRequirement",
    "FieldSelector",
    "Fields",
    "FrozenDict",
    "FrozenList",
    "GroupVersion",
    "HashShard",
    "InformerEvent",
    "JSONLike",
    "JSONObject",
    "JSONPath",
    "JSONPathTemplate",
    "LabelOperator",
    "LabelRequirement",
    "LabelSelector",
    "Missing",
    "ModelLike",
    "Modified",
    "PatchType",
    "ResourceArg",
    "TableColumn",
    "Unstructured",
    "UnstructuredList",
    "UnstructuredTable",
    "Updated",
    "WatchEvent",
    "thaw",
    "to_pandas",
    "to_polars",
]
