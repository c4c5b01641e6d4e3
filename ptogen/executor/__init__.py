"""Where the work of ``matrix`` and ``check`` is done: in processes of this machine, or on a Dask cluster.

Both commands cut their work into tasks: a function of a module, and an argument that can be pickled. An *executor* says
where tasks run, and :meth:`Executor.workers` gives those who run them. A task is pure: done twice, as happens where a
worker is lost or Dask moves work about, it gives the same result twice, and only one is taken.

On a cluster nothing but ptogen itself is taken to be there: no file of this machine, no compiler of a certain kind. A
task brings along what it needs, and its result brings back what it made. Every task says by which code it was made, and
a worker with other code refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol, TypeVar

from ptogen.errors import Diagnostic

Task = TypeVar("Task")
Result = TypeVar("Result")

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


def opened(text: str, jobs: int | None, processors: int) -> Executor:
    """The executor that ``--executor`` names.

    Args:
        text: ``local``, ``dask`` or ``dask=ADDRESS``.
        jobs: of ``--jobs``.
        processors: how many jobs this machine takes by itself.
    """
    if text == "local":
        from ptogen.executor.local import Local

        return Local(jobs or processors)
    from ptogen.executor.dask import Dask

    address = text.partition("=")[2]
    return Dask(address, jobs) if address else Dask(None, jobs or processors)
