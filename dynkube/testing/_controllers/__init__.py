"""What a cluster does by itself: collects garbage, empties namespaces, ends pods and Events, frees volumes, ..."""
