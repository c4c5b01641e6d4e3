"""What the header of one instruction does: the bytes that it touches, the flags and the scratch that it uses."""

from __future__ import annotations

from dataclasses import dataclass

from ptogen.platforms import Pipe
from ptogen.tiles import Region


@dataclass(frozen=True)
class Access:
    """Bytes of an operand that an instruction touches, relative to the operand's first byte.

    Attributes:
        operand: its name.
        writes: whether they are written.
        region: which bytes.
        defined: for a read, whether the value can reach a defined result; for a write, whether what is written is
            defined.
        sure: whether the bytes are known to be touched; otherwise this is the most that can be.
    """

    operand: str
    writes: bool
    region: Region
    defined: bool = True
    sure: bool = True


@dataclass(frozen=True)
class Effects:
    """What the header of one instruction does.

    Attributes:
        pipe: where it runs.
        accesses: every byte it touches.
        defects: why the header would go wrong on these arguments, in words; empty where it does not.
        events: (source pipe, destination pipe, event id) that it sets and waits for by itself.
        sure_events: whether it does so with these arguments; otherwise some form of it does.
        handshakes: flags that it surely sets and waits for by itself, so that the one pipe knows what the other has
            done.
        align: alignment in bytes that it needs of operands, where that is more than the 32 of every tile.
        scratch: byte addresses of UB, start and end, that it uses without an operand.
    """

    pipe: Pipe
    accesses: tuple[Access, ...]
    defects: tuple[str, ...] = ()
    events: tuple[tuple[Pipe, Pipe, int], ...] = ()
    align: tuple[tuple[str, int], ...] = ()
    scratch: tuple[tuple[int, int], ...] = ()
    sure_events: bool = True
    handshakes: tuple[tuple[Pipe, Pipe, int], ...] = ()
