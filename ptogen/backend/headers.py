"""The pto-isa headers: those of the user, or one pinned snapshot that is downloaded once."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ptogen.backend import cache, download
from ptogen.errors import Diagnostic, PtogenError

MARK = "pto/pto-inst.hpp"
"""The header by which an include folder of pto-isa is known."""

HINT = (
    "give a checkout of pto-isa or its include folder with --pto-isa DIR or the environment variable PTO_ISA_ROOT,\n"
    "or download the pinned snapshot with `ptogen backend fetch`"
)


@dataclass(frozen=True)
class Headers:
    """An include folder of pto-isa.

    Attributes:
        include: the folder that holds ``pto/``.
        origin: how it was found, in words.
        digest: short hash of what the CPU simulator reads, for names in the cache.
        version: pinned version, or what the checkout says of itself; empty where nothing is known.
    """

    include: Path
    origin: str
    digest: str
    version: str = ""


def find(
    option: str | None = None, *, allow_fetch: bool = False, progress: Callable[[str], None] | None = None
) -> Headers:
    """The headers to use: ``--pto-isa``, then ``PTO_ISA_ROOT``, then ``ASCEND_HOME_PATH``, then the cached download.

    A place that the user gives and that holds no headers is an error: nothing else is tried in its stead.
    ``ASCEND_HOME_PATH`` is set by every CANN toolkit, with pto-isa or without, so it only counts where the headers are
    there.

    Args:
        option: value of ``--pto-isa``.
        allow_fetch: download the pinned snapshot where nothing is found.
        progress: told in one line that a download starts.

    Raises:
        PtogenError: PTG501 where there are none, PTG503 where the download fails.
    """
    for name, value in (("--pto-isa", option), ("PTO_ISA_ROOT", os.environ.get("PTO_ISA_ROOT"))):
        if value:
            include = _include_of(Path(value))
            if include is None:
                raise PtogenError(
                    Diagnostic("PTG501", f"{name}: no {MARK} in {value} nor in its include folder", hint=HINT)
                )
            return _headers(include, f"{name} {value}")
    toolkit = os.environ.get("ASCEND_HOME_PATH")
    include = _include_of(Path(toolkit)) if toolkit else None
    if include is not None:
        return _headers(include, f"ASCEND_HOME_PATH {toolkit}")
    if download.include_folder() is None:
        if not allow_fetch:
            raise PtogenError(Diagnostic("PTG501", "no pto-isa headers were found", hint=HINT))
        fetch(progress)
    return _cached()


def fetch(progress: Callable[[str], None] | None = None) -> Headers:
    """Downloads the pinned snapshot unless the cache holds it; safe in several processes at once.

    Raises:
        PtogenError: PTG503, with the last line of pip; the cache is as it was.
    """
    download.fetch(progress or (lambda line: None))
    return _cached()


def _cached() -> Headers:
    include = download.include_folder()
    assert include is not None
    return _headers(include, "downloaded snapshot", f"{download.PIN.project} {download.PIN.version}")


def _include_of(place: Path) -> Path | None:
    place = place.expanduser().absolute()
    return next((folder for folder in (place, place / "include") if (folder / MARK).is_file()), None)


def _headers(include: Path, origin: str, version: str = "") -> Headers:
    """With the digest of all headers but those of the NPU's own compilers (``pto/npu``) and the cost model."""
    ours = [
        path
        for path in (include / "pto").rglob("*")
        if path.suffix in (".h", ".hpp", ".inc")
        and path.relative_to(include).parts[1] not in ("npu", "costmodel")
        and path.is_file()
    ]
    return Headers(include, origin, cache.digest_files(include, ours), version or _version(include))


def _version(include: Path) -> str:
    """The commit of a checkout, where its git files say it in plain; else nothing."""
    head = include.parent / ".git" / "HEAD"
    try:
        text = head.read_text(encoding="utf-8").strip()
        if text.startswith("ref: "):
            text = (head.parent / text[5:]).read_text(encoding="utf-8").strip()
        return f"commit {text[:7]}"
    except (OSError, UnicodeDecodeError):
        return ""
