"""Prints ``docs/mutants.md``: what became of every mutant of plans and kernels; ``make mutants`` puts it in its place.

Kernels are compiled, which takes minutes. With ``--plans`` only the half of the page that is about plans is printed.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from multiprocessing import Pool
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests" / "mutation"))

from mutants import cpp_ways, plan_ways  # noqa: E402
from mutants.corpus import entries  # noqa: E402
from mutants.kernels import suites, verdicts  # noqa: E402
from mutants.plans import Verdict, judged  # noqa: E402

PLANS = """\
# Mutants

What the checkers are worth: every plan and every kernel of the specs that ship is broken on purpose, and the checkers
have to see it. This page is made by `make mutants`; do not edit it.

A mutant is *killed* where something objects; what objected stands in the last column. One that nothing objects to is
*equivalent* where a walk through every timing that its flags allow, with the bytes that the ops' effects name, shows
that each byte of every output comes from the same instructions and the same inputs as before
(`tests/mutation/mutants/timing.py`). Any other has *escaped*, which fails the tests.

## Plans

{ways} ways, at every place where each applies, in {plans} plans: every case of `specs/*.yaml` on every platform, in
mode auto as well where there is one, and plans with what those have little of (`EXTRA` in
`tests/mutation/mutants/corpus.py`). `ptogen.check` judges them. It has no finding in any of the plans as they are. In
mode auto the compiler places tiles and orders steps, so ways that touch addresses or flags do not apply there, and a
step that is issued twice does no harm.
"""

KERNELS = """
## Kernels

{ways} ways, in the C++ of every suite in `generated/`, at up to {most} places of each kernel function for each way,
drawn with a seed. `ptogen sanitize` judges what the recorded kernel does; errors and warnings count, notes do not. It
has none in the kernels as they are. Kernels that are the same text under the same rules, such as those of the three
Kirins, are judged once and counted for each.

`compiler` stands for a mutant that does not compile for the CPU simulator. What neither the sanitizer nor the timings
settle is computed on the simulator: `simulator` stands for one that it stops, `golden` for one whose results are wrong.
A sanitizer cannot know which bytes of GM a kernel was meant to read and write; the golden does. On platform `cpu` one
instruction runs after the other, so that there a flag orders nothing and its mutants are equivalent.
"""

HEAD = "| way | what it breaks | mutants | killed | equivalent | escaped | killed by |"


def table(ways: Sequence, found: Iterable[Verdict]) -> list[str]:
    """A line for each way, and their sum."""
    rows: dict[str, list[Verdict]] = {way.name: [] for way in ways}
    for one in found:
        rows[one.way].append(one)
    lines = [HEAD, "|---|---|--:|--:|--:|--:|---|"]
    for way in ways:
        lines.append(f"| {way.name} | {way.breaks} | {_numbers(rows[way.name])} |")
    return [*lines, f"| **all** | | {_numbers([one for own in rows.values() for one in own])} |"]


def _numbers(found: Sequence[Verdict]) -> str:
    codes = Counter(code for one in found for code in one.codes)
    killed, equivalent = sum(bool(one.codes) for one in found), sum(one.equivalent for one in found)
    words = ", ".join(f"{code} {count:,}" for code, count in sorted(codes.items()))
    return f"{len(found):,} | {killed:,} | {equivalent:,} | {len(found) - killed - equivalent:,} | {words}"


def plans() -> str:
    """The first half of the page."""
    found = [one for entry in entries() for one in judged(entry)]
    text = PLANS.format(ways=len(plan_ways.WAYS), plans=len(entries()))
    return "\n".join([text, *table(plan_ways.WAYS, found), *escaped(found)]) + "\n"


def escaped(found: Iterable[Verdict]) -> list[str]:
    names = [f"* {one}" for one in found if one.escaped]
    return ["", "Escaped:", "", *names] if names else []


def kernels() -> str:
    """The second half of the page; two suites at a time."""
    with tempfile.TemporaryDirectory(prefix="ptogen-mutants-") as place, Pool(2) as pool:
        made = suites(Path(place))
        alike = {suite.key: suite for suite in made}
        judged_once = dict(zip(alike, pool.map(verdicts, alike.values(), chunksize=1), strict=True))
    found = [one for suite in made for one in judged_once[suite.key]]
    unclean = [one.entry for one in found if one.way == "as it is" and one.codes]
    assert not unclean, f"the sanitizer objects to {', '.join(unclean)}"
    found = [one for one in found if one.way != "as it is"]
    text = KERNELS.format(ways=len(cpp_ways.WAYS), most=made[0].most)
    return "\n".join([text, *table(cpp_ways.WAYS, found), *escaped(found)]) + "\n"


if __name__ == "__main__":
    print(plans() + ("" if "--plans" in sys.argv else kernels()), end="")
