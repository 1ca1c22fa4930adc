"""One informer's view of a shared cache: filter, subscribers and handlers."""
