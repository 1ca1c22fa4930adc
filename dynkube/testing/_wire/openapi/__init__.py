"""OpenAPI documents: what clients find out from the server about fields, patches and parameters."""
