"""Client-side filters."""
