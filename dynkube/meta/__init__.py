"""API types and syntax as data. No I/O, no trio.

GVR, GVK, Unstructured, selectors, patches, paths.
"""

from dynkube.meta._arguments import a_type, is_number, is_seconds
from dynkube.meta._common import BodyCache
from dynkube.meta._dataframes import to_pandas, to_polars
from dynkube.meta._edit import REMOVE
from dynkube.meta._encode import encode_json, json_of
from dynkube.meta._events import Added, Bookmark, Deleted, InformerEvent, Modified, Updated, WatchEvent
from dynkube.meta._frames.columns import Fields
from dynkube.meta._frozen import FrozenDict, FrozenList, freeze, freeze_fresh, thaw
from dynkube.meta._gvr import GVK, GVR, GroupVersion, ResourceArg, check_resource, is_version, version_priority
from dynkube.meta._input_limits import MAX_TEXT_BYTES
from dynkube.meta._json import JSON, UNREADABLE, JSONLike, JSONObject
from dynkube.meta._jsonpath.compiled import JSONPath
from dynkube.meta._jsonpath.template import JSONPathTemplate
from dynkube.meta._list import UnstructuredList
from dynkube.meta._names import label_key_problem, label_value_problem
from dynkube.meta._object import Key, Unstructured
from dynkube.meta._partial import MISSING, Missing, partial_reader
from dynkube.meta._patch import PatchType, merge_patch
from dynkube.meta._path import resource_path
from dynkube.meta._selectors.fields import FieldOperator, FieldRequirement, FieldSelector
from dynkube.meta._selectors.labels import LabelOperator, LabelRequirement, LabelSelector
from dynkube.meta._shape import check_shape
from dynkube.meta._table import UnstructuredTable, joined_tables
from dynkube.meta._table_columns import PLAIN_COLUMNS, TableColumn
from dynkube.meta._versions import is_older
from dynkube.meta._wire.events import decode_watch_line
from dynkube.meta._wire.lists import ListDecoder
from dynkube.meta._wire.objects import ObjectDecoder, cut_managed_fields
from dynkube.meta._wire.status import failed_status, raise_failed_status
from dynkube.meta._wire.tables import WireTable

__all__ = [
    "GVK",
    "GVR",
    "JSON",
    "MAX_TEXT_BYTES",
    "MISSING",
    "PLAIN_COLUMNS",
    "REMOVE",
    "UNREADABLE",
    "Added",
    "BodyCache",
    "Bookmark",
    "Deleted",
    "FieldOperator",
    "FieldRequirement",
    "FieldSelector",
    "Fields",
    "FrozenDict",
    "FrozenList",
    "GroupVersion",
    "InformerEvent",
    "JSONLike",
    "JSONObject",
    "JSONPath",
    "JSONPathTemplate",
    "Key",
    "LabelOperator",
    "LabelRequirement",
    "LabelSelector",
    "ListDecoder",
    "Missing",
    "Modified",
    "ObjectDecoder",
    "PatchType",
    "ResourceArg",
    "TableColumn",
    "Unstructured",
    "UnstructuredList",
    "UnstructuredTable",
    "Updated",
    "WatchEvent",
    "WireTable",
    "a_type",
    "check_resource",
    "check_shape",
    "cut_managed_fields",
    "decode_watch_line",
    "encode_json",
    "failed_status",
    "freeze",
    "freeze_fresh",
    "is_number",
    "is_older",
    "is_seconds",
    "is_version",
    "joined_tables",
    "json_of",
    "label_key_problem",
    "label_value_problem",
    "merge_patch",
    "partial_reader",
    "raise_failed_status",
    "resource_path",
    "thaw",
    "to_pandas",
    "to_polars",
    "version_priority",
]
