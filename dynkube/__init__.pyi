# The public names of dynkube, listed once: type checkers read this file, and lazy_loader imports names by it.

__version__: str

from . import aio as aio
from . import errors as errors
from . import sync as sync
from ._client import Client as Client
from ._connect import connect as connect
from .client import (
    Applied as Applied,
)
from .client import (
    Change as Change,
)
from .client import (
    Permission as Permission,
)
from .client import (
    ResourceClient as ResourceClient,
)
from .client import (
    UserInfo as UserInfo,
)
from .config import InsecureTLSWarning as InsecureTLSWarning
from .discovery import (
    APIResource as APIResource,
)
from .discovery import (
    ResourceAvailability as ResourceAvailability,
)
from .discovery import (
    RESTMapper as RESTMapper,
)
from .errors import DynkubeError as DynkubeError
from .fields import (
    Comparison as Comparison,
)
from .fields import (
    Diff as Diff,
)
from .fields import (
    FieldChange as FieldChange,
)
from .fields import (
    FieldPath as FieldPath,
)
from .fields import (
    FieldSet as FieldSet,
)
from .fields import (
    Manager as Manager,
)
from .fields import (
    Owners as Owners,
)
from .fields import (
    compare as compare,
)
from .fields import (
    compare_all as compare_all,
)
from .fields import (
    extract as extract,
)
from .fields import (
    fields_of as fields_of,
)
from .fields import (
    owners as owners,
)
from .informers import (
    ABSENT as ABSENT,
)
from .informers import (
    DEGRADED as DEGRADED,
)
from .informers import (
    LIVE as LIVE,
)
from .informers import (
    STOPPED as STOPPED,
)
from .informers import (
    SYNCING as SYNCING,
)
from .informers import (
    UNKNOWN as UNKNOWN,
)
from .informers import (
    Filter as Filter,
)
from .informers import (
    Informer as Informer,
)
from .informers import (
    InformerSettings as InformerSettings,
)
from .informers import (
    Join as Join,
)
from .informers import (
    JSONPathFilter as JSONPathFilter,
)
from .informers import (
    LabelFilter as LabelFilter,
)
from .informers import (
    NamespaceFilter as NamespaceFilter,
)
from .informers import (
    NamespaceSet as NamespaceSet,
)
from .informers import (
    OwnerTree as OwnerTree,
)
from .informers import (
    Phase as Phase,
)
from .informers import (
    PredicateFilter as PredicateFilter,
)
from .informers import (
    Registration as Registration,
)
from .informers import (
    State as State,
)
from .informers import (
    drop_managed_fields as drop_managed_fields,
)
from .informers import (
    join as join,
)
from .informers import (
    owner_tree as owner_tree,
)
from .informers import (
    owner_uids as owner_uids,
)
from .manifests import (
    ApplyRun as ApplyRun,
)
from .manifests import (
    ApplySet as ApplySet,
)
from .manifests import (
    DiffReport as DiffReport,
)
from .manifests import (
    Outcome as Outcome,
)
from .manifests import (
    Report as Report,
)
from .meta import (
    GVK as GVK,
)
from .meta import (
    GVR as GVR,
)
from .meta import (
    MISSING as MISSING,
)
from .meta import (
    REMOVE as REMOVE,
)
from .meta import (
    Added as Added,
)
from .meta import (
    Bookmark as Bookmark,
)
from .meta import (
    Deleted as Deleted,
)
from .meta import (
    FieldSelector as FieldSelector,
)
from .meta import (
    HashShard as HashShard,
)
from .meta import (
    InformerEvent as InformerEvent,
)
from .meta import (
    JSONPath as JSONPath,
)
from .meta import (
    LabelSelector as LabelSelector,
)
from .meta import (
    Modified as Modified,
)
from .meta import (
    PatchType as PatchType,
)
from .meta import (
    TableColumn as TableColumn,
)
from .meta import (
    Unstructured as Unstructured,
)
from .meta import (
    UnstructuredList as UnstructuredList,
)
from .meta import (
    UnstructuredTable as UnstructuredTable,
)
from .meta import (
    Updated as Updated,
)
from .meta import (
    to_pandas as to_pandas,
)
from .meta import (
    to_polars as to_polars,
)
from .pods import (
    Log as Log,
)
from .pods import (
    LogLine as LogLine,
)
from .pods import (
    Pod as Pod,
)
from .rest import Limits as Limits
