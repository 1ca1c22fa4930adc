"""Sphinx configuration. ``make docs`` builds the site into ``build/docs``.

The source directory is the repository, so that relative links between README.md, CONTRIBUTING.md and the pages in
``docs`` work on the site as they do in a checkout.
"""

from __future__ import annotations

import re
import shutil
from importlib.metadata import version as installed_version
from pathlib import Path

from sphinx.application import Sphinx
from sphinx.errors import SphinxError

import dynkube

project = "dynkube"
author = "the dynkube authors"
project_copyright = author
version = release = installed_version("dynkube")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
root_doc = "docs/index"
include_patterns = ["docs/**.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "**/README.md"]
exclude_patterns = ["build", "dist", "newsfragments", ".*"]
# Types in signatures are looked up by their last name, and "object" is also a field of events.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"dynkube {release}"

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4

autodoc_default_options = {"members": True, "imported-members": True, "show-inheritance": True}
autodoc_member_order = "groupwise"
autodoc_typehints_format = "short"
napoleon_numpy_docstring = False
napoleon_use_ivar = True


def _skip_what_the_top_level_has(
    app: Sphinx, what: str, name: str, obj: object, skip: bool, options: object
) -> bool | None:
    """Describe each name once: on the page of ``dynkube`` if it can be imported from there."""
    if app.env.docname == "docs/reference/dynkube" or what != "module":
        return None
    return True if any(obj is getattr(dynkube, public) for public in dynkube.__all__) else None


def _copy_pictures(app: Sphinx, exception: Exception | None) -> None:
    """Copy the pictures of ``<picture>`` elements, which have a light and a dark one; Sphinx does not look into these.

    Raises:
        SphinxError: a page of the site has a picture that is not there.
    """
    if exception is not None:
        return
    shutil.copytree(Path(app.confdir, "images"), Path(app.outdir, "docs", "images"), dirs_exist_ok=True)
    for page in Path(app.outdir).rglob("*.html"):
        for source in re.findall(r'<(?:img|source)\b[^>]*\ssrc(?:set)?="([^":]+)"', page.read_text(encoding="utf-8")):
            if not (page.parent / source).is_file():
                raise SphinxError(f"{page}: there is no picture {source}")


def setup(app: Sphinx) -> None:
    """Register the handlers."""
    app.connect("autodoc-skip-member", _skip_what_the_top_level_has)
    app.connect("build-finished", _copy_pictures)
