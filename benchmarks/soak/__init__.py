"""A soak test: informers of hundreds of resources, writes, recreated CRDs and injected faults, for hours.

``resources.py`` generates the writes, ``observers.py`` has the informers and their handlers, ``faults.py`` injects
faults, ``checks.py`` compares informers with the server when writes and faults are paused, ``figures.py`` measures
resources then, ``run.py`` runs it all, ``embedded.py`` and ``real.py`` are the two API servers, and ``__main__.py`` is
the command line. ``controllers.py`` has twenty controllers in place of the informers.
"""
