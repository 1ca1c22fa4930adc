"""Layer 7: live tables for notebooks, updated from informers, and live logs.

``informer.live()`` and ``live()`` of :mod:`dynkube.sync` and :mod:`dynkube.aio` make one. Start reading in
``_follower.py``: it follows the informers of one or several clusters while a page shows the table (``_audience.py``,
``_cells.py``), applies their events (``_feed.py``, ``_selection.py``), and renders snapshots (``_picture.py``) of
columns (``_columns.py``): of the window that a page asks for (``_view.py``), of rows that it searches or sorts
(``_ranking.py``). It sends the difference between two of them (``_messages.py``) to the page (``static/live.js``).

``logs(...).live()`` makes a live log: ``_log_follower.py`` reads lines, keeps the newest (``_log_tail.py``), and
replaces the outputs (``_outputs.py``) of cells by cards of them (``_log_card.py``).
"""

from dynkube.notebook._columns import ColumnSource
from dynkube.notebook._live import LiveTable, live_table
from dynkube.notebook._live_log import LiveLog

__all__ = ["ColumnSource", "LiveLog", "LiveTable", "live_table"]
