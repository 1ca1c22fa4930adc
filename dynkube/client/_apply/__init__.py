"""Server-side apply behind the verbs: conflicts, taking over, differences, and who owns what."""
