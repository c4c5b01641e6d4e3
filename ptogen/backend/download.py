"""The pinned snapshot of the pto-isa headers, as the package index carries it.

Source of the numbers: the wheel ``tilelang-ascend`` 0.1.4, which holds pto-isa's whole include tree. It is published
for one platform only, and is never installed or imported, only unzipped.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ptogen.backend import cache
from ptogen.errors import Diagnostic, PtogenError

PIP: list[str] = [sys.executable, "-m", "pip"]
"""How pip is called: that of the running interpreter, so that the user's own configuration holds."""


@dataclass(frozen=True)
class Pin:
    """What is downloaded.

    Attributes:
        project, version: on the package index.
        file: name of the wheel.
        size: its bytes.
        sha256: its hash.
        tree: the folder of the wheel that is kept.
        pip: what pip is told of the platform.
    """

    project: str
    version: str
    file: str
    size: int
    sha256: str
    tree: str
    pip: tuple[str, ...]


PIN = Pin(
    "tilelang-ascend",
    "0.1.4",
    "tilelang_ascend-0.1.4-cp311-cp311-manylinux2014_aarch64.whl",
    50_662_070,
    "1afec13f59e18fd9133ae2345a9845d8b58e3f005bd773325664821db5990d03",
    "tilelang/3rdparty/pto-isa/include/",
    ("--platform", "manylinux2014_aarch64", "--python-version", "3.11"),
)


def folder() -> Path:
    """Where the snapshot stands in the cache once it is complete."""
    return cache.root() / "pto-isa" / f"{PIN.version}-{PIN.sha256[:12]}"


def include_folder() -> Path | None:
    """The include folder of the snapshot, or None where it was not downloaded."""
    include = folder() / "include"
    return include if (include / "pto" / "pto-inst.hpp").is_file() else None


def fetch(progress: Callable[[str], None]) -> None:
    """Downloads, checks and unpacks the snapshot unless it is there.

    The folder takes its name only when it is complete, so a download that was cut short is never used.

    Raises:
        PtogenError: PTG503.
    """
    try:
        with cache.locked(folder()):
            if include_folder() is not None:
                return
            progress(f"downloading the pto-isa headers once ({PIN.project} {PIN.version}, {PIN.size / 1e6:.0f} MB) ...")
            with tempfile.TemporaryDirectory(dir=folder().parent, prefix=".download-") as temporary:
                wheel = _download(Path(temporary))
                _verify(wheel)
                unpacked = Path(temporary) / "unpacked"
                _unpack(wheel, unpacked / "include")
                shutil.rmtree(folder(), ignore_errors=True)
                unpacked.rename(folder())
    except OSError as error:
        raise _failed(f"{folder().parent} cannot be written: {error.strerror or error}") from error


def _download(target: Path) -> Path:
    command = [
        *PIP,
        "download",
        "--no-deps",
        "--only-binary=:all:",
        *PIN.pip,
        "--disable-pip-version-check",
        "--progress-bar",
        "off",
    ]
    command += ["--dest", str(target), f"{PIN.project}=={PIN.version}"]
    run = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if run.returncode != 0:
        raise _failed(f"pip ended with status {run.returncode}", _telling(run.stderr or run.stdout))
    wheel = target / PIN.file
    if not wheel.is_file():
        raise _failed(f"pip brought no {PIN.file}")
    return wheel


TELLING = re.compile(
    r"error|refused|resolution|resolve|timed out|unreachable|certificate|proxy|SSL|denied|no space", re.I
)
"""What a line of pip says that names a cause; its last line often names a consequence only."""


def _telling(output: str) -> tuple[str, ...]:
    """The lines that say why pip failed, each kind once: it repeats itself at every try."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    kinds: dict[str, str] = {}
    for line in lines:
        if TELLING.search(line):
            kinds.setdefault(re.sub(r"\d+|0x[0-9a-f]+", "", line), line)
    return tuple(dict.fromkeys([*list(kinds.values())[:4], *lines[-1:]]))


def _verify(wheel: Path) -> None:
    size = wheel.stat().st_size
    if size != PIN.size:
        raise _failed(f"{PIN.file} has {size:,} bytes and not {PIN.size:,}")
    with wheel.open("rb") as file:
        found = hashlib.sha256()
        for block in iter(lambda: file.read(1 << 20), b""):
            found.update(block)
    if found.hexdigest() != PIN.sha256:
        raise _failed(f"{PIN.file} has the SHA-256 {found.hexdigest()} and not {PIN.sha256}")


def _unpack(wheel: Path, include: Path) -> None:
    """Only plain files below the kept folder, none outside ``include``."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.infolist():
                if entry.is_dir() or not entry.filename.startswith(PIN.tree):
                    continue
                place = PurePosixPath(entry.filename[len(PIN.tree) :])
                kind = stat.S_IFMT(entry.external_attr >> 16)
                if (
                    place.is_absolute()
                    or ".." in place.parts
                    or "\\" in entry.filename
                    or kind not in (0, stat.S_IFREG)
                ):
                    raise _failed(f"{PIN.file} holds an entry that leaves its folder: {entry.filename}")
                target = include.joinpath(*place.parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(entry))
    except (zipfile.BadZipFile, NotImplementedError) as error:
        raise _failed(f"{PIN.file} is damaged: {error}") from error
    if not (include / "pto" / "pto-inst.hpp").is_file():
        raise _failed(f"{PIN.file} holds no pto/pto-inst.hpp")


def _failed(reason: str, details: tuple[str, ...] = ()) -> PtogenError:
    hint = (
        "pip uses its own configuration (index, proxy, certificates): check it with `pip config list`;\n"
        "without a network, give a checkout of pto-isa with --pto-isa DIR or the environment variable PTO_ISA_ROOT"
    )
    return PtogenError(
        Diagnostic("PTG503", f"the pto-isa headers cannot be downloaded: {reason}", details=details, hint=hint)
    )
