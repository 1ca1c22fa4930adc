"""A soak: informers over hundreds of resources, writers, definitions that come and go, and faults, for hours.

``resources.py`` has what is written, ``observers.py`` who looks at it, ``faults.py`` what goes wrong meanwhile,
``checks.py`` what has to be true whenever things are quiet, ``figures.py`` what is measured then, ``run.py`` the course
of it all, ``embedded.py`` and ``real.py`` the two API servers it runs on, and ``__main__.py`` the command line.
"""
