"""The platform table: one row a platform, each fact with its source."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

UB_BLOCK_BYTES = 32
"""Alignment of every tile and of every row of a row-major tile (``pto/common/pto_tile.hpp``, ``tassign_check.hpp``)."""


class Pipe(str, Enum):
    """An in-order instruction queue of an AI core; the value is its C++ name."""

    S = "PIPE_S"
    V = "PIPE_V"
    M = "PIPE_M"
    MTE1 = "PIPE_MTE1"
    MTE2 = "PIPE_MTE2"
    MTE3 = "PIPE_MTE3"
    FIX = "PIPE_FIX"

    # A pipe is a key wherever steps are ordered: the string's own hash is the faster one.
    __hash__ = str.__hash__

    def __str__(self) -> str:
        return self.value


IN_ORDER: dict[str, frozenset[Pipe]] = {"a2a3": frozenset(), "a5": frozenset({Pipe.V}), "cpu": frozenset()}
"""By family, pipes whose instructions see each other's results without a barrier: on a2a3 an Event<> from V to V is a
pipe_barrier, on a5 it is nothing (``pto/npu/a2a3/TSync.hpp``, ``pto/npu/a5/TSync.hpp``, which the Kirins share or
repeat)."""


PIPES = tuple(Pipe)
"""All of them: a loop over an enumeration itself is slow, and the checkers have many."""


@dataclass(frozen=True)
class Platform:
    """One target.

    Attributes:
        name: the spec's name.
        family: whose implementation headers it uses: ``a2a3``, ``a5`` or ``cpu``.
        ub_bytes: capacity of the unified buffer that a plan may use.
        st_root: folder of its system tests in pto-isa, under which the ST directory stands.
        build_helper: CMake function of pto-isa that builds an ST.
        modes: what the spec's ``mode`` may be.
        event_ids: event ids of each pair of pipes (``EVENT_ID_MAX`` in ``pto/common/event.hpp``).
        note: where the row comes from.
        ub_most: the largest capacity that one source states, where sources differ.
    """

    name: str
    family: str
    ub_bytes: int
    st_root: str
    build_helper: str
    note: str
    modes: tuple[str, ...] = ("manual", "auto")
    event_ids: int = 8
    ub_most: int | None = None

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


def _npu(name: str, family: str, ub_bytes: int, folder: str, note: str, ub_most: int | None = None) -> Platform:
    return Platform(name, family, ub_bytes, f"tests/npu/{folder}/src/st/testcase", "pto_vec_st", note, ub_most=ub_most)


PLATFORMS: dict[str, Platform] = {
    platform.name: platform
    for platform in (
        _npu("a2a3", "a2a3", 196_608, "a2a3", "Atlas A2/A3; UB: pto/common/buffer_limits.hpp, 192 KiB"),
        _npu(
            "a5",
            "a5",
            253_952,
            "a5",
            "Ascend 950; UB: the headers say 262,144 B, two other tools 253,952 B: the smaller holds on both",
            262_144,
        ),
        _npu("kirin9030", "a5", 131_072, "kirin9030", "Kirin 9030; a5 vector headers; UB: buffer_limits.hpp, 128 KiB"),
        _npu("kirinx90", "a5", 131_072, "kirinX90", "Kirin X90; a5 vector headers; UB: buffer_limits.hpp, 128 KiB"),
        _npu(
            "kirindev0000",
            "a5",
            131_072,
            "kirinDev0000",
            "Kirin Dev0000; a5 vector headers; UB: buffer_limits.hpp, 128 KiB",
        ),
        Platform(
            "cpu",
            "cpu",
            196_608,
            "tests/cpu/st/testcase",
            "pto_cpu_sim_st",
            "the CPU simulator as the target itself; UB: pto/cpu/NPUMemoryModel.hpp, 192 KiB",
            modes=("manual",),
        ),
    )
}
