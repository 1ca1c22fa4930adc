"""Floor 7: tables in notebooks that keep themselves up to date.

``informer.live()`` of :mod:`dynkube.sync` makes one. Start reading in ``_follower.py``: it follows while somebody looks
(``_audience.py``, ``_cells.py``), folds the events of an informer (``_selection.py``), draws pictures (``_picture.py``)
of columns (``_columns.py``), and sends the difference between two of them (``_messages.py``) to the page
(``static/live.js``).
"""

from dynkube.notebook._columns import ColumnSource
from dynkube.notebook._live import LiveTable, live_table

__all__ = ["ColumnSource", "LiveTable", "live_table"]
