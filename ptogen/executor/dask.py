"""Tasks on a Dask cluster: the client's side. What its workers do is :mod:`ptogen.executor.remote`."""

from __future__ import annotations

import hashlib
import logging
import pickle
import signal
import threading
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any, TypeVar

from ptogen.errors import Diagnostic, PtogenError
from ptogen.executor import Lost
from ptogen.executor.remote import Prepared, difference, done, end_programs, identity, pack

Task = TypeVar("Task")
Result = TypeVar("Result")

SECONDS = 10
"""How long a scheduler may take to answer, and then its first worker to join."""

DEATHS = 2
"""Workers that a task may take along on a cluster of our own before it is tried alone, and as often again then."""


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
        if faults := [fault for name, other in sorted(found.items()) if (fault := difference(name, own, other))]:
            raise PtogenError(faults)

    def __enter__(self) -> Dask:
        return self

    def __exit__(self, *error: object) -> None:
        if self._client is not None:
            if self._cluster is not None and error[0] is not None:
                # Programs that tasks have started are in process groups of their own, and would outlive their worker.
                with suppress(Exception):
                    self._client.run(end_programs)
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
        prepared: what :class:`Prepared` holds.
    """

    shares_files = False

    def __init__(self, client: Any, jobs: int, most: int, prepared: bytes) -> None:
        self.jobs = jobs
        self._most = most
        self._client = client
        self._name = f"ptogen-{uuid.uuid4().hex}"
        # A task of its own: workers hand it on among themselves, and where it is lost Dask makes it again.
        digest = hashlib.sha256(prepared).hexdigest()
        self._prepared = client.submit(Prepared, digest, zlib.compress(prepared, 1), key=f"{self._name}-prepared")
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
            key, packed = f"{self._name}-{self._count}", pack((work, task))
            future = self._client.submit(done, self._prepared, code, packed, key=key, pure=False)
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


def _given_up(error: Any) -> Diagnostic:
    message = f"every worker that tried was lost, the last one, {error.last_worker.address}, with this work alone"
    hint = "look whether the workers have enough memory"
    return Diagnostic("PTG522", message, hint=hint)


def _second(work: Callable[[Task], Result], numbered: tuple[int, Task]) -> Result:
    return work(numbered[1])
