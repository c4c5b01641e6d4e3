"""Where the work of ``matrix`` and ``check`` is done: in processes of this machine, or on a Dask cluster.

Both commands cut their work into tasks: a function of a module, and an argument that can be pickled. An *executor* says
where tasks run, and :meth:`Executor.workers` gives those who run them. A task is pure: done twice, as happens where a
worker is lost or Dask moves work about, it gives the same result twice, and only one is taken.

On a cluster nothing but ptogen itself is taken to be there: no file of this machine, no compiler of a certain kind. A
task brings along what it needs, and its result brings back what it made. Every task says by which code it was made, and
a worker with other code refuses it.
"""

from __future__ import annotations

import hashlib
import logging
import pickle
import signal
import threading
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache, partial
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any, Protocol, TypeVar

from ptogen import __version__
from ptogen.errors import Diagnostic, PtogenError

Task = TypeVar("Task")
Result = TypeVar("Result")

SECONDS = 10
"""How long a scheduler may take to answer, and then its first worker to join."""

DEATHS = 2
"""Workers that a task may take along on a cluster of our own before it is tried alone, and as often again then."""

Lost = Callable[[Any, Diagnostic], Any]
"""The result of a task, such as a fault, that cannot be done because every worker that tried was lost."""


class Workers(Protocol):
    """Who runs tasks.

    Attributes:
        jobs: how many tasks run at once.
        shares_files: whether workers see the files of this process.
    """

    jobs: int
    shares_files: bool

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """The results in the order of the tasks."""

    def completed(
        self,
        work: Callable[[Task], Result],
        tasks: Iterable[Task],
        *,
        route: Callable[[Task], int] | None = None,
        lost: Lost | None = None,
    ) -> Iterator[tuple[Task, Result]]:
        """Tasks with their results, in any order; few of both are held at a time.

        Args:
            work: a function that stands in a module.
            tasks: taken one by one, as there is room for them.
            route: tasks of one route are best done by one worker, which may remember.
            lost: gives the result of a task that is given up; without it that is an error.

        Raises:
            PtogenError: PTG521 where the cluster fails, PTG522 where a task is given up; and what ``work`` raises.
        """

    def close(self) -> None:
        """What has not begun never does."""


class Executor(Protocol):
    """A place for workers; a context manager that ends what it has started.

    Attributes:
        shares_files: as in :class:`Workers`.
    """

    shares_files: bool

    def workers(self, prepare: Callable[..., None] | None = None, *args: Any) -> Workers:
        """Workers, in each of whose processes ``prepare(*args)`` is called before their first task.

        Raises:
            PtogenError: PTG521 where the cluster cannot be used.
        """

    def __enter__(self) -> Executor: ...

    def __exit__(self, *error: object) -> None: ...


class Local:
    """Processes of this machine."""

    shares_files = True

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs

    def workers(self, prepare: Callable[..., None] | None = None, *args: Any) -> Workers:
        """As in :class:`Executor`."""
        from ptogen.matrix.workers import Workers

        return Workers(self._jobs, prepare or _nothing, *args)

    def __enter__(self) -> Local:
        return self

    def __exit__(self, *error: object) -> None:
        pass


