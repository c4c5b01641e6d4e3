"""A single kernel file, driven by calls or by a spec."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from ptogen.cli import cli
from ptogen.sanitize import driver

SINGLE = Path(__file__).parent / "fixtures" / "single.cpp"
SPEC = "op: tsort32\nplatform: a2a3\ncases:\n  - {dtype: float32, rows: 2, cols: 13, name: one}\n"


@pytest.fixture(autouse=True)
def _tools(headers, toolchain):
    """The command finds the same headers and compiler by itself."""


def run(*words: object):
    return CliRunner().invoke(cli, ["sanitize", *map(str, words)])


def call(*calls: str):
    return run(SINGLE, "--platform", "a2a3", *(word for text in calls for word in ("--call", text)))


def test_calls_of_one_file():
    """Template arguments that are given and that are deduced, pointers to void, streams, and scalars."""
    result = call(
        "scale::LaunchScale<8, 64, float>(float32[8,64], float32[8,64], float=1.5)",
        "scale::LaunchScale<8,64>(int32[8,64], int32[512], float=2)",
        "LaunchBytes(half[4,32], half[4,32])",
        "LaunchBytes(half[4,32], half[4,32])",
        "call(float32[4,32])",
    )
    assert result.exit_code == 0, result.output
    assert "5 cases, 45 steps: no findings" in result.output


@pytest.mark.parametrize("name", ["Run", "SetUp", "TestBody", "HasFailure"])
def test_a_function_called_like_a_member_of_a_test(tmp_path, name):
    kernel = tmp_path / "kernel.cpp"
    text = f"#include <pto/pto-inst.hpp>\nvoid {name}(float* out) {{ pipe_barrier(PIPE_ALL); }}\n"
    kernel.write_text(text, encoding="utf-8")
    result = run(kernel, "--platform", "a2a3", "--call", f"{name}(float32[8])", "--call", f"::{name}(float32[8])")
    assert result.exit_code == 0, result.output


def test_a_call_that_ends_by_an_exception_is_incomplete(tmp_path):
    kernel = tmp_path / "kernel.cpp"
    kernel.write_text(
        "#include <pto/pto-inst.hpp>\n#include <stdexcept>\n"
        'void Launch(float* out) { pipe_barrier(PIPE_ALL); throw std::runtime_error("no \\"way\\"\\n"); }\n'
        "void Odd(float* out) { pipe_barrier(PIPE_ALL); throw 1; }\n"
        "void Nothing(float* out) {}\n",
        encoding="utf-8",
    )
    words = ["--call", "Launch(float[8])", "--call", "Odd(float[8])", "--call", "Nothing(float[8])"]
    result = run(kernel, "--platform", "a2a3", *words)
    assert result.exit_code == 2, result.output
    says = 'C++ exception with description "no "way" " thrown in the test body'
    assert f"Call.Launch: incomplete: {says}" in result.output
    assert "Call.Odd: incomplete: Unknown C++ exception thrown in the test body" in result.output
    assert "Call.Nothing: incomplete: nothing was recorded" in result.output


def test_names_of_cases_differ():
    made = driver.numbered([driver.parse(f"{name}(int8[2])") for name in ("F", "F", "F_2", "F")])
    assert [one.case for one in made] == ["F", "F_2", "F_2_2", "F_3"]


@pytest.mark.parametrize("number", ["0", "-7", "0x1F", "1e3", "5.", "true", "-2147483648"])
def test_numbers(number):
    (argument,) = driver.parse(f"F(int={number})").arguments
    assert argument.value == number


@pytest.mark.parametrize("number", ["08", "010", "0x", "five", "1;"])
def test_no_numbers(number):
    with pytest.raises(ValueError, match="is no number, true or false"):
        driver.parse(f"F(int={number})")


@pytest.mark.parametrize("scalar", ["uint8=255", "bool=1", "size_t=18446744073709551615", "half=-65504", "float=0.1"])
def test_numbers_that_their_type_holds(scalar):
    (argument,) = driver.parse(f"F({scalar})").arguments
    assert argument.value == scalar.partition("=")[2]


@pytest.mark.parametrize(
    ("scalar", "takes"),
    [
        ("int=5.5", "whole numbers from -2147483648 to 2147483647"),
        ("int=2147483648", "whole numbers from -2147483648 to 2147483647"),
        ("uint8=0x100", "whole numbers from 0 to 255"),
        ("size_t=-1", "whole numbers from 0 to 18446744073709551615"),
        ("bool=2", "whole numbers from 0 to 1"),
        ("half=65505", "numbers up to 65504"),
        ("float=1e39", "numbers up to 3.40282e+38"),
        ("double=1e9999999", "numbers up to 1.79769e+308"),
        ("double=1e99999999999999999999", "numbers up to 1.79769e+308"),
    ],
)
def test_numbers_that_their_type_does_not_hold(scalar, takes):
    name, _, number = scalar.partition("=")
    with pytest.raises(ValueError) as caught:
        driver.parse(f"F({scalar})")
    assert str(caught.value) == f"{scalar!r}: {name} does not hold {number}; it takes {takes}"


def test_functions_are_found_behind_a_long_table():
    """Each place of which would be tried as the beginning of a function, by a pattern that may begin anywhere."""
    text = f"static const int kTable[] = {{{'1, ' * 100_000}}};\nnamespace a {{\nvoid Launch(int x) {{ f(x); }}\n}}\n"
    assert [str(one) for one in driver.functions(text)] == ["Launch(int x)"]


def test_odd_signs_in_the_path(tmp_path):
    place = tmp_path / 'a "b" \\ c\nd'
    place.mkdir()
    shutil.copyfile(SINGLE, place / "single.cpp")
    result = run(place / "single.cpp", "--platform", "a2a3", "--call", "LaunchBytes(half[4,32], half[4,32])")
    assert result.exit_code == 0, result.output


def test_shapes_are_the_bounds_of_gm():
    result = run(
        SINGLE, "--platform", "a2a3", "--format", "json", "--call", "LaunchBytes(float16[3,32], float16[2,64])"
    )
    assert result.exit_code == 1
    (case,) = json.loads(result.stdout)["kernels"][0]["cases"]
    assert case["name"] == "Call.LaunchBytes"
    (finding,) = case["findings"]
    assert finding["code"] == "PTG405"
    assert finding["message"].startswith("it writes bytes 0 to 256 of out, which has 192 B in GM")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("LaunchScala(float32[8])", "it has no function LaunchScala, which LaunchScala(float32[8]) calls"),
        ("LaunchBytes(float16[8])", "no function fits the call LaunchBytes(float16[8])"),
    ],
)
def test_a_call_that_fits_no_function(text, says):
    result = call(text)
    assert result.exit_code == 2
    assert f"{SINGLE}: error PTG509: {says}" in result.output
    assert "it has LaunchBytes(void* out, void* src, aclrtStream stream)" in result.output
    assert "it has LaunchScale(T* out, T* src, float factor, void* stream), such as LaunchScale<8, 64, float>" in (
        result.output
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("LaunchBytes", "'LaunchBytes' is no call; it looks like"),
        ("LaunchBytes()", "passes no tensor"),
        ("LaunchBytes(flaot32[2])", "there is no dtype 'flaot32'; did you mean float32? There are"),
        ("LaunchBytes(foo[2])", "there is no dtype 'foo'. There are"),
        ("LaunchBytes(float32[2,0])", "a shape is a list of positive numbers"),
        ("LaunchBytes(float32[2,])", "a shape is a list of positive numbers"),
        ("LaunchBytes(float32[99999,99999])", "has more than 1,073,741,824 B"),
        ("LaunchBytes(float32[99999999999])", "has more than 1,073,741,824 B; give a smaller shape"),
        (f"LaunchBytes(float32[{'9' * 5000}])", "has more than 1,073,741,824 B; give a smaller shape"),
        ("LaunchBytes(int=x)", "'x' is no number"),
        ("LaunchBytes(float32[2], 5)", "'5' is neither a tensor"),
    ],
)
def test_a_call_that_cannot_be_read(text, says):
    result = call(text)
    assert result.exit_code == 2
    assert says in result.output
    assert "'--call'" in result.output


def test_a_file_that_nothing_drives():
    result = run(SINGLE, "--platform", "a2a3")
    assert result.exit_code == 2
    assert "PTG507: nothing says how to call the kernel" in result.output
    assert "it has LaunchBytes(" in result.output
    assert "--call 'FUNCTION(" in result.output


def test_calls_take_one_file(tmp_path):
    for words, says in (
        ([SINGLE.parent, "--call", "f(int8[1])"], "take one FILE.cpp"),
        ([SINGLE, SINGLE, "--call", "f(int8[1])"], "take one FILE.cpp"),
        ([SINGLE, "--call", "f(int8[1])", "--spec", "x.yaml"], "exclude one another"),
        ([SINGLE, "--spec", tmp_path / "x.yaml"], "PTG100"),
    ):
        result = run(*words)
        assert result.exit_code == 2, words
        assert says in result.output


def test_a_rendered_kernel_and_its_spec(tmp_path):
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC, encoding="utf-8")
    CliRunner().invoke(cli, ["kernel", str(spec), "-o", str(tmp_path / "out")])
    (rendered,) = (tmp_path / "out").rglob("*_kernel.cpp")
    kernel = tmp_path / "mine.cpp"
    shutil.copyfile(rendered, kernel)
    result = run(kernel, "--spec", spec)
    assert result.exit_code == 0, result.output
    assert "mine.cpp (a2a3): 1 case," in result.output
    # The file does not fit its spec any more: the tensor ends before what the kernel reads.
    spec.write_text(SPEC.replace("rows: 2", "rows: 1"), encoding="utf-8")
    result = run(kernel, "--spec", spec, "--format", "json")
    assert result.exit_code == 1
    (case,) = json.loads(result.stdout)["kernels"][0]["cases"]
    assert case["name"] == "TSORT32Test.one"
    assert {finding["code"] for finding in case["findings"]} == {"PTG405"}
    assert {finding["ranges"][0]["name"] for finding in case["findings"]} == {"src", "idx", "dst"}
    spec.write_text(SPEC.replace("platform: a2a3", "platform: [a2a3, a5]"), encoding="utf-8")
    result = run(kernel, "--spec", spec)
    assert result.exit_code == 2
    assert "has suites for a2a3, a5; give --platform" in result.output
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.cpp", "out", "spec.yaml"]


def test_functions_of_a_file():
    text = """
    // void Comment(float* a) {}
    #define LAUNCH(T) void Made(T* a) { }
    AICORE inline void Device(__gm__ float* a) { if (a) { Use(a); } for (;;) { } }
    extern "C" void One(void* out, const float *src, void* stream) { Device<<<1, 0, stream>>>(src); }
    namespace n { template <typename T, int k> void Two(T* a) { Run<T>(a); } }
    template void n::Two<float, 3>(float* a);
    template void n::Two<int, 4>(int* a);
    """
    assert [str(one) for one in driver.functions(text)] == [
        "One(void* out, const float *src, void* stream)",
        "Two(T* a), such as Two<float, 3> and 1 more",
    ]
    assert driver.functions(text)[0].names == ("out", "src", "stream")
    (device,) = driver.functions("__global__ AICORE void Run(__gm__ float* a) { }")
    assert str(device) == "Run(__gm__ float* a)"
