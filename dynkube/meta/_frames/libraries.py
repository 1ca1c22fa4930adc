"""Data frames of pandas and polars, built from typed columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from dynkube.meta._frames.values import FrameColumn, FrameType

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

# All are nullable, so a missing number does not turn an integer column into floats.
_PANDAS: Final = {
    FrameType.TEXT: "string",
    FrameType.INTEGER: "Int64",
    FrameType.NUMBER: "Float64",
    FrameType.BOOLEAN: "boolean",
    FrameType.TIME: "datetime64[us, UTC]",
}


def pandas_frame(columns: Sequence[FrameColumn]) -> pd.DataFrame:
    """Build a pandas ``DataFrame`` from typed columns."""
    try:
        import pandas as pd
    except ImportError as error:
        raise _missing("to_pandas()", "pandas") from error
    series = {column.name: pd.Series(list(column.values), dtype=_PANDAS[column.type]) for column in columns}
    return pd.DataFrame(series)


def polars_frame(columns: Sequence[FrameColumn]) -> pl.DataFrame:
    """Build a polars ``DataFrame`` from typed columns."""
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
