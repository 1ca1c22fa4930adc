"""What a cluster does by itself: emptying namespaces."""
