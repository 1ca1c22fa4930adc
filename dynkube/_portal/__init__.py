"""Layer 7: what ``dynkube.sync`` and ``dynkube.aio`` share: one thread running trio, and facades of the async objects.

A call from another thread is a task in that thread (``call.py``, ``thread.py``). Start reading in ``thread.py``;
``facade.py`` explains how methods are generated from the async ones.
"""
