"""Response forms of objects: tables as printed by kubectl, and metadata only."""
