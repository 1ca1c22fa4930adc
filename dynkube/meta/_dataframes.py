"""Data frames of pandas and polars, with a type for each column."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from dynkube.meta._frame import Fields, frame_of
from dynkube.meta._frame_values import FrameColumn, FrameType
from dynkube.meta._list import UnstructuredList
from dynkube.meta._object import Unstructured

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

# All of them have a value for "nothing", so a missing number makes no float of the others.
_PANDAS: Final = {
    FrameType.TEXT: "string",
    FrameType.INTEGER: "Int64",
    FrameType.NUMBER: "Float64",
    FrameType.BOOLEAN: "boolean",
    FrameType.TIME: "datetime64[us, UTC]",
}


def to_pandas(
    objects: Iterable[Unstructured], *, fields: Fields | None = None, with_object: bool = False
) -> pd.DataFrame:
    """Objects as a pandas ``DataFrame``: one row each, ``Namespace``, ``Name`` and ``Created``, and what you ask for.

    ::

        dynkube.to_pandas(informer, fields={"image": "{.spec.template.spec.containers[*].image}"})

    A table (``client.get``) has the server's columns instead. Integers, numbers, booleans, times and texts have
    pandas' own types (``Int64``, ``Float64``, ``boolean``, ``datetime64[us, UTC]``, ``string``); what is missing is
    missing there too. The server says the types of its columns, so a table without rows has those of a full one;
    columns of ``fields`` have the type of all their values. Where a value does not fit its column, or values are of
    several types, the column is text.

    A plain call, of a second or so for 20,000 objects: in async code use ``trio.to_thread.run_sync``.

    Args:
        objects: a list, a table, an informer, or any objects.
        fields: further columns by name: kubectl JSONPaths, or functions of the object. Several matches become one
            text with commas, lists and maps JSON. One takes the place of another column of its name.
        with_object: also a column ``object``, the object as JSON text.

    Raises:
        ImportError: pandas is not installed.
        InvalidInput: ``objects`` or ``fields`` is not as above.
    """
    return pandas_frame(_frame(objects, fields, with_object))


def to_polars(
    objects: Iterable[Unstructured], *, fields: Fields | None = None, with_object: bool = False
) -> pl.DataFrame:
    """The same as a polars ``DataFrame``; its types are ``Int64``, ``Float64``, ``Boolean``, ``Datetime``, ``String``.

    Args:
        objects: as for :func:`to_pandas`.
        fields: as for :func:`to_pandas`.
        with_object: as for :func:`to_pandas`.

    Raises:
        ImportError: polars is not installed.
        InvalidInput: ``objects`` or ``fields`` is not as above.
    """
    return polars_frame(_frame(objects, fields, with_object))


def _frame(objects: Iterable[Unstructured], fields: Fields | None, with_object: bool) -> list[FrameColumn]:
    if isinstance(objects, UnstructuredList):
        return objects._frame(fields, with_object)  # as its own method does
    return frame_of(objects, fields, with_object=with_object)


def pandas_frame(columns: Sequence[FrameColumn]) -> pd.DataFrame:
    """A data frame of these columns."""
    try:
        import pandas as pd
    except ImportError as error:
        raise _missing("to_pandas()", "pandas") from error
    series = {column.name: pd.Series(list(column.values), dtype=_PANDAS[column.type]) for column in columns}
    return pd.DataFrame(series)


def polars_frame(columns: Sequence[FrameColumn]) -> pl.DataFrame:
    """A data frame of these columns."""
    try:
        import polars as pl
    except ImportError as error:
        raise _missing("to_polars()", "polars") from error
    types: dict[FrameType, Any] = {
        FrameType.TEXT: pl.String(),
        FrameType.INTEGER: pl.Int64(),
        FrameType.NUMBER: pl.Float64(),
        FrameType.BOOLEAN: pl.Boolean(),
        FrameType.TIME: pl.Datetime("us", "UTC"),
    }
    return pl.DataFrame({each.name: pl.Series(values=each.values, dtype=types[each.type]) for each in columns})


def _missing(what: str, package: str) -> ImportError:
    return ImportError(f"{what} needs {package}: pip install 'dynkube[{package}]'", name=package)
