"""``apply_all`` and ``diff_all``: what a client does with many objects at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from dynkube.client import APIClient, FieldValidation
from dynkube.fields import PathLike
from dynkube.informers import InformerFactory
from dynkube.manifests._applyset import ApplySet
from dynkube.manifests._diff_report import DiffEntry, DiffReport
from dynkube.manifests._diffs import diff_all
from dynkube.manifests._options import ApplyOptions, OnError, read_applyset, read_force
from dynkube.manifests._report import Entry
from dynkube.manifests._run import ApplyRun
from dynkube.manifests._sources import ManifestSource, leaves


class ManifestVerbs:
    """The verbs of a client on manifests: it gives them the floors they stand on."""

    def _floors(self) -> tuple[APIClient, InformerFactory]:
        """The verbs on single objects, and what follows CRDs. Raises ClosedError where the client is not open."""
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
        """Server-side apply of many objects: ``report = await client.apply_all("manifests/")``.

        Namespaces and CRDs go first; objects of a CRD wait until it is served, without asking again and again;
        webhooks and admission policies go last; the rest in parallel. What the server has already as it should be
        is told apart by its resourceVersion. To follow a long run, see :class:`~dynkube.manifests.ApplyRun`.

        Args:
            source: objects, YAML or JSON text, paths of files and folders, ``"-"`` for standard input, or any number
                of these. Folders are read with all that is below them. All of it is read when the run begins, objects
                included, so leave those as they are until then.
            namespace: of namespaced objects that name none; ``None`` means the context's. An object that names
                another one is refused.
            field_manager: whose fields they are; ``None`` means the client's.
            force: take fields that others own with other values; or a list of paths, to take only what lies within.
            dry_run: write nothing, and report what would become of each object. What needs a CRD or a namespace
                that only the run itself would create is skipped, as the server cannot check it.
            prune: the :class:`~dynkube.manifests.ApplySet` that the source is (``"shop"``, ``"configmaps/shop"``):
                members of it that are not in the source any more are deleted, once everything else was applied.
            on_error: ``"stop"`` sends nothing more after the first object that is not applied, and nothing at all
                where the source itself has mistakes; ``"continue"`` applies everything else.
            on_entry: called with each entry as it comes to be; what it raises ends the run.
            parallel: how many requests go out at once.
            field_validation: what the server does about unknown and doubled fields.
            crd_timeout: seconds after which the objects of a CRD that is not served fail, with the reason.
            timeout: seconds for each request; ``None`` means the client's default.

        Returns:
            The run: await it for the :class:`~dynkube.manifests.Report`. Nothing is sent before. What goes wrong with
            single objects is in the report and not raised. Cancelled, it says in ``run.report`` what it has done.

        Raises:
            InvalidInput: an argument cannot be right; the message names it and the fix.
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
        return ApplyRun(self._floors, leaves(source), options, on_entry=on_entry)

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
        """What :meth:`apply_all` would change, without changing anything.

        The server tries each object in a dry run, so defaults, webhooks and validation count. Of what needs a CRD or
        a namespace that only the source itself brings it is known that it would be created, and no more.

        Args:
            source: as for :meth:`apply_all`.
            namespace: as for :meth:`apply_all`.
            field_manager: as for :meth:`apply_all`: what this manager applied before and the source lacks would go.
            prune: as for :meth:`apply_all`, with the same rights: what left the source is shown as deleted. Without
                it, objects that are in a set lose its label in what is shown.
            parallel: how many requests go out at once.
            on_entry: called with each entry, in the order of the source, as soon as it is known.
            field_validation: as for :meth:`apply_all`.
            timeout: seconds for each request; ``None`` means the client's default.

        Returns:
            The differences; false where there are none. What goes wrong with single objects is in it, and not raised.

        Raises:
            InvalidInput: an argument cannot be right; the message names it and the fix.
        """
        options = ApplyOptions(
            namespace=namespace,
            field_manager=field_manager,
            prune=read_applyset(prune),
            parallel=parallel,
            field_validation=field_validation,
            timeout=timeout,
        )
        return await diff_all(self._floors()[0], leaves(source), options, on_entry=on_entry)
