"""How much memory compilers may take together."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from ptogen.report.progress import Progress

COMPILER_BYTES = 300 << 20
"""What g++ 12 takes of a file behind the precompiled header of pto-isa; clang++ 19 takes 180 MiB."""

BYTES_A_LETTER = 3_000
"""What it takes beside that for each byte of a kernel file, at most; measured: 2,000 for tsort32 on the snapshot."""


def compilers(jobs: int, room: int | None, kernel_files: Iterable[Path], progress: Progress) -> int:
    """How many compilers may run at once: ``jobs``, or as many fewer as fit into ``room`` bytes; at least one.

    Args:
        jobs: wanted.
        room: bytes that they may take together; None for what is free.
        kernel_files: what is to be compiled.
        progress: told where it is fewer.
    """
    room = available() if room is None else room
    most = need(kernel_files)
    fit = jobs if room is None else max(1, min(jobs, room // most))
    if fit < jobs:
        progress.line(f"{fit} of {jobs} compilers at once: {room:,} B of memory, and one may take {most:,} B")
    return fit


def need(kernel_files: Iterable[Path]) -> int:
    """Bytes that the compiler of the largest of these files takes, roughly."""
    sizes = [path.stat().st_size for path in kernel_files if path.is_file()]
    return COMPILER_BYTES + BYTES_A_LETTER * max(sizes, default=0)


def available() -> int | None:
    """Bytes that are free to use now, in the machine and in the control group; None where the system does not say."""
    found = [_machine(), _group()]
    return min((size for size in found if size is not None), default=None)


def _machine() -> int | None:
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def _group(root: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What a container may still take: the limit (cgroup v2, then v1) less what it uses, without the page cache."""
    for limit, used, cache in (
        ("memory.max", "memory.current", "inactive_file"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes", "total_inactive_file"),
    ):
        try:
            most = int((root / limit).read_text(encoding="ascii"))
            taken = int((root / used).read_text(encoding="ascii"))
            stat = (root / limit).with_name("memory.stat").read_text(encoding="ascii").split()
        except (OSError, ValueError):
            continue
        return max(0, most - taken + int(dict(zip(stat[::2], stat[1::2], strict=False)).get(cache, 0)))
    return None
