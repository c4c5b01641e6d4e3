"""Prints ``docs/documents.md``: the numbers of the ISA's documents beside those that ptogen plans; ``make docs`` puts
it in its place."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ptogen.check import check_suite
from ptogen.plan.suite import plan_suite
from ptogen.spec.load import load

SPECS = Path(__file__).parent.parent / "specs" / "documents"


@dataclass(frozen=True)
class Example:
    """A worked example of a document.

    Attributes:
        title: what it shows.
        spec: file in ``specs/documents``.
        case: which of its cases, by number.
        says: what the document gives each tile: a shape, an address, or both.
        why: where the two differ, who is right and why.
    """

    title: str
    spec: str
    says: dict[str, str]
    case: int = 0
    why: tuple[str, ...] = field(default=())


DOCUMENTS: dict[str, tuple[Example, ...]] = {
    "The page TSORT32": (
        Example("32-aligned: one block of float", "tsort32_aligned", {"src": "1x32", "idx": "1x32", "dst": "1x64"}),
        Example(
            "Tail: 100 columns of half",
            "tsort32_tail",
            {"src": "1x100", "idx": "1x100", "dst": "1x400", "tmp": "1x128"},
            why=(
                "A row of a row-major tile is a multiple of 32 bytes (pto/common/pto_tile.hpp): 1x100 of half has "
                "200, so the page's src does not compile. ptogen keeps 100 valid columns in 128 physical ones.",
                "The hardware writes a record for every column of a block, the pad lanes too (a2a3/TSort32.hpp:137, "
                "a5/TSort32.hpp:159): 128 records are 512 columns of half. A dst of 1x400 is overrun by 224 bytes.",
                "The page's call names `TSort32`, `dst2`, `src2`, `idx2`; the instruction is `TSORT32`.",
            ),
        ),
    ),
    "The article on TSORT32": (
        Example(
            "case1: 2x32 float", "tsort32_article", {"src": "0x0", "idx": "0x8000", "dst": "0x16000", "tmp": "0x20000"}
        ),
        Example(
            "case2: 4x64 half",
            "tsort32_article",
            {"src": "0x0", "idx": "0x8000", "dst": "0x16000", "tmp": "0x20000"},
            1,
        ),
        Example(
            "case3: 1x8192 float, 256 blocks",
            "tsort32_article",
            {"src": "0x0", "idx": "0x8000", "dst": "0x16000", "tmp": "0x20000"},
            2,
            (
                "dst of 65,536 bytes at 0x16000 reaches to 0x26000 and covers tmp at 0x20000. Nothing shows, because "
                "whole blocks need no tmp; ptogen plans none.",
            ),
        ),
        Example(
            "case4: 2x13 float, a tail",
            "tsort32_article",
            {"src": "2x16 at 0x0", "idx": "2x16 at 0x8000", "dst": "2x32 at 0x16000", "tmp": "1x16 at 0x20000"},
            3,
            (
                "The article calls ceil(C*b, 32) and ceil(ceil(C, 32)*b, 32) equal. For C = 13 and b = 4 they are 64 "
                "and 128 bytes, and the header fills lanes up to 32 (a2a3/TSort32.hpp:133): a tmp of 16 columns is "
                "overrun by 64 bytes.",
                "A row of dst gets 32 records of 8 bytes, 64 columns; with rows of 32 columns each row overwrites "
                "the next.",
            ),
        ),
    ),
    "pypto_pro.language.sort32": (
        Example(
            "sort32_kernel: 1x32 half",
            "sort32_pypto",
            {"src": "1x32 at 0x0", "idx": "1x32 at 0x80", "dst": "1x128 at 0x100"},
        ),
        Example(
            "sort32_tail_kernel: 1x16 half",
            "sort32_pypto",
            {"src": "1x16 at 0x0", "idx": "1x32 at 0x80", "dst": "1x128 at 0x100", "tmp": "1x32 at 0x200"},
            1,
            (
                "src has 16 physical columns in the example and 32 in the plan: 32 bytes are enough for the copy to "
                "tmp, a whole block is what the text of the same page asks of idx and dst, and the addresses are the "
                "same either way.",
            ),
        ),
    ),
    "The page TMRGSORT": (
        Example("example_single: four blocks of 64", "tmrgsort_single", {"src": "1x256", "dst": "1x256"}),
        Example("example_manual", "tmrgsort_single_manual", {"src": "1x256 at 0x1000", "dst": "1x256 at 0x2000"}),
        Example(
            "example_multi4: four lists of 128",
            "tmrgsort_multi4",
            {"src0": "1x128", "src1": "1x128", "src2": "1x128", "src3": "1x128", "dst": "1x512", "tmp": "1x512"},
        ),
        Example(
            "example_exhausted: two lists of 64",
            "tmrgsort_exhausted",
            {"src0": "1x64", "src1": "1x64", "dst": "1x128", "tmp": "1x128"},
            why=(
                "The counts come back in a variable of the kernel, which the host never sees; ptogen stores them "
                "through a tile of its own, `counts`.",
            ),
        ),
    ),
    "The article on TPARTMIN": (
        Example("example_auto: 16x16 float", "tpartmin_auto", {"src0": "16x16", "src1": "16x16", "dst": "16x16"}),
        Example(
            "example_manual",
            "tpartmin_manual",
            {"src0": "16x16 at 0x1000", "src1": "16x16 at 0x2000", "dst": "16x16 at 0x3000"},
        ),
    ),
}

NOTES = """\
## What holds for all of them

