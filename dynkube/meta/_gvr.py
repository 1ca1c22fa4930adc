"""Group, version, resource and kind, and their notation in kubectl."""

from __future__ import annotations

import re
from dataclasses import dataclass

from dynkube._displayable import Displayable
from dynkube.errors import InvalidInput
from dynkube.meta._arguments import brief

# v1, v2beta1, v1alpha3: only segments of this form are parsed as a version.
_VERSION = re.compile(r"v[1-9][0-9]*(?:(?:alpha|beta)[1-9][0-9]*)?\Z")
_SEGMENT = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?\Z")
_NAME = re.compile(r"[A-Za-z0-9](?:[-A-Za-z0-9]*[A-Za-z0-9])?\Z")


def is_version(text: str) -> bool:
    """Whether ``text`` has the form of an API version (``v1``, ``v1beta2``)."""
    return _VERSION.match(text) is not None


def version_priority(version: str) -> tuple[int, int, int, str]:
    """Return a sort key that puts the version kubectl prefers first.

    The order is the API server's (``k8s.io/apimachinery/pkg/version``): v2 > v1 > v2beta1 > v1alpha1 > foo. Use it as
    the ``key`` of ``sorted``.
    """
    match = re.match(r"v(\d+)(?:(alpha|beta)(\d+))?\Z", version)
    if match is None:
        return (3, 0, 0, version)
    major, stage, minor = match.groups()
    rank = {None: 0, "beta": 1, "alpha": 2}[stage]
    return (rank, -int(major), -int(minor or 0), "")


@dataclass(frozen=True, slots=True, order=True)
class GroupVersion:
    """An API group and one of its versions; the core group is ``""``."""

    group: str
    version: str

    @classmethod
    def parse(cls, api_version: str) -> GroupVersion:
        """Parse an ``apiVersion``: ``"v1"`` or ``"apps/v1"``.

        Raises:
            InvalidInput: ``api_version`` is empty or has more than one slash.
        """
        group, slash, version = api_version.rpartition("/")
        if not version or "/" in group or (slash and not group):
            raise InvalidInput(f"apiVersion {api_version!r} is neither 'VERSION' nor 'GROUP/VERSION' (like 'apps/v1')")
        return cls(group, version)

    def __str__(self) -> str:
        return "/".join(part for part in (self.group, self.version) if part)


@dataclass(frozen=True, slots=True, order=True)
class GVK(Displayable):
    """Group, version and kind: the type of an object."""

    group: str
    version: str
    kind: str

    @classmethod
    def parse(cls, api_version: str, kind: str) -> GVK:
        """Build a GVK from an object's two fields.

        Example: ``GVK.parse("apps/v1", "Deployment")``.

        Raises:
            InvalidInput: ``api_version`` is malformed, or ``kind`` is empty.
        """
        gv = GroupVersion.parse(api_version)
        if not kind:
            raise InvalidInput("kind is empty: expected for example 'Deployment'")
        return cls(gv.group, gv.version, kind)

    @property
    def group_version(self) -> GroupVersion:
        """The group and version without the kind."""
        return GroupVersion(self.group, self.version)

    @property
    def api_version(self) -> str:
        """The value of an object's ``apiVersion`` field: ``"apps/v1"``, ``"v1"``."""
        return str(self.group_version)

    def __str__(self) -> str:
        return f"{self.api_version} {self.kind}"


