"""What each PTO instruction does with its operands, as far as the checkers need it: roles, pipe, extents, scratch,
internal events.

An op of the catalogue says it more exactly in its ``effects``; this table serves the others. Order and names of
operands are those of ``pto/common/pto_instr.hpp`` (pto-isa 3186c38), pipes those of ``pto/common/event.hpp``. Scalars
do not count as operands.

A line is ``NAMES : operands``; several forms of different length stand behind one another with ``|``. The mark behind
    an operand says its role:
``+`` written, ``=`` read and written, ``~`` scratch (may be written, then read), ``?`` an input or ``!`` an output of
which only a part, or packed bits, are touched, nothing: read. Bytes are those of the operand's own valid region; of
the last three kinds the whole tile, but not for sure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from ptogen.ops.effects import Access, Effects
from ptogen.platforms import UB_BLOCK_BYTES, Pipe, Platform
from ptogen.tiles import Layout, TileType

TABLE = """
TADD TSUB TMUL TDIV TMAX TMIN TAND TOR TSHL TSHR TFMOD TSUBRELU TADDRELUCONV TSUBRELUCONV : dst+ src0 src1
TPARTADD TPARTMUL TPARTMAX TPARTMIN : dst+ src0 src1
TCOLEXPANDADD TCOLEXPANDSUB TCOLEXPANDMUL TCOLEXPANDDIV TCOLEXPANDMAX TCOLEXPANDMIN TCOLEXPANDEXPDIF : dst+ src0 src1
TMULADDDST TFUSEDMULADD TFUSEDMULADDRELU : dst= src0 src1
TADDC TSUBC : dst+ src0 src1 src2
TADDSC TSUBSC : dst+ src0 src1
TXOR TPRELU TREM TPOW : dst+ src0 src1 tmp~
TADDDEQRELU : dst+ src0 src1 tmp~
TADDS TSUBS TMULS TDIVS TMAXS TMINS TANDS TORS TSHLS TSHRS TLRELU TFMODS : dst+ src
TAXPY : dst= src
TREMS TXORS TPOWS : dst+ src tmp~
TABS TNEG TEXP TLOG TSQRT TRECIP TRELU TNOT TPAIRREDUCESUM : dst+ src
TRSQRT TCVT TMOV TCOLSUM : dst+ src | dst+ src tmp~
TEXPANDS TTRI TRANDOM : dst+
TCI : dst+ | dst+ tmp~
TROWSUM TROWMAX TROWMIN TROWPROD TTRANS : dst+ src tmp~
TROWARGMAX TROWARGMIN TCOLARGMAX TCOLARGMIN : dst+ src tmp~ | dstVal+ dstIdx+ src tmp~
TCOLMAX TCOLMIN TCOLPROD TROWEXPAND TCOLEXPAND TFILLPAD TFILLPAD_INPLACE TFILLPAD_EXPAND : dst+ src
TROWEXPANDADD TROWEXPANDSUB TROWEXPANDMUL TROWEXPANDDIV : dst+ src0 src1 | dst+ src0 src1 tmp~
TROWEXPANDMAX TROWEXPANDMIN TROWEXPANDEXPDIF : dst+ src0 src1 | dst+ src0 src1 tmp~
TSORT32 : dst+ src idx | dst+ src idx tmp~
TMRGSORT : dst+ src | dst+ tmp~ src0 src1 | dst+ tmp~ src0 src1 src2 | dst+ tmp~ src0 src1 src2 src3
TPARTARGMAX TPARTARGMIN : dst+ src0 src1 dstIdx+ src0Idx src1Idx
TGATHER : dst+ src? | dst+ src? idx tmp~ | dst! src0 k cdst! tmp~
TGATHERB : dst+ src? offset?
TSCATTER : dst! src? | dst! src idx
TCMP : dst! src0 src1
TCMPS : dst! src0 | dst! src0 src1?
TSEL : dst+ mask? src0 src1 tmp~
TSELS : dst+ mask? src tmp~
TCONCAT : dst! src0 src1 | dst! src0 src1 src0Idx? src1Idx? | dst! src0 src1 dstIdx! src0Idx? src1Idx?
TEXTRACT : dst+ src? | dst0+ dst1+ src?
TINSERT : dst! src
TQUANT : dst! src para? | dst! src para? tmp~ | dst! src exp! max! scaling! | dst! src exp! max! scaling! exp_zz!
TDEQUANT : dst+ src scale? offset?
THISTOGRAM : dst! src idx?
TINTERLEAVE : dst1+ dst0+ src1 src0
TDEINTERLEAVE : dst1+ dst0+ src | dst1+ dst0+ src1 src0
MGATHER : dst! idx | dst! idx scratch~
MSCATTER : src idx
SetValue : tile!
GetValue : tile?
"""

SILENT = frozenset({"TASSIGN", "TSUBVIEW", "TRESHAPE", "TPREFETCH", "TPRINT", "TSYNC", "SYNCALL"})
"""Instructions that touch no tile that a checker follows."""

SCALAR = {"TCI": 1, "SetValue": 1, "GetValue": 1}
"""Instructions of PIPE_S, with the number of tiles of that form: event.hpp says it of TCI, whose form with tmp is the
vector unit's all the same (a2a3/TCI.hpp, a5/Tci.hpp); an element is the scalar unit's."""

BUFFERED = frozenset({"TMRGSORT"})
"""Instructions whose form with tmp writes dst from tmp after everything was read, so that dst may lie on a source
(a2a3/TMrgSort.hpp:63, a5/TMrgSort.hpp:43); the simulator has no such step."""

OWN_SCRATCH = (184 * 1024, 192 * 1024)
"""TMP_UB_OFFSET and TMP_UB_SIZE of ``pto/common/constants.hpp``."""

S, V, MTE2, MTE3 = Pipe.S, Pipe.V, Pipe.MTE2, Pipe.MTE3
BOTH = ((V, S, 0), (S, V, 0))
EVENTS: dict[str, dict[str, tuple[tuple[Pipe, Pipe, int], ...]]] = {
    "a2a3": {
        **dict.fromkeys(
            (
                "TROWSUM",
                "TROWMAX",
                "TROWMIN",
                "TROWPROD",
                "TROWEXPAND",
                "TROWARGMAX",
                "TROWARGMIN",
                "TPOW",
                "TPOWS",
                "TDEQUANT",
                "TDIVS",
                "TSHL",
                "TSHR",
                "TGATHER",
                "TSCATTER",
                "TEXTRACT",
            ),
            BOTH,
        ),
        "TCMPS": ((V, S, 0), (MTE2, S, 0)),
        "TCONCAT": ((V, S, 0), (MTE2, S, 0)),
        "TFILLPAD": ((V, S, 0),),
        "TSELS": ((S, V, 0),),
        "TTRANS": (*BOTH, (V, MTE3, 0), (MTE3, V, 0), (S, MTE3, 0), (MTE3, S, 0)),
        "MGATHER": (*BOTH, (S, MTE2, 0), (MTE2, S, 0), (S, MTE3, 0), (MTE3, S, 0), (MTE2, V, 0), (MTE2, MTE3, 0)),
        "MSCATTER": (*BOTH, (S, MTE2, 0), (MTE2, S, 0), (S, MTE3, 0), (MTE3, S, 0), (MTE3, V, 0), (MTE3, MTE2, 0)),
    },
    "a5": {
        **dict.fromkeys(("TEXTRACT", "TINSERT"), BOTH),
        "TDIVS": ((V, S, 0),),
        "MGATHER": (*BOTH, (S, MTE2, 0)),
        "MSCATTER": BOTH,
    },
}
"""Flags that some form of the instruction sets and waits for by itself, by the family of headers: set_flag and
PtoSetWaitFlag in ``pto/npu/<family>/T*.hpp`` and ``M*.hpp``."""

ALWAYS = {
    "a2a3": frozenset({"TPOW", "TPOWS", "TSHL", "TSHR", "TSCATTER", "TDEQUANT"}),
}
"""Instructions that use their flags in every form; of the others, see :func:`_events`."""

CLEARS = {"a2a3": frozenset({"TSCATTER"})}
"""Instructions that write zeros to all of dst before they write parts of it (a2a3/TScatter.hpp, InitUBBuffer)."""

FRACTAL_Z_3D = 21
"""``Layout`` of ``pto/common/type.hpp``."""

IN_ORDER: dict[str, frozenset[Pipe]] = {"a2a3": frozenset(), "a5": frozenset({V})}
"""Pipes whose instructions see each other's results without a barrier: on a2a3 an Event<> from V to V is a
pipe_barrier, on a5 it is nothing (``pto/npu/a2a3/TSync.hpp``, ``pto/npu/a5/TSync.hpp``, which the Kirins share or
repeat)."""


@cache
def table() -> dict[str, dict[int, tuple[str, ...]]]:
    """The operands, marks included, by instruction and number of tiles."""
    found: dict[str, dict[int, tuple[str, ...]]] = {}
    for line in TABLE.strip().splitlines():
        left, _, right = line.partition(" : ")
        forms = [tuple(form.split()) for form in right.split(" | ")]
        for name in left.split():
            found[name] = {len(form): form for form in forms}
    return found


def operands(name: str, tiles: int) -> tuple[str, ...] | None:
    """The names of an instruction's tile operands; None where the table does not have it in this form."""
    form = table().get(name, {}).get(tiles)
    return tuple(operand.rstrip("+=~?!") for operand in form) if form is not None else None


