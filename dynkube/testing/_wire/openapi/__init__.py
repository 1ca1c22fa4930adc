"""OpenAPI documents, from which clients learn fields, patch strategies and parameters."""
