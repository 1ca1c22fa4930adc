"""Layer 7: live tables for notebooks, updated from an informer.

``informer.live()`` of :mod:`dynkube.sync` and :mod:`dynkube.aio` makes one. Start reading in ``_follower.py``: it
follows an informer while a page shows the table (``_audience.py``, ``_cells.py``), applies its events
(``_selection.py``), and renders snapshots (``_picture.py``) of columns (``_columns.py``): of the window that a page
asks for (``_view.py``), of rows that it searches or sorts (``_ranking.py``). It sends the difference between two of
them (``_messages.py``) to the page (``static/live.js``).
"""

from dynkube.notebook._columns import ColumnSource
from dynkube.notebook._live import LiveTable, live_table

__all__ = ["ColumnSource", "LiveTable", "live_table"]
