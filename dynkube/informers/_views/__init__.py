"""What one informer shows of a shared cache: the filter in use, its subscribers and handlers."""
