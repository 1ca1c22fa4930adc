"""Server-side apply: conflicts, taking over fields, diffs, field ownership."""
