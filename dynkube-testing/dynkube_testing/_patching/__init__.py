"""Patches, server-side apply, and field ownership."""
