"""OpenAPI documents.

Clients learn fields, patch strategies and parameters from them.
"""
