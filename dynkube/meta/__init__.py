"""The field's words as data: GVR, GVK, Unstructured, selectors, patches, paths. No I/O, no trio."""

from dynkube.meta._gvr import GVK, GVR, GroupVersion, ResourceArg, is_version, version_priority

__all__ = ["GVK", "GVR", "GroupVersion", "ResourceArg", "is_version", "version_priority"]
