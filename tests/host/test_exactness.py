"""From the record to the comparison: an op with a bound on its output and a domain of its input."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from handmade import HERE

from ptogen.backend.toolchain import Toolchain
from ptogen.dtypes import DTYPES
from ptogen.golden.data import values_within
from ptogen.graph.model import Graph
from ptogen.ops.base import Op
from ptogen.ops.case import CaseFields
from ptogen.ops.record import Form, slots
from ptogen.ops.sizing import Role, Tensor
from ptogen.plan.model import KernelPlan
from ptogen.platforms import PLATFORMS
from ptogen.render import golden, host
from ptogen.spec.model import Marks, Suite

DOMAIN = (0.25, 9.0)
ULP = 2
GOLDEN = '''
"""Square roots."""

from __future__ import annotations

import numpy as np

from ptogen.golden.data import values_within


def generate(
    *, dtype: str, rows: int, cols: int, data: str, seed: int, domains: dict[str, tuple[float, float]]
) -> dict[str, np.ndarray]:
    src = values_within(domains["src"], data, dtype, rows, cols, seed)
    return {"src": src, "dst": np.sqrt(src)}
'''
KERNEL = """
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

void LaunchCase(const std::string& name, void* const* gm, void*)
{
    float* dst = static_cast<float*>(gm[0]);
    const float* src = static_cast<const float*>(gm[1]);
    const int units = name == "root" ? std::atoi(std::getenv("OFF_BY")) : 0;
    for (int i = 0; i < 4 * 16; ++i) {
        dst[i] = std::sqrt(src[i]);
        for (int step = 0; step < units; ++step) {
            dst[i] = std::nextafter(dst[i], std::numeric_limits<float>::infinity());
        }
    }
}
"""


class Root(Op):
    golden_module = "root"

    def golden_params(self, case: Any, base: pathlib.Path) -> dict[str, Any]:
        return {"dtype": "float32", "rows": 4, "cols": 16, "data": case.data, "seed": case.seed}

    def tensors(self, case: Any) -> tuple[Tensor, ...]:
        dtype = DTYPES["float32"]
        return (
            Tensor("dst", dtype, 4, 16, 4, 16, Role.OUT, ulp=ULP),
            Tensor("src", dtype, 4, 16, 4, 16, Role.IN, domain=DOMAIN),
        )


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory, toolchain: Toolchain) -> pathlib.Path:
    """A suite of the op, its data made and its host program built."""
    root = tmp_path_factory.mktemp("root")
    modules = root / "golden"
    shutil.copytree(golden.GOLDEN, modules)
    (modules / "root.py").write_text(GOLDEN, encoding="utf-8")
    op = Root("TSQRT", "root", (), (), forms=(Form(slots("dst+ src")),))
    case = CaseFields(name="root")
    suite = Suite(Graph.of(op), PLATFORMS["a2a3"], "manual", "root", (case,), 196_608, Marks("root.yaml", {}), ((),))
    plan = KernelPlan("root", "root", "a2a3", "manual", 196_608, op.tensors(case), (), (), 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(golden, "GOLDEN", modules)
        text = host.gen_data(suite, [plan], "")
    header, harness = host.harness(None)
    name = header.rpartition("/")[2]
    texts = {
        "gen_data.py": text,
        name: harness,
        "main.cpp": host.main_cpp(suite, [plan], "", name),
        "kernel.cpp": KERNEL,
    }
    for file, content in texts.items():
        (root / file).write_text(content, encoding="utf-8")
    subprocess.run([sys.executable, "-I", "gen_data.py"], cwd=root, check=True)
    (root / "bin").mkdir()
    command = [*toolchain.compiler.command, "-std=c++17", "-O1", f"-I{HERE / 'stub'}", "main.cpp", "kernel.cpp"]
    command += ["-o", "bin/program", "-lgtest", "-lgtest_main", "-pthread"]
    subprocess.run(command, cwd=root, check=True)
    return root / "bin" / "program"


@pytest.mark.parametrize(
    ("exact", "units", "passes"),
    [("1", 0, True), ("1", ULP, True), ("1", ULP + 1, False), ("0", ULP + 1, True), ("0", 1 << 15, False)],
)
def test_the_bound_of_a_record_is_that_of_the_comparison(
    program: pathlib.Path, exact: str, units: int, passes: bool
) -> None:
    environment = {**os.environ, "PTOGEN_EXACT": exact, "OFF_BY": str(units)}
    done = subprocess.run([program], cwd=program.parent, env=environment, capture_output=True, text=True)
    assert (done.returncode == 0) == passes, done.stdout


def test_the_domain_of_a_record_is_that_of_the_data(program: pathlib.Path) -> None:
    values = np.fromfile(program.parent.parent / "ROOTTest.root" / "input1.bin", "<f4")
    assert len(values) == 64 and len(set(values)) > 60
    assert DOMAIN[0] <= values.min() < 1 and 8 < values.max() <= DOMAIN[1]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("kind", ["random", "ties", "sorted", "reversed", "extremes"])
@pytest.mark.parametrize("domain", [(0.1, 0.3), (-2.0, 5.0), (1.0 / 3.0, 1.0 / 3.0 + 0.01), (-65504.0, 65504.0)])
def test_every_kind_of_data_stays_in_its_domain(domain: tuple[float, float], kind: str, dtype: str) -> None:
    values = values_within(domain, kind, dtype, 8, 33, 5)
    assert values.dtype.name == dtype and values.shape == (8, 33)
    exact = values.astype(np.float64)
    assert domain[0] <= exact.min() and exact.max() <= domain[1]
    if kind in ("ties", "extremes"):
        width = domain[1] - domain[0]
        assert exact.min() < domain[0] + width / 50 and exact.max() > domain[1] - width / 50
    order = {"sorted": np.sort(values, axis=1), "reversed": np.sort(values, axis=1)[:, ::-1]}
    assert np.array_equal(values, order.get(kind, values))
