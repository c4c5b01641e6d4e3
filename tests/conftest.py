"""What all tests share: a cache of their own, the pto-isa headers and a compiler that works. None of them skips."""

from __future__ import annotations

import os
import shutil
import signal
import time
from pathlib import Path

import hypothesis
import pytest

from ptogen.backend import cache
from ptogen.backend import headers as _headers
from ptogen.backend import toolchain as _toolchain
from ptogen.backend.headers import Headers
from ptogen.backend.toolchain import Toolchain

# A shell starts what it runs in the background with interrupts ignored, and what the tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# No test may depend on how busy the machine is.
hypothesis.settings.register_profile("ptogen", deadline=None)
hypothesis.settings.load_profile("ptogen")

TEST_CACHE = Path(__file__).parent.parent / "build" / "test-cache"
DAY = 24 * 3600


@pytest.fixture(scope="session", autouse=True)
def _cache_of_the_tests() -> None:
    """Builds of the tests stay out of the user's cache; the download of the headers is shared with it."""
    if "PTOGEN_CACHE" in os.environ:
        return
    download = cache.root() / "pto-isa"
    download.mkdir(parents=True, exist_ok=True)
    TEST_CACHE.mkdir(parents=True, exist_ok=True)
    try:
        (TEST_CACHE / "pto-isa").symlink_to(download, target_is_directory=True)
    except FileExistsError:
        pass
    for build in (*TEST_CACHE.glob("builds/*/"), *TEST_CACHE.glob("trees/*/")):
        if time.time() - build.stat().st_mtime > DAY:
            shutil.rmtree(build, ignore_errors=True)
    os.environ["PTOGEN_CACHE"] = str(TEST_CACHE)


@pytest.fixture(scope="session")
def headers(_cache_of_the_tests: None) -> Headers:
    """The user's pto-isa headers or the pinned snapshot, downloaded where it is missing."""
    return _headers.find(allow_fetch=True)


@pytest.fixture(scope="session")
def toolchain(headers: Headers) -> Toolchain:
    """A compiler that works with them, and the build tools."""
    return _toolchain.find(headers)
