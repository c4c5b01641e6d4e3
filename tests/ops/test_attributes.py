"""What an instruction takes besides tiles: each type's text for people, in C++ and in PTO assembly."""

from __future__ import annotations

import pytest

from ptogen.dtypes import FLOAT16, FLOAT32
from ptogen.ops.attributes import COMPARE, PATTERN, ROUND, Attribute, Bool, Enum, Float, Int
from ptogen.ops.base import Op
from ptogen.ops.record import Form, slots
from ptogen.plan.model import Instruction, KernelPlan, Tile
from ptogen.render.kernel import kernel_cpp, kernels
from ptogen.render.plan_text import as_text

ROUNDING, MODE, MASK = Enum("round", ROUND), Enum("cmp", COMPARE), Enum("pattern", PATTERN)


@pytest.mark.parametrize(
    ("attribute", "value", "text", "cpp", "assembly"),
    [
        (Int("axis"), -3, "-3", "-3", "-3"),
        (Bool("wide"), True, "true", "true", "true"),
        (Float("scalar"), 0.1, "0.1", "0.1f", "1.000000e-01"),
        (Float("scalar"), 1e-06, "1e-06", "1e-06f", "1.000000e-06"),
        (Float("scalar", FLOAT16), 2.0, "2.0", "static_cast<half>(2.0f)", "2.000000e+00"),
        (ROUNDING, "rint", "rint", "RoundMode::CAST_RINT", "#pto<round_mode CAST_RINT>"),
        (MODE, "lt", "lt", "CmpMode::LT", "#pto<cmp lt>"),
        (MASK, "P0101", "P0101", "MaskPattern::P0101", "#pto.mask_pattern<P0101>"),
    ],
)
def test_each_type_has_its_texts(attribute: Attribute, value, text: str, cpp: str, assembly: str) -> None:
    assert attribute.of({attribute.name: value}) == value
    assert (attribute.text(value), attribute.cpp(value), attribute.assembly(value)) == (text, cpp, assembly)


@pytest.mark.parametrize(
    ("attribute", "value"),
    [(Int("n"), True), (Int("n"), 1.0), (Bool("n"), 1), (Float("n"), 1), (MODE, "less"), (ROUNDING, "CAST_RINT")],
)
def test_a_value_of_another_type_is_refused(attribute: Attribute, value) -> None:
    with pytest.raises(TypeError, match=attribute.name):
        attribute.of({attribute.name: value})


def test_a_scalar_that_cpp_has_no_literal_for_is_refused() -> None:
    with pytest.raises(ValueError, match="no literal"):
        Float("scalar").cpp(float("inf"))


class Compare(Op):
    """An op made for the test: dst = src0 compared with a scalar, rounded."""

    def cpp(self, tiles, types, attributes):
        values = [self.attribute(name).cpp(value) for name, value in attributes.items()]
        return [f"TCMPS({', '.join([*tiles.values(), *values])});"]


def test_a_plan_and_a_kernel_show_them() -> None:
    op = Compare(
        "TCMPS", "tcmps", (), (), forms=(Form(slots("dst+ src")),), attributes=(Float("scalar"), MODE, Bool("wide"))
    )
    tiles = tuple(Tile(FLOAT32, 1, 8, 1, 8, name, name, 32, 32 * at) for at, name in enumerate(("dst", "src")))
    step = Instruction(
        op,
        tuple((tile.name, tile.window) for tile in tiles),
        attributes=(("scalar", 0.5), ("cmp", "ge"), ("wide", False)),
    )
    plan = KernelPlan("case", "tcmps", "a2a3", "manual", 96, (), tiles, (step,), 0)
    assert "tcmps    dst, src, scalar=0.5, cmp=ge, wide=false" in as_text(plan)
    assert "TCMPS(dstTile, srcTile, 0.5f, CmpMode::GE, false);" in kernel_cpp(kernels([plan]), "")
