"""One object and a field manager: options of the commands that show or change ownership."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Parameter

from dynkube.cli._arguments import check_namespace
from dynkube.client._options import check_field_manager
from dynkube.fields._owners import check_subresource
from dynkube.manifests._location import Place
from dynkube.manifests._report import object_name
from dynkube.meta import Unstructured


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Managed:
    """Where the object is, and whose fields of it are meant."""

    namespace: Annotated[str | None, Parameter(name=["--namespace", "-n"])] = None
    """Namespace of the object; by default the context's."""
    manager: Annotated[str, Parameter(name=["--manager", "--field-manager"])] = "dynkube"
    """Name of the field manager."""
    subresource: str | None = None
    """Only what was written through this subresource, like status or scale."""

    def check(self) -> None:
        """Check the options before anything is sent.

        Raises:
            CommandFailed: the namespace is not the name of one.
            InvalidInput: a server would reject the manager, or the subresource is empty.
        """
        check_namespace(self.namespace, "that of the current context")
        check_field_manager(self.manager, "--manager")
        check_subresource(self.subresource)


def object_line(word: str, obj: Unstructured, place: Place | None = None) -> str:
    """Return a line about an object, as ``apply`` prints it: ``changed     configmap/web -n shop``."""
    namespace = f" -n {obj.namespace}" if obj.namespace else ""
    where = f"  ({place})" if place is not None else ""
    return f"{word:<11} {object_name(obj)}{namespace}{where}"