def effects(name: str, platform: Platform, tiles: Mapping[str, TileType]) -> Effects:
    """What an instruction of the table does; ``tiles`` in the order of its operands."""
    accesses = []
    for marked, tile in zip(table()[name][len(tiles)], tiles.values(), strict=True):
        operand, mark = marked.rstrip("+=~?!"), marked[-1]
        sure = tile.layout is not Layout.FRACTAL
        if mark == "~":
            accesses += [
                Access(operand, True, tile.whole, defined=False, sure=False),
                Access(operand, False, tile.whole, False, sure=False),
            ]
        elif mark == "?":
            accesses.append(Access(operand, False, tile.whole, sure=False))
        elif mark == "!":
            accesses.append(Access(operand, True, tile.whole, sure=False))
        elif mark == "+":
            accesses.append(Access(operand, True, tile.valid, sure=sure))
        elif mark == "=":
            accesses += [Access(operand, False, tile.valid, sure=sure), Access(operand, True, tile.valid, sure=sure)]
        else:
            accesses.append(Access(operand, False, tile.valid, sure=sure))
        if name in CLEARS.get(platform.family, ()) and operand == "dst":
            accesses[-1] = Access(operand, True, tile.valid, sure=sure)
        if (
            name == "TGATHER"
            and len(tiles) == 2
            and tile.dtype.bytes == 8
            and operand == "dst"
            and platform.family == "a5"
        ):
            # Rows of packed results follow one another, whatever the tile's own pitch (a5/TGather.hpp:279).
            accesses[-1] = Access(operand, True, tile.whole, sure=False)
    events, sure_events = _events(name, platform, tuple(tiles.values()))
    # What is read is read before what is written.
    accesses.sort(key=lambda access: access.writes)
    return Effects(
        Pipe.S if SCALAR.get(name) == len(tiles) else Pipe.V,
        tuple(accesses),
        events=events,
        sure_events=sure_events,
        scratch=_scratch(name, platform, tiles),
    )