class Dask:
    """A Dask cluster: the one whose scheduler has this address, or one of our own on this machine.

    It is asked for when the first workers are, so that a run that finds nothing to do costs no cluster.

    Args:
        address: such as ``tcp://host:port``; None for a cluster of ``jobs`` processes here.
        jobs: tasks at once; None for as many as the cluster has threads.
    """

    shares_files = False

    def __init__(self, address: str | None, jobs: int | None) -> None:
        self._address = address
        self._jobs = jobs
        self._cluster: Any = None
        self._client: Any = None

    def workers(self, prepare: Callable[..., None] | None = None, *args: Any) -> DaskWorkers:
        """As in :class:`Executor`."""
        if self._client is None:
            self._connect()
        jobs = self._jobs or sum(self._client.nthreads().values())
        # A task waits at each worker, unless it were one more at work than was asked for.
        most = jobs if self._address and self._jobs else 2 * jobs
        return DaskWorkers(self._client, jobs, most, pickle.dumps((prepare, args)) if prepare else b"")

    def _connect(self) -> None:
        try:
            import asyncio

            import dask
            import distributed
        except ImportError as error:
            message = f"--executor dask needs the Python package distributed: {error}"
            raise PtogenError(Diagnostic("PTG521", message, hint="pip install 'ptogen[distributed]'")) from None
        for name in list(logging.root.manager.loggerDict):
            # Lost workers are told of by us, in our words, if they matter in the end.
            if name == "distributed" or name.startswith("distributed."):
                logging.getLogger(name).setLevel(logging.CRITICAL)
        if self._address is None:
            try:
                with _whole(), dask.config.set({"distributed.scheduler.allowed-failures": DEATHS - 1}):
                    self._cluster = distributed.LocalCluster(
                        n_workers=self._jobs,
                        threads_per_worker=1,
                        memory_limit=0,
                        scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},  # no fixed port
                        silence_logs=logging.CRITICAL,
                    )
            except (OSError, RuntimeError) as error:
                message = f"no Dask cluster can be started on this machine: {error}"
                raise PtogenError(Diagnostic("PTG521", message, hint="do without --executor")) from error
        where = self._address or self._cluster.scheduler_address
        try:
            # What no client can be made of is said before one is begun, which could not be ended.
            distributed.comm.resolve_address(where)
            if where.startswith("tls:") and not distributed.Security().get_connection_args("client")["ssl_context"]:
                raise ValueError("TLS is not configured: see distributed.comm.tls of Dask")
            self._client = distributed.Client(self._cluster or where, timeout=SECONDS, set_as_default=False)
        except (OSError, ValueError, ImportError, asyncio.TimeoutError) as error:
            message = f"no Dask scheduler answers at {where} within {SECONDS} s"
            cause: BaseException = error
            while cause.__cause__ is not None:
                cause = cause.__cause__
            details = (getattr(cause, "strerror", None) or str(cause) or type(cause).__name__,)
            hint = "start one with `dask scheduler`, which prints its address, and workers with `dask worker ADDRESS`"
            raise PtogenError(Diagnostic("PTG521", message, details=details, hint=hint)) from None
        self._inspect(where)

    def _inspect(self, where: str) -> None:
        """Every worker that is there has to have this ptogen."""
        import asyncio

        try:
            self._client.wait_for_workers(1, timeout=SECONDS)
        except (TimeoutError, asyncio.TimeoutError):  # one and the same from Python 3.11 on
            message = f"the Dask scheduler at {where} has no worker, and none has joined within {SECONDS} s"
            hint = f"start some, each where ptogen is installed, with `dask worker {where}`"
            raise PtogenError(Diagnostic("PTG521", message, hint=hint)) from None
        own = identity()
        try:
            found = self._client.run(identity, on_error="return")
        except Exception as error:  # what a worker cannot even unpickle
            found = {f"of {where}": error}
        if faults := [fault for name, other in sorted(found.items()) if (fault := _difference(name, own, other))]:
            raise PtogenError(faults)

    def __enter__(self) -> Dask:
        return self

    def __exit__(self, *error: object) -> None:
        if self._client is not None:
            if self._cluster is not None and error[0] is not None:
                # Programs that tasks have started are in process groups of their own, and would outlive their worker.
                with suppress(Exception):
                    self._client.run(_end_programs)
            self._client.close()
        if self._cluster is not None:
            self._cluster.close()


