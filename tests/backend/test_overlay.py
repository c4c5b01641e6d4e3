"""What ptogen's own simulator headers promise, seen by running a program that was compiled against them."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from ptogen.backend import compile, probe, runtime

SOURCE = Path(__file__).parent / "fixtures" / "overlay.cpp"

SORTS = (
    "float",
    "float-tail",
    "float-broadcast",
    "float-idx-columns",
    "half",
    "half-one-block",
    "half-broadcast",
)


@pytest.fixture(scope="session")
def programs(headers, toolchain, tmp_path_factory):
    """The program against the overlay, against upstream alone, and against the overlay with NDEBUG."""
    compiler, folder = toolchain.compiler, tmp_path_factory.mktemp("overlay")
    present = probe.present(compiler, headers)
    builds = {
        "overlay": (False, present, []),
        "pristine": (True, frozenset(), []),
        "ndebug": (False, present, ["-DNDEBUG"]),
    }
    for name, (pristine, defects, extra) in builds.items():
        options = runtime.options_of(runtime.Kind("manual", pristine, defects), compiler, headers)
        built = compile.compile_program(compiler, SOURCE, folder / name, [*options, "-Wall", *extra])
        assert built.returncode == 0, built.stderr
        assert name == "pristine" or "overlay/simulator" not in built.stderr, built.stderr

    def run(name: str, what: str, **environment: str) -> subprocess.CompletedProcess[str]:
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("PTO_", "PTOGEN_"))}
        return subprocess.run(
            [folder / name, what], capture_output=True, text=True, env=clean | environment, timeout=60
        )

    return run


@pytest.mark.parametrize("what", SORTS)
def test_tsort32_is_exact(programs, what):
    assert programs("overlay", what).stdout == "0\n"


def test_upstream_alone_is_not(programs, headers, toolchain):
    present = probe.present(toolchain.compiler, headers)
    wrong = {what for what in SORTS if programs("pristine", what).stdout != "0\n"}
    expected = set()
    if "TSORT32_IDX_SHAPE" in present:
        expected |= {"float-broadcast", "half-broadcast", "float-idx-columns"}
    if "TSORT32_HALF_BLOCKS" in present:
        expected |= {"half", "half-broadcast"}
    if "TSORT32_INDEX_VALUE" in present:
        expected = set(SORTS)
    assert wrong == expected


def test_calls_are_counted_by_who_computes(programs, headers, toolchain, tmp_path):
    present = probe.present(toolchain.compiler, headers)
    counts = tmp_path / "counts"
    for what in ("float", "half"):
        programs("overlay", what, PTOGEN_COUNTS=str(counts))
    calls = [call for line in counts.read_text().splitlines() for call in json.loads(line)["calls"]]
    assert [call["instruction"] for call in calls] == ["TSORT32", "TSORT32"]
    assert [call["count"] for call in calls] == [1, 1]
    fallback = "TSORT32_INDEX_VALUE" if "TSORT32_INDEX_VALUE" in present else None
    assert calls[0]["defect"] == fallback
    assert calls[1]["defect"] == ("TSORT32_HALF_BLOCKS" if "TSORT32_HALF_BLOCKS" in present else fallback)


def test_indices_that_do_not_cover_the_values_end_the_program(programs):
    run = programs("overlay", "few-indices")
    assert run.returncode == -6
    assert "TSORT32 cannot sort 1 x 32 values with 1 x 13 indices" in run.stderr


@pytest.mark.parametrize("build", ["overlay", "ndebug"])
def test_a_tile_past_the_end_of_ub_ends_the_program(programs, build):
    assert programs(build, "last", PTOGEN_UB_BYTES="196608").returncode == 0
    run = programs(build, "overflow", PTOGEN_UB_BYTES="196608")
    assert run.returncode == -6
    assert "a tile of 256 B at UB 0x2FF20: it ends at 0x30020, past the end of UB (0x30000, 196608 B)" in run.stderr


def test_ub_has_the_size_that_was_asked_for(programs):
    assert programs("overlay", "overflow", PTOGEN_UB_BYTES="253952").returncode == 0
    assert "(0x20000, 131072 B)" in programs("overlay", "last", PTOGEN_UB_BYTES="131072").stderr
    run = programs("overlay", "last", PTOGEN_UB_BYTES="a lot")
    assert run.returncode == -6
    assert "PTOGEN_UB_BYTES is not a number of bytes: a lot" in run.stderr


def test_an_address_is_an_offset(programs):
    run = programs("overlay", "host-pointer")
    assert run.returncode == -6
    assert "a host pointer outside the simulated memory is no address" in run.stderr
    assert programs("overlay", "far").returncode == -6
    assert programs("overlay", "view").stdout == "1\n"


def test_memory_that_nobody_wrote_is_not_zero(programs):
    assert programs("overlay", "poison").stdout == "DB\n"


def test_a_write_past_the_end_of_ub_is_named(programs):
    run = programs("overlay", "guard", PTOGEN_UB_BYTES="196608")
    assert run.returncode == -11
    assert "an instruction touched UB 12 B past the end of its 196608 B" in run.stderr


def test_every_thread_has_memories_of_its_own(programs):
    assert programs("overlay", "threads").stdout == "0\n"
