"""``apply_all`` and ``diff_all``: a client's verbs on many objects at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dynkube.client import FieldValidation
from dynkube.client._client import APIClient
from dynkube.fields import PathLike
from dynkube.informers._factory import InformerFactory
from dynkube.manifests._applyset import ApplySet
from dynkube.manifests._diff_report import DiffEntry, DiffReport
from dynkube.manifests._diffs import diff_all
from dynkube.manifests._options import ApplyOptions, OnError, read_applyset, read_force
from dynkube.manifests._report import Entry
from dynkube.manifests._run import ApplyRun
from dynkube.manifests._sources import ManifestSource, leaves


class ManifestVerbs:
    """The verbs of a client on manifests."""

    def _layers(self) -> tuple[APIClient, InformerFactory]:
        """Return the API client and the informer factory.

        Raises ClosedError if the client is not open.
        """
        raise NotImplementedError

    def apply_all(
        self,
        source: ManifestSource,
        *,
        namespace: str | None = None,
        field_manager: str | None = None,
        force: bool | Iterable[PathLike] = False,
        dry_run: bool = False,
        prune: ApplySet | str | None = None,
        on_error: OnError = "stop",
        on_entry: Callable[[Entry], object] | None = None,
        parallel: int = 10,
        field_validation: FieldValidation | None = None,
        crd_timeout: float = 60.0,
        timeout: float | None = None,
    ) -> ApplyRun:
        """Server-side apply of many objects.

        ``report = await client.apply_all("manifests/")``.

        Namespaces and CRDs are applied first; custom resources wait until their CRD is served, without polling;
        webhooks and admission policies are applied last; the rest in parallel. An object is reported as unchanged if
        its resourceVersion stays the same. To follow a long run, see :class:`~dynkube.manifests.ApplyRun`.

        Args:
            source: objects, YAML or JSON as str or bytes, paths of files and directories, ``"-"`` for standard input,
                or an iterable of these. Directories are read recursively. Everything, including objects, is read when
                the run starts, so do not modify objects before.
            namespace: the namespace of namespaced objects that have none; ``None`` means the context's. An object with
                another namespace is an error.
            field_manager: owner of the fields; ``None`` means the client's field manager.
            force: ``True`` takes over all conflicting fields; a list of paths takes over only fields within these.
            dry_run: write nothing, and report what would happen to each object. Objects that need a CRD or a namespace
                that only the run itself would create are skipped, as the server cannot check them.
            prune: the :class:`~dynkube.manifests.ApplySet` of the source (``"shop"``, ``"configmaps/shop"``): its
                members that are no longer in the source are deleted, after everything else was applied.
            on_error: ``"stop"`` sends nothing more after the first object that fails, and nothing at all
                if the source itself has errors; ``"continue"`` applies all other objects.
            on_entry: called with each entry when it is complete. If it raises, the run ends with that exception.
            parallel: maximum number of concurrent requests.
            field_validation: for unknown and duplicate fields: ``"Ignore"``, ``"Warn"`` (server default), ``"Strict"``.
            crd_timeout: seconds after which the objects of a CRD that is not served fail, with the reason.
            timeout: seconds for each request; ``None`` means the client's default.

        Returns:
            The run: await it for the :class:`~dynkube.manifests.Report`. Nothing is sent before that. Errors of single
            objects are in the report and not raised. After cancellation ``run.report`` has the results so far.

        Raises:
            InvalidInput: an argument is invalid; the message names it and the fix.
        """
        options = ApplyOptions(
            namespace=namespace,
            field_manager=field_manager,
            force=read_force(force),
            dry_run=dry_run,
            prune=read_applyset(prune),
            on_error=on_error,
            parallel=parallel,
            field_validation=field_validation,
            crd_timeout=crd_timeout,
            timeout=timeout,
        )
        return ApplyRun(self._layers, leaves(source), options, on_entry=on_entry)

    async def diff_all(
        self,
        source: ManifestSource,
        *,
        namespace: str | None = None,
        field_manager: str | None = None,
        prune: ApplySet | str | None = None,
        parallel: int = 10,
        on_entry: Callable[[DiffEntry], object] | None = None,
        field_validation: FieldValidation | None = None,
        timeout: float | None = None,
    ) -> DiffReport:
        """Return what :meth:`apply_all` would change, without changing anything.

        The server evaluates a dry run of each object, so defaulting, admission webhooks and validation are included.
        Objects that need a CRD or a namespace that only the source itself creates are reported as new, without details.

        Args:
            source: objects, YAML or JSON as str or bytes, paths of files and directories, ``"-"`` for standard input,
                or an iterable of these.
            namespace: the namespace of namespaced objects that have none; ``None`` means the context's.
            field_manager: owner of the fields; ``None`` means the client's field manager. Fields that this manager
                applied before and that are missing from the source are shown as removed.
            prune: the :class:`~dynkube.manifests.ApplySet` of the source, with the same permissions as for
                :meth:`apply_all`: its members that are no longer in the source are shown as deleted. Without it,
                members of a set are shown as losing its label.
            parallel: maximum number of concurrent requests.
            on_entry: called with each entry, in the order of the source, as soon as it is known.
            field_validation: for unknown and duplicate fields: ``"Ignore"``, ``"Warn"`` (server default), ``"Strict"``.
            timeout: seconds for each request; ``None`` means the client's default.

        Returns:
            The report; false if there are no differences. Errors of single objects are in it and not raised.

        Raises:
            InvalidInput: an argument is invalid; the message names it and the fix.
        """
        options = ApplyOptions(
            namespace=namespace,
            field_manager=field_manager,
            prune=read_applyset(prune),
            parallel=parallel,
            field_validation=field_validation,
            timeout=timeout,
        )
        return await diff_all(self._layers()[0], leaves(source), options, on_entry=on_entry)
