"""A real cluster on this machine, one for all tests of this folder: starting one takes seconds."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "backend"))  # small_trees


class Cluster:
    """Two processes with one thread each; a process that is killed comes back."""

    def __init__(self) -> None:
        import distributed

        self.cluster = distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            memory_limit=0,
            scheduler_kwargs={"dashboard": False, "dashboard_address": "127.0.0.1:0"},
            silence_logs=logging.CRITICAL,
        )
        self.client = distributed.Client(self.cluster, set_as_default=False)

    @property
    def name(self) -> str:
        """For ``--executor``."""
        return f"dask={self.cluster.scheduler_address}"

    def kill(self) -> int:
        """Kills a worker that is at work on a task of ptogen."""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            busy = [
                worker
                for worker, keys in self.client.processing().items()
                if any(str(key).startswith("ptogen-") for key in keys)
            ]
            if busy:
                (pid,) = self.client.run(os.getpid, workers=busy[:1]).values()
                os.kill(pid, signal.SIGKILL)
                return pid
            time.sleep(0.01)
        raise AssertionError("no worker is at work")


@pytest.fixture(scope="session")
def cluster(_cache_of_the_tests: None) -> Iterator[Cluster]:
    one = Cluster()
    yield one
    one.client.close()
    one.cluster.close()


@pytest.fixture
def whole(cluster: Cluster) -> Cluster:
    """The cluster with both of its workers: a test before may have killed one."""
    cluster.client.wait_for_workers(2, timeout=120)
    return cluster