@contextmanager
def _whole() -> Iterator[None]:
    """Lets a cluster of our own start whole, while an interrupt waits.

    A terminal sends it to the workers, too, but they inherit that it is blocked: it is us who ends them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, lambda number, frame: came.append(number))
    resource_tracker.ensure_running()  # would let the signal through, if it had to be started with the first worker
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
        for number, handler in handlers.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


class DaskWorkers:
    """The workers of a cluster; see :class:`Workers`.

    Args:
        client: of the cluster.
        jobs: how many tasks run at once.
        most: how many are given to it at a time.
        prepared: what :class:`_Prepared` holds.
    """

    shares_files = False

    def __init__(self, client: Any, jobs: int, most: int, prepared: bytes) -> None:
        self.jobs = jobs
        self._most = most
        self._client = client
        self._name = f"ptogen-{uuid.uuid4().hex}"
        # A task of its own: workers hand it on among themselves, and where it is lost Dask makes it again.
        digest = hashlib.sha256(prepared).hexdigest()
        self._prepared = client.submit(_Prepared, digest, zlib.compress(prepared, 1), key=f"{self._name}-prepared")
        self._count = 0

    def map(self, work: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """As in :class:`Workers`."""
        early: dict[int, Result] = {}
        following = 0
        for (number, _), result in self.completed(partial(_second, work), enumerate(tasks)):
            early[number] = result
            while following in early:
                yield early.pop(following)
                following += 1

    def completed(
        self,
        work: Callable[[Task], Result],
        tasks: Iterable[Task],
        *,
        route: Callable[[Task], int] | None = None,
        lost: Lost | None = None,
    ) -> Iterator[tuple[Task, Result]]:
        """As in :class:`Workers`; any worker takes any task."""
        from distributed import KilledWorker, as_completed

        code = identity()
        running: dict[str, tuple[Task, Any]] = {}
        doubtful: list[Task] = []
        rest = iter(tasks)
        results = as_completed(loop=self._client.loop)

        def submit(task: Task) -> Any:
            self._count += 1
            key, packed = f"{self._name}-{self._count}", _packed((work, task))
            future = self._client.submit(_done, self._prepared, code, packed, key=key, pure=False)
            running[key] = task, future
            return future

        try:
            results.update([submit(task) for task in islice(rest, self._most)])
            for future in results:
                task, _ = running.pop(future.key)
                try:
                    result = self._result(future)
                except KilledWorker:
                    doubtful.append(task)
                else:
                    yield task, result
                    del result
                del future
                results.update([submit(task) for task in islice(rest, self._most - len(running))])
            # A worker that goes casts doubt on all tasks that it had; alone, it shows which of them is to blame.
            for task in doubtful:
                future = submit(task)
                try:
                    result = self._result(future)
                except KilledWorker as error:
                    fault = _given_up(error)
                    if lost is None:
                        raise PtogenError(fault) from None
                    result = lost(task, fault)
                del running[future.key]
                yield task, result
        finally:
            results.clear()
            with suppress(Exception):
                self._client.cancel([future for _, future in running.values()])

    def _result(self, future: Any) -> Any:
        from concurrent.futures import CancelledError as Cancelled

        from distributed import CancelledError

        try:
            kind, value = pickle.loads(zlib.decompress(future.result()))
        except (CancelledError, Cancelled):
            message = f"the connection to the Dask scheduler at {self._client.scheduler.address} was lost"
            raise PtogenError(Diagnostic("PTG521", message, hint="run the same command again")) from None
        if kind == "faults":
            raise PtogenError(value)
        return value

    def close(self) -> None:
        """As in :class:`Workers`; a task that runs goes on to its end, and nobody takes its result."""
        self._prepared.release()


def opened(text: str, jobs: int | None, processors: int) -> Executor:
    """The executor that ``--executor`` names.

    Args:
        text: ``local``, ``dask`` or ``dask=ADDRESS``.
        jobs: of ``--jobs``.
        processors: how many jobs this machine takes by itself.
    """
    if text == "local":
        return Local(jobs or processors)
    address = text.partition("=")[2]
    return Dask(address, jobs) if address else Dask(None, jobs or processors)


# What a worker of a cluster does


class _Prepared:
    """What the tasks of one command have in common."""

    def __init__(self, digest: str, packed: bytes) -> None:
        self.digest, self.packed = digest, packed

    def use(self) -> None:
        """Prepares this process for them."""
        global _current
        if _current != self.digest:
            _current = ""
            prepare, args = pickle.loads(zlib.decompress(self.packed))
            prepare(*args)
            _current = self.digest

    @property
    def is_empty(self) -> bool:
        return self.digest == hashlib.sha256(b"").hexdigest()


_current = ""
_lock = threading.Lock()


def _done(prepared: _Prepared, code: Mapping[str, str], packed: bytes) -> bytes:
    """One task, in a thread of a worker."""
    if fault := _difference(_worker(), code, identity()):
        return _packed(("faults", (fault,)))
    work, task = pickle.loads(zlib.decompress(packed))
    try:
        if prepared.is_empty:
            return _packed(("result", work(task)))
        with _lock:  # what was prepared belongs to the process
            prepared.use()
            return _packed(("result", work(task)))
    except PtogenError as error:
        return _packed(("faults", error.diagnostics))


def _packed(what: object) -> bytes:
    return zlib.compress(pickle.dumps(what), 1)


def _worker() -> str:
    from distributed import get_worker

    return str(get_worker().address)


def _second(work: Callable[[Task], Result], numbered: tuple[int, Task]) -> Result:
    return work(numbered[1])


def _nothing() -> None:
    pass


def _end_programs() -> None:
    from ptogen.backend import children

    children.end_all()


@cache
def _installed() -> dict[str, str]:
    from importlib.metadata import version

    from ptogen.matrix.record import DEPENDENCIES, code_digest

    return {**{name: version(name) for name in DEPENDENCIES}, "code": code_digest()[:12]}


def identity() -> dict[str, str]:
    """What has to be the same on all machines, each with its version."""
    return {"ptogen": __version__, **_installed()}


def _difference(worker: str, own: Mapping[str, str], other: Mapping[str, str] | BaseException) -> Diagnostic | None:
    """What keeps a worker from doing our work."""
    hint = "install there what is installed here"
    if isinstance(other, BaseException):
        return Diagnostic("PTG521", f"the worker {worker} cannot import ptogen: {other}", hint=hint)
    if own == other:
        return None
    names = [name for name in own if own[name] != other.get(name)]
    parts = [f"{name} {other.get(name, 'missing')} and not {own[name]}" for name in names]
    if names == ["code"]:
        parts = [f"other code of ptogen {__version__} ({other['code']} and not {own['code']})"]
    return Diagnostic("PTG521", f"the worker {worker} has {', '.join(parts)}", hint=hint)


def _given_up(error: Any) -> Diagnostic:
    message = f"every worker that tried was lost, the last one, {error.last_worker.address}, with this work alone"
    hint = "look whether the workers have enough memory"
    return Diagnostic("PTG522", message, hint=hint)