- The pages call the pad value of TSORT32 minus infinity; the headers write a NaN (a2a3/TSort32.hpp:121,
  a5/TSort32.hpp:131). Where the hardware sorts it is not known, so ptogen keeps minus infinity out of the last block of
  its own data.
- The diagram of the TPART* pages shows 3x3 and 2x4 sources for a 3x3 result. The text of the same pages forbids that,
  and so do the headers of a2a3 (a2a3/TPartMin.hpp): one source covers the result.
- Assembly: the pages show Level 1 (SSA), which the assembler does not read, and put tmp of a merge among the outs,
  where the assembler rejects it. `ptogen kernel --target pto-as` writes what the assembler reads; `--level 1` writes
  the pages' form and says so in the file.
"""


def page() -> str:
    """The whole page."""
    lines = [
        "# The documents' numbers beside ptogen's",
        "",
        "Every worked example of the ISA's documents is a spec in `specs/documents/`. What the document gives a tile "
        "stands beside what",
        "ptogen plans for it, on a2a3 where the example names no platform. This page is made by `make docs`; do not "
        "edit it.",
    ]
    for document, examples in DOCUMENTS.items():
        lines += ["", f"## {document}"]
        for example in examples:
            (suite, *_) = load(SPECS / f"{example.spec}.yaml")
            plans = plan_suite(suite)
            check_suite(suite, plans)
            plan = plans[example.case]
            manual = plan.mode == "manual"
            lines += [
                "",
                f"### {example.title}",
                "",
                f"`specs/documents/{example.spec}.yaml`, {suite.platform}, {plan.mode}",
                "",
            ]
            lines += ["| tile | document | ptogen | valid | bytes |", "|---|---|---|---|---|"]
            for tile in plan.tiles:
                planned = f"{tile.rows}x{tile.cols}" + (f" at {tile.offset:#x}" if manual else "")
                said = example.says.get(tile.name, "-")
                lines.append(
                    f"| {tile.name} | {said} | {planned} | {tile.valid_rows}x{tile.valid_cols} | {tile.bytes:,} |"
                )
            lines += [
                f"| {name} | {said} | none | | 0 |" for name, said in example.says.items() if not _has(plan.tiles, name)
            ]
            for reason in example.why:
                lines += ["", reason]
    return "\n".join(lines) + "\n\n" + NOTES


def _has(tiles, name: str) -> bool:
    return any(tile.name == name for tile in tiles)


if __name__ == "__main__":
    print(page(), end="")
