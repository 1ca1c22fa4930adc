"""The names of the package ``dynkube_testing``, an embedded Kubernetes API server for tests.

It is a distribution of its own: ``pip install 'dynkube[testing]'``.
"""

try:
    from dynkube_testing import *  # noqa: F403
except ModuleNotFoundError as _error:
    if _error.name != "dynkube_testing":
        raise
    raise ImportError(
        "dynkube.testing requires the distribution dynkube-testing: pip install 'dynkube[testing]'", name=_error.name
    ) from None
