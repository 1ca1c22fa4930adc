"""Field ownership as data: paths, field sets, ``managedFields``.

No I/O, no trio.
"""

from dynkube.fields._diff.collections import Comparison, compare_all
from dynkube.fields._diff.compare import compare
from dynkube.fields._diff.diff import Diff, FieldChange
from dynkube.fields._entries import ManagedFieldsEntry, Manager, Operation, managed
from dynkube.fields._extract import extract
from dynkube.fields._items import Values
from dynkube.fields._owners import Owners, fields_of, owners
from dynkube.fields._path import FieldPath, PathLike
from dynkube.fields._set import FieldSet
from dynkube.fields._steps import Field, ItemIndex, ItemKey, ItemValue, Step

__all__ = [
    "Comparison",
    "Diff",
    "Field",
    "FieldChange",
    "FieldPath",
    "FieldSet",
    "ItemIndex",
    "ItemKey",
    "ItemValue",
    "ManagedFieldsEntry",
    "Manager",
    "Operation",
    "Owners",
    "PathLike",
    "Step",
    "Values",
    "compare",
    "compare_all",
    "extract",
    "fields_of",
    "managed",
    "owners",
]
