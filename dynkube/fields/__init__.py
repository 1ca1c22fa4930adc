"""Who owns which field, as data: paths, sets of them, and what ``managedFields`` says. No I/O, no trio."""

from dynkube.fields._entries import ManagedFieldsEntry, Manager, Operation, managed
from dynkube.fields._extract import extract
from dynkube.fields._handover import LAST_APPLIED, migrated, released, several_names, several_paths, transferred
from dynkube.fields._items import Values
from dynkube.fields._owners import Owners, fields_of, owners
from dynkube.fields._path import FieldPath, PathLike
from dynkube.fields._set import FieldSet
from dynkube.fields._steps import Field, ItemIndex, ItemKey, ItemValue, Step, same_json

__all__ = [
    "LAST_APPLIED",
    "Field",
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
    "extract",
    "fields_of",
    "managed",
    "migrated",
    "owners",
    "released",
    "same_json",
    "several_names",
    "several_paths",
    "transferred",
]
