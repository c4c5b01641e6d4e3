"""Whatever the file holds, the answer is suites or messages with a place: never a traceback."""

from __future__ import annotations

import random
import re
from pathlib import Path

import yaml
from fake_ops import OPS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ptogen.errors import PtogenError
from ptogen.spec.load import load_text
from ptogen.spec.model import Suite

VALID = (Path(__file__).parent / "fixtures" / "fine.yaml").read_text()
TRAPS = """no yes on off ~ null true 010 08 1:30 1:30.5 1e3 1_000 0x20 0x 0b11 -0 -1 .inf .nan 32.0 "32" '32'
    2024-01-01 2024-99-99 <<: <<: *a &a *a [*a] {<<: *a} !!int !foo | > ? - : , [ ] { } # % @ ` " ' \\ --- ... op
    platform cases name rows valid ub data matrix ../x.npy 9999999999999999999 \u00e9 \u202e \u2028 \x85 \x00 \t =
    == [] {} [1] {a: 1}""".split(" ")
QUICK = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def judge(text: str | bytes) -> None:
    try:
        suites = load_text(text, "spec.yaml", ops=OPS)
    except PtogenError as error:
        assert error.diagnostics
        places = [fault.position for fault in error.diagnostics]
        assert all(place.file == "spec.yaml" and place.line >= 1 and place.column >= 1 for place in places)
        assert places == sorted(places)
        lines = str(error)
        ours = re.sub("`.*`", "", lines)  # without the user's own words
        for foreign in ("Traceback", "pydantic", "yaml.", "Odd(", "NoneType", "<class", "object at", "Input should"):
            assert foreign not in ours
        assert all(char.isprintable() or char == "\n" for char in lines)
    else:
        assert suites and all(isinstance(suite, Suite) and suite.cases for suite in suites)
        for suite in suites:
            assert len({case.name for case in suite.cases}) == len(suite.cases)


@QUICK
@given(st.binary(max_size=200))
def test_bytes(data):
    judge(data)


@QUICK
@given(st.text(max_size=200))
def test_text(text):
    judge(text)


@settings(QUICK, max_examples=700)
@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_mutations(rng: random.Random, count: int):
    text = VALID
    for _ in range(count):
        lines = text.split("\n")
        place = rng.randrange(len(lines))
        words = lines[place].split(" ")
        match rng.randrange(6):
            case 0:
                del lines[place]
            case 1:
                lines.insert(place, lines[rng.randrange(len(lines))])
            case 2:
                lines.insert(
                    place, " " * rng.randrange(5) + rng.choice(TRAPS) + rng.choice((": ", " ", "")) + rng.choice(TRAPS)
                )
            case 3:
                words[rng.randrange(len(words))] = rng.choice(TRAPS)
                lines[place] = " ".join(words)
            case 4:
                at = rng.randrange(len(lines[place]) + 1)
                lines[place] = lines[place][:at] + rng.choice(TRAPS) + lines[place][at + rng.randrange(3) :]
            case 5:
                lines[place] = lines[place][: rng.randrange(len(lines[place]) + 1)]
        text = "\n".join(lines)
        if not text:
            break
    judge(text)


KEYS = st.sampled_from(
    "op platform mode name cases dtype rows cols valid idx data seed ub "
    "lists weights ways exhausted idx_dtype block_len x".split()
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.dates(),
    st.text(max_size=5),
    st.sampled_from("sort merge a2a3 cpu manual auto float32 half per_row ties x.npy".split()),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS | st.text(max_size=3), inner, max_size=5),
    max_leaves=12,
)
CASES = st.dictionaries(KEYS, VALUES, max_size=8)


@QUICK
@given(
    st.fixed_dictionaries({"op": st.sampled_from(sorted(OPS)), "platform": VALUES}), CASES, st.lists(CASES, max_size=3)
)
def test_structures(head, single, cases):
    judge(yaml.safe_dump({**head, **single}, allow_unicode=True))
    judge(yaml.safe_dump({**single, **head, "platform": "a2a3", "cases": cases}))
    judge(yaml.safe_dump(single, default_flow_style=True))