def _events(
    name: str, platform: Platform, tiles: Sequence[TileType]
) -> tuple[tuple[tuple[Pipe, Pipe, int], ...], bool]:
    """The flags that an instruction uses by itself, and whether it does in this form for sure.

    TCMPS and TGATHER use them only where a tile holds what they compare with (a2a3/TCmps.hpp:139, TGather.hpp:170,
    201), TCONCAT of three tiles where the columns of src0 are no whole blocks (a2a3/TConcat.hpp:47)."""
    events = EVENTS.get(platform.family, {}).get(name, ())
    sure = name in ALWAYS.get(platform.family, ())
    if platform.family == "a2a3" and events:
        form = {
            "TCMPS": len(tiles) == 3,
            "TGATHER": len(tiles) == 5,
            "TCONCAT": len(tiles) == 3 and tiles[1].valid_cols * tiles[1].dtype.bytes % UB_BLOCK_BYTES != 0,
        }
        if name in form and (name != "TCONCAT" or len(tiles) == 3):
            return (events, True) if form[name] else ((), False)
    return events, sure


def handshakes(name: str, platform: Platform, args: Sequence[Mapping[str, Any]]) -> tuple[tuple[Pipe, Pipe, int], ...]:
    """Flags that an instruction surely sets and waits for by itself, so that its pipe knows what the other has done.

    TTRANS to FRACTAL_Z_3D does so for each slice (a2a3/TTrans.hpp:783)."""
    if platform.family == "a2a3" and name == "TTRANS" and args and args[0].get("lay") == FRACTAL_Z_3D:
        return ((MTE3, V, 0),)
    return ()


def _scratch(name: str, platform: Platform, tiles: Mapping[str, TileType]) -> tuple[tuple[int, int], ...]:
    """The form without tmp of a row expansion with a column-major src1 on a2a3 (a2a3/TRowExpandBinOp.hpp:208)."""
    one = tiles.get("src1")
    if (
        platform.family == "a2a3"
        and name.startswith("TROWEXPAND")
        and len(tiles) == 3
        and one is not None
        and one.layout is Layout.COL_MAJOR
    ):
        return (OWN_SCRATCH,)
    return ()
