"""Answers of a server that is starting, or of a proxy: they say nothing about objects."""

from __future__ import annotations

from typing import Final

from dynkube_testing import Refuse

HTML: Final = "<html><body>{}</body></html>"

TRANSIENT: Final = {
    "404 page": Refuse(404, body="404 page not found\n", content_type="text/plain; charset=utf-8"),
    "404 Status without a name": Refuse(404),
    "404 HTML": Refuse(404, body=HTML.format("Not Found")),
    "403 HTML": Refuse(403, body=HTML.format("Forbidden")),
    "403 Status": Refuse(403),
    "503": Refuse(503),
    "200 Status": Refuse(200, body={"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 200}),
}
"""Each once, by name."""