@dataclass(frozen=True, slots=True, order=True)
class GVR(Displayable):
    """Group, version and resource: the address of a type in dynkube.

    The resource is the plural in URLs. The version is empty only in informers that follow the server's preferred
    version and do not know it yet (see :meth:`Client.informer`).
    """

    group: str
    version: str
    resource: str

    @classmethod
    def parse(cls, text: str) -> GVR:
        """Parse a complete name of a resource.

        Examples: ``deployments.v1.apps``, ``pods.v1``, ``apps/v1/deployments``.

        Raises:
            InvalidInput: a part is missing or malformed. Short forms like ``deploy`` need a
                :class:`~dynkube.RESTMapper`, since they depend on the server's discovery.
        """
        arg = ResourceArg.parse(text)
        if arg.version is None:
            raise InvalidInput(
                f"resource {text!r} has no version: expected RESOURCE.VERSION.GROUP, "
                "like 'deployments.v1.apps' or 'pods.v1'"
            )
        return cls(arg.group or "", arg.version, arg.name)

    @property
    def group_version(self) -> GroupVersion:
        """The group and version without the resource."""
        return GroupVersion(self.group, self.version)

    @property
    def api_version(self) -> str:
        """The value of an object's ``apiVersion`` field: ``"apps/v1"``, ``"v1"``."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def crd_name(self) -> str:
        """The name of the CustomResourceDefinition for this resource: ``RESOURCE.GROUP``."""
        return f"{self.resource}.{self.group}"

    def __str__(self) -> str:
        return ".".join(part for part in (self.resource, self.version, self.group) if part)


@dataclass(frozen=True, slots=True)
class ResourceArg:
    """A resource as typed by a user, before it is resolved by discovery.

    ``name`` is a plural, singular, short name or kind as typed; ``version`` and ``group`` are ``None`` if not given
    (``group`` may also be a prefix, as kubectl allows: ``deploy.ap``).
    """

    name: str
    version: str | None = None
    group: str | None = None

    @classmethod
    def parse(cls, text: str) -> ResourceArg:
        """Parse any of kubectl's notations.

        ``pods``, ``deploy``, ``Deployment``, ``deployments.apps``, ``deployments.v1.apps``, ``pods.v1`` (core),
        ``pods.v1.`` (core, as kubectl writes it), and with slashes ``apps/v1/deployments``, ``v1/pods`` and
        ``ingresses.networking.k8s.io/v1``.

        Raises:
            InvalidInput: ``text`` has another form; the message names the invalid part.
        """
        if not isinstance(text, str):
            raise InvalidInput(f"resource is {brief(text)}: pass a string like 'deployments.v1.apps', a GVR or a GVK")
        if not text.strip():
            raise InvalidInput("resource is empty: write 'pods', 'deployments.apps' or 'deployments.v1.apps'")
        text = text.strip()
        if "," in text:
            raise InvalidInput(f"resource {text!r} names several resources: name one; client.get({text!r}) reads all")
        arg = cls._parse_slashes(text) if "/" in text else cls._parse_dots(text)
        if _NAME.match(arg.name) is None:
            raise InvalidInput(f"resource {text!r}: {arg.name!r} is not a resource name (letters, digits and '-')")
        for segment in (arg.group or "").split(".") if arg.group else ():
            if _SEGMENT.match(segment) is None:
                raise InvalidInput(
                    f"resource {text!r}: {arg.group!r} is not an API group (a DNS name like 'networking.k8s.io')"
                )
        return arg

    @classmethod
    def _parse_dots(cls, text: str) -> ResourceArg:
        name, _, rest = text.partition(".")
        if not rest:
            return cls(name)
        head, dot, tail = rest.partition(".")
        if is_version(head):
            return cls(name, head, tail if dot else "")
        return cls(name, None, rest)

    @classmethod
    def _parse_slashes(cls, text: str) -> ResourceArg:
        parts = text.split("/")
        match parts:
            case [group, version, name] if is_version(version):
                return cls(name, version, group)
            case [version, name] if is_version(version):
                return cls(name, version, "")
            case [dotted, version] if is_version(version) and "." in dotted:
                name, _, group = dotted.partition(".")
                return cls(name, version, group)
            case [group, version] if is_version(version):
                raise InvalidInput(
                    f"resource {text!r} looks like an apiVersion: add the resource, as in 'apps/v1/deployments'"
                )
        raise InvalidInput(
            f"resource {text!r}: expected GROUP/VERSION/RESOURCE, like 'apps/v1/deployments'; "
            "pass an object's name or a subresource as a separate argument"
        )

    def __str__(self) -> str:
        return ".".join(part for part in (self.name, self.version, self.group) if part)


def check_resource(resource: object, *, version_optional: bool = False) -> None:
    """Check that the argument is a well-formed resource name; it need not be served.

    Args:
        resource: the argument.
        version_optional: whether the version of a GVR may be empty, in a group with a dot.

    Raises:
        InvalidInput: it is neither a string in one of kubectl's notations, nor a GVR or GVK with valid parts.
    """
    parts: dict[str, object]
    match resource:
        case GVR(group, version, name):
            parts = {"group": group, "version": version, "resource": name}
        case GVK(group, version, name):
            parts = {"group": group, "version": version, "kind": name}
        case ResourceArg():
            return
        case _:
            ResourceArg.parse(resource)  # type: ignore[arg-type]  # raises for anything but a string
            return
    for field, text in parts.items():
        if not isinstance(text, str) or not text.isprintable() or any(character in text for character in "/% "):
            raise InvalidInput(f"resource {resource!r}: invalid {field} {text!r}")
        optional = field == "version" and version_optional and "." in str(parts["group"])
        if not (text or field == "group" or optional):
            raise InvalidInput(f"resource {resource!r}: {field} is empty; only the group may be (core API)")
