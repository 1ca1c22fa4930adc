# The public names of dynkube_testing: type checkers read this file, and lazy_loader imports names by it.

__version__: str

from ._calls.users import User as User
from ._containers.containers import Containers as Containers
from ._containers.sessions import ContainerSession as ContainerSession
from ._containers.sessions import PortConnection as PortConnection
from ._control_plane.plane import ControlPlane as ControlPlane
from ._control_plane.process import ServerProcess as ServerProcess
from ._faults import rewrites as rewrites
from ._faults.chaos import MISHAPS as MISHAPS
from ._faults.chaos import Chaos as Chaos
from ._faults.chaos import Faulty as Faulty
from ._faults.chaos import Mishap as Mishap
from ._faults.conversions import FailConversion as FailConversion
from ._faults.cuts import Cut as Cut
from ._faults.effects import Delay as Delay
from ._faults.effects import Disconnect as Disconnect
from ._faults.effects import Drip as Drip
from ._faults.effects import Effect as Effect
from ._faults.effects import Hang as Hang
from ._faults.effects import Lag as Lag
from ._faults.endings import Ending as Ending
from ._faults.facts import RequestFacts as RequestFacts
from ._faults.faults import Fault as Fault
from ._faults.freezing import Freeze as Freeze
from ._faults.outages import Outage as Outage
from ._faults.refusals import Refuse as Refuse
from ._faults.rewriting import Rewrite as Rewrite
from ._faults.scripts import play_script as play_script
from ._kinds.kinds import Kind as Kind
from ._proxy.proxy import FaultProxy as FaultProxy
from ._server import APIServer as APIServer
from ._store.snapshots import Snapshot as Snapshot
from ._threads import ServerThread as ServerThread
from ._threads import serve_in_thread as serve_in_thread
from ._wire.audit import OpenWatch as OpenWatch
from ._wire.audit import RequestRecord as RequestRecord
from ._wire.audit import WatchCount as WatchCount
from ._wire.endpoint import Endpoint as Endpoint
