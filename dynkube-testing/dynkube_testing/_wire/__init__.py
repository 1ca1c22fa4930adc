"""HTTP: routes, bodies, content types, discovery, listeners."""
