"""Every way of spoiling a TPART plan that we could think of is seen by the checker; see ``test_mutations.py``."""

from __future__ import annotations

import pytest
from test_mutations import mutants

from ptogen.check import check
from ptogen.ops import catalogue
from ptogen.plan.model import KernelPlan
from ptogen.plan.planner import plan_case
from ptogen.platforms import PLATFORMS

CASES = [
    ("a2a3", "tpartmin", {"dtype": "float32", "dst": (16, 32), "src0": (16, 32), "src1": (8, 32)}),
    ("a2a3", "tpartadd", {"dtype": "int16", "dst": (3, 13), "src0": (2, 7), "src1": (3, 13)}),
    ("a2a3", "tpartmul", {"dtype": "float16", "dst": (2, 200), "src0": (0, 200), "src1": (2, 200)}),
    (
        "a2a3", "tpartargmax",
        {"dtype": "float16", "idx_dtype": "int32", "dst": (2, 130), "src0": (2, 130), "src1": (1, 130)},
    ),
    ("a5", "tpartmax", {"dtype": "int64", "dst": (2, 100), "src0": (2, 100), "src1": (1, 100)}),
    ("a5", "tpartargmin", {"dtype": "float32", "idx_dtype": "uint32", "dst": (2, 5), "src0": (2, 5), "src1": (2, 5)}),
    ("kirin9030", "tpartmin", {"dtype": "uint8", "dst": (5, 40), "src0": (5, 39), "src1": (5, 40)}),
    ("cpu", "tpartargmax", {"dtype": "float16", "idx_dtype": "int32", "dst": (2, 5), "src0": (2, 5), "src1": (1, 5)}),
]  # fmt: skip


def planned(platform: str, name: str, fields: dict) -> KernelPlan:
    op, row = catalogue()[name], PLATFORMS[platform]
    return plan_case(op, op.Case(name="case", **fields), row, "manual", row.ub_bytes)


MUTANTS = [
    pytest.param(platform, name, mutant, id=f"{platform}-{name}-{what}".replace(" ", "_"))
    for platform, name, fields in CASES
    for what, mutant in mutants(planned(platform, name, fields))
]


@pytest.mark.parametrize(("platform", "name", "fields"), CASES)
def test_the_plan_itself_is_sound(platform, name, fields):
    assert check(planned(platform, name, fields), catalogue()[name], PLATFORMS[platform]) == []


@pytest.mark.parametrize(("platform", "name", "mutant"), MUTANTS)
def test_every_mutant_is_caught(platform, name, mutant):
    assert check(mutant, catalogue()[name], PLATFORMS[platform])


def test_there_are_many():
    assert len(MUTANTS) > 300
