"""The compiled host program against faulty kernels, damaged files and a failing runtime."""

from __future__ import annotations

import re

import numpy as np
import pytest
from handmade import COPIES, DEFINED, LOOSE, MASKED, SORTS, Workplace

PARTS = ("f32_part", "f16_part")
HALVES = ("f16_part", "f16_all")
COPY_CASES = tuple(f"copy_{dtype}" for dtype in COPIES)


def failed(workplace: Workplace, case: str, **environment: str) -> str:
    done = workplace.run(case, **environment)
    assert done.returncode == 1, done.stdout + done.stderr
    assert f"[  FAILED  ] HANDMADETest.{case}" in done.stdout
    assert "held at exit: 0 buffers, 0 streams, 0 devices, 0 initializations" in done.stdout
    return done.stdout


def test_right_kernels_pass(workplace: Workplace) -> None:
    done = workplace.run()
    assert done.returncode == 0, done.stdout
    assert f"[  PASSED  ] {len(SORTS) + len(COPIES) + len(LOOSE) + 1} tests." in done.stdout
    assert "held at exit: 0 buffers, 0 streams, 0 devices, 0 initializations" in done.stdout


def test_the_whole_output_is_written_to_a_file(workplace: Workplace) -> None:
    workplace.run("f32_part")
    output = (workplace.data("f32_part") / "output.bin").read_bytes()
    golden = (workplace.data("f32_part") / "golden.bin").read_bytes()
    assert len(output) == 3 * 50 * 8
    assert output[: 45 * 8] == golden[: 45 * 8] and output[400 : 400 + 45 * 8] == golden[45 * 8 :]
    outside = output[45 * 8 : 400] + output[400 + 45 * 8 :]
    assert 0x00 not in outside and 0xFF not in outside and len(set(outside)) > 60


RECORD = r"\{\S+ \(0x[0-9a-f]+\)(?: padding 0x[0-9a-f]{4})? index \d+ \(0x[0-9a-f]{8}\)\}"
DIFFER = rf"golden {RECORD}, actual {RECORD}"
KERNEL_FAULTS = [
    ("wrong_index", SORTS, r"dst: 1 difference:\n  dst\[row \d, record \d+\]: " + DIFFER),
    ("index_high_bit", SORTS, r"dst: 1 difference:\n  dst\[row \d, record \d+\]: " + DIFFER),
    ("swapped_records", SORTS, rf"dst: 2 differences:\n  dst\[row 0, record 0\]: {DIFFER}\n  dst\[row 0, record 1\]: "),
    ("nan", SORTS, r"dst: 1 difference:\n  dst\[row 0, record 3\]: golden .*, actual \{(NaN|3\.39\S+) "),
    ("one_ulp", SORTS, r"dst: 1 difference:\n  dst\[row 0, record 2\]: " + DIFFER),
    ("zero_sign", ("f32_all", "f16_part"), r"record \d+\]: golden \{-0 .* actual \{0 "),
    ("padding", HALVES, r"dst: 1 difference:\n  dst\[row 0, record 1\]: .*padding 0x0000 .*actual .*padding 0x0100 "),
    ("last_record_unwritten", SORTS, r"dst: 1 difference:\n  dst\[row \d, record \d+\]: " + DIFFER),
    ("unwritten", SORTS, r"differences, the first:\n  dst\[row 0, record 0\]: .* is the fill: was not written\n"),
    (
        "unwritten",
        COPY_CASES,
        r"14 differences, the first:\n  dst\[row 0, column 0\]: .* is the fill: was not written\n",
    ),
    (
        "one_ulp",
        COPY_CASES,
        r"dst: 1 difference:\n  dst\[row 0, column 0\]: golden \S+ \(0x\w+\), actual \S+ \(0x\w+\)\n",
    ),
    (
        "outside_columns",
        PARTS,
        r"dst: 1 difference:\n  dst\[row 0, record \d+\] outside the valid region: was written: ",
    ),
    (
        "outside_columns",
        COPY_CASES,
        r"dst: 1 difference:\n  dst\[row 0, column 7\] outside the valid region: was written",
    ),
    ("outside_rows", PARTS, r"dst: 1 difference:\n  dst\[row \d, record \d+\] outside the valid region: was written: "),
    ("outside_rows", COPY_CASES, r"dst: 1 difference:\n  dst\[row 2, column 8\] outside the valid region: was written"),
    (
        "byte_before",
        (*SORTS, *COPY_CASES),
        r"dst: 1 difference:\n  dst, byte 1 before the tensor: was written: fill 0x",
    ),
    ("byte_after", (*SORTS, *COPY_CASES), r"dst: 1 difference:\n  dst, byte 1 after the tensor: was written: fill 0x"),
    ("row_before", SORTS, r"dst: 1 difference:\n  dst, byte \d+ before the tensor: was written: fill 0x"),
    ("row_after", SORTS, r"dst: 1 difference:\n  dst, byte \d+ after the tensor: was written: fill 0x"),
    (
        "input_first",
        (*SORTS, *COPY_CASES),
        r"src: 1 difference:\n  src\[row 0, column 0\]: the input was written: \S+ \(",
    ),
    ("input_last", (*SORTS, *COPY_CASES), r"src: 1 difference:\n  src\[row \d, column \d+\]: the input was written: "),
    ("input_before", SORTS, r"src: 1 difference:\n  src, byte 1 before the tensor: was written: fill 0x"),
    ("input_after", SORTS, r"src: 1 difference:\n  src, byte 1 after the tensor: was written: fill 0x"),
    ("throws", SORTS, r"the kernel gave up\n"),
]


@pytest.mark.parametrize(
    ("fault", "case", "message"), [(fault, case, message) for fault, cases, message in KERNEL_FAULTS for case in cases]
)
def test_a_faulty_kernel_fails(workplace: Workplace, fault: str, case: str, message: str) -> None:
    assert re.search(message, failed(workplace, case, HOST_FAULT=fault))


def test_the_first_ten_differences_are_shown_and_all_are_counted(workplace: Workplace) -> None:
    text = failed(workplace, "f32_part", HOST_FAULT="every_byte")
    assert "dst: 150 differences, the first:" in text
    shown = re.findall(r"dst\[row (\d), record (\d+)\]", text)
    assert shown == [("0", str(record)) for record in range(10)]


@pytest.mark.parametrize(
    ("case", "bits", "text"),
    [
        ("copy_float32", "0000c07f", "NaN (0x7fc00000)"),
        ("copy_float32", "000080ff", "-inf (0xff800000)"),
        ("copy_float32", "00000080", "-0 (0x80000000)"),
        ("copy_float32", "01000000", "1.40129846e-45 (0x00000001)"),
        ("copy_float16", "007e", "NaN (0x7e00)"),
        ("copy_float16", "00fc", "-inf (0xfc00)"),
        ("copy_float16", "003e", "1.5 (0x3e00)"),
        ("copy_float16", "ff7b", "65504 (0x7bff)"),
        ("copy_float16", "0180", "-5.96046448e-08 (0x8001)"),
        ("copy_bfloat16", "c03f", "1.5 (0x3fc0)"),
        ("copy_bfloat16", "c07f", "NaN (0x7fc0)"),
        ("copy_int8", "80", "-128 (0x80)"),
        ("copy_int16", "feff", "-2 (0xfffe)"),
        ("copy_int32", "00000080", "-2147483648 (0x80000000)"),
        ("copy_int64", "ffffffffffffffff", "-1 (0xffffffffffffffff)"),
        ("copy_uint64", "ffffffffffffffff", "18446744073709551615 (0xffffffffffffffff)"),
    ],
)
def test_values_are_shown_as_numbers_and_as_bits(workplace: Workplace, case: str, bits: str, text: str) -> None:
    golden = workplace.data(case) / "golden.bin"
    value = bytes.fromhex(bits)
    golden.write_bytes(value + golden.read_bytes()[len(value) :])
    assert f"  dst[row 0, column 0]: golden {text}, actual " in failed(workplace, case)


def test_a_golden_nan_is_compared_by_its_bits(workplace: Workplace) -> None:
    data = workplace.data("copy_float32")
    for name in ("golden.bin", "input1.bin"):
        (data / name).write_bytes(bytes.fromhex("0100c07f") + (data / name).read_bytes()[4:])
    assert workplace.run("copy_float32").returncode == 0
    (data / "golden.bin").write_bytes(bytes.fromhex("0200c07f") + (data / "golden.bin").read_bytes()[4:])
    assert "golden NaN (0x7fc00002), actual NaN (0x7fc00001)" in failed(workplace, "copy_float32")


FILES = [(case, name) for case in ("f32_part", "f16_all") for name in ("input1", "input2", "golden")]
FILES += [("copy_int8", "input1"), ("copy_int8", "golden"), (MASKED, "golden"), (MASKED, "mask")]


@pytest.mark.parametrize(("case", "name"), FILES)
@pytest.mark.parametrize("damage", ["missing", "directory", "empty", "short", "long", "twice"])
def test_a_damaged_file_fails(workplace: Workplace, case: str, name: str, damage: str) -> None:
    path = workplace.data(case) / f"{name}.bin"
    good = path.read_bytes()
    size = len(good)
    path.unlink()
    bad = {"empty": b"", "short": good[:-1], "long": good + b"\0", "twice": good + good}
    if damage == "directory":
        path.mkdir()
    elif damage in bad:
        path.write_bytes(bad[damage])
    text = failed(workplace, case)
    found = f"{len(bad[damage])} bytes" if damage in bad else "(no file that can be read|0 bytes)"
    assert re.search(rf"HANDMADETest\.{case}/{name}\.bin: expected {size} bytes, found {found}\n", text)
    assert not (workplace.data(case) / "output.bin").exists()


@pytest.mark.parametrize("fault", ["first_undefined", "every_undefined"])
def test_undefined_bytes_of_a_masked_output_may_be_anything(workplace: Workplace, fault: str) -> None:
    done = workplace.run(MASKED, HOST_FAULT=fault)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("one_ulp", r"dst: 1 difference:\n  dst\[row 0, column 0\]: golden "),
        ("last_defined", r"dst: 1 difference:\n  dst\[row 1, column 3\]: golden "),
        ("outside_columns", r"dst: 1 difference:\n  dst\[row 0, column 7\] outside the valid region: was written: "),
        ("outside_rows", r"dst: 1 difference:\n  dst\[row 2, column 8\] outside the valid region: was written: "),
        ("byte_after", r"dst: 1 difference:\n  dst, byte 1 after the tensor: was written: "),
        ("unwritten", r"dst: 11 differences, the first:\n  dst\[row 0, column 0\]: .* is the fill: was not written\n"),
    ],
)
def test_every_other_byte_of_a_masked_output_counts(workplace: Workplace, fault: str, message: str) -> None:
    assert re.search(message, failed(workplace, MASKED, HOST_FAULT=fault))


def test_the_mask_says_which_byte_counts(workplace: Workplace) -> None:
    data = workplace.data(MASKED)
    golden = bytearray((data / "golden.bin").read_bytes())
    for at in (0, DEFINED - 1, DEFINED, len(golden) - 1):
        spoilt = bytearray(golden)
        spoilt[at] ^= 1
        (data / "golden.bin").write_bytes(spoilt)
        assert workplace.run(MASKED).returncode == (1 if at < DEFINED else 0), at


@pytest.mark.parametrize("defined", [0, 1, DEFINED - 1])
def test_a_mask_that_defines_too_little_fails(workplace: Workplace, defined: int) -> None:
    mask = workplace.data(MASKED) / "mask.bin"
    mask.write_bytes(bytes([1]) * defined + bytes(len(mask.read_bytes()) - defined))
    text = failed(workplace, MASKED)
    assert f"mask.bin: {defined} bytes of the golden are defined, expected at least {DEFINED}\n" in text


FLOATS = {
    "float32": ("<u4", 0x3F800000, 0x7F800000, 0x7FC00000, 0x80000000),
    "float16": ("<u2", 0x3C00, 0x7C00, 0x7E00, 0x8000),
    "bfloat16": ("<u2", 0x3F80, 0x7F80, 0x7FC0, 0x8000),
}
"""Of each type: its bits in NumPy, those of 1, of infinity, of a NaN, and the sign."""


def spoilt(workplace: Workplace, case: str, golden: int, actual: int, **environment: str) -> bool:
    """Whether a case passes whose first element should be one value and is another."""
    bits = FLOATS[case.rpartition("_")[2]][0]
    for name, value in (("golden", golden), ("input1", actual)):
        file = workplace.data(case) / f"{name}.bin"
        word = np.array([value], bits).tobytes()
        file.write_bytes(word + file.read_bytes()[len(word) :])
    return workplace.run(case, **environment).returncode == 0


@pytest.mark.parametrize("dtype", LOOSE)
def test_a_float_may_be_off_by_as_many_units_as_its_record_says(workplace: Workplace, dtype: str) -> None:
    _, one, infinity, nan, sign = FLOATS[dtype]
    case = f"loose_{dtype}"
    for golden, actual, passes in (
        (one, one + 2, True),
        (one, one - 2, True),
        (one, one + 3, False),
        (one, one - 3, False),
        (sign | one, (sign | one) + 2, True),
        (sign | one, one, False),
        (0, sign, True),
        (1, sign | 1, True),
        (1, sign | 2, False),
        (nan, nan + 1, True),
        (nan, sign | nan, True),
        (nan, infinity, False),
        (one, nan, False),
        (infinity, infinity, True),
        (infinity, infinity - 1, False),
        (infinity - 1, infinity, False),
        (infinity, sign | infinity, False),
    ):
        assert spoilt(workplace, case, golden, actual) == passes, (hex(golden), hex(actual))


@pytest.mark.parametrize("dtype", LOOSE)
def test_without_a_bound_floats_are_compared_bit_for_bit(workplace: Workplace, dtype: str) -> None:
    _, one, _, nan, sign = FLOATS[dtype]
    for golden, actual in ((one, one + 1), (0, sign), (nan, nan + 1)):
        assert not spoilt(workplace, f"copy_{dtype}", golden, actual)


@pytest.mark.parametrize("exact", ["", "0"])
@pytest.mark.parametrize("dtype", LOOSE)
def test_a_device_has_the_bound_of_the_isas_own_tests(workplace: Workplace, dtype: str, exact: str) -> None:
    """0.001 absolutely or relatively, and 0.01 of bfloat16, whose neighbours are further apart than that."""
    bits, one, infinity, nan, sign = FLOATS[dtype]
    place = {"float32": 1 << 13, "float16": 1, "bfloat16": 1}[dtype]
    wide = {"float32": 1 << 14, "float16": 2, "bfloat16": 2}[dtype]
    for case in (f"copy_{dtype}", f"loose_{dtype}"):
        for golden, actual, passes in (
            (one, one + place, True),
            (one, one - place, True),
            (one, one + 4 * wide, False),
            (one, sign | one, False),
            (0, sign, True),
            (1, sign | 2, True),
            (nan, nan + 1, True),
            (nan, one, False),
            (one, nan, False),
            (infinity, infinity - 1, False),
            (infinity, sign | infinity, False),
        ):
            assert spoilt(workplace, case, golden, actual, PTOGEN_EXACT=exact) == passes, (hex(golden), hex(actual))


@pytest.mark.parametrize("case", ["copy_int32", "copy_int8", "f32_part", "f16_part"])
def test_integers_and_records_have_no_bound(workplace: Workplace, case: str) -> None:
    failed(workplace, case, HOST_FAULT="one_ulp", PTOGEN_EXACT="0")


def test_every_damaged_file_is_named_in_one_run(workplace: Workplace) -> None:
    for name in ("input1", "input2", "golden"):
        (workplace.data("f32_part") / f"{name}.bin").unlink()
    text = failed(workplace, "f32_part")
    assert all(f"{name}.bin: expected" in text for name in ("input1", "input2", "golden"))


def test_a_missing_data_directory_fails(workplace: Workplace) -> None:
    workplace.data("f32_all").rename(workplace.root / "elsewhere")
    assert "../HANDMADETest.f32_all/golden.bin: expected 1024 bytes, found no file" in failed(workplace, "f32_all")


@pytest.mark.parametrize("case", [*SORTS, *COPY_CASES])
def test_every_flipped_byte_of_a_golden_record_fails(workplace: Workplace, case: str) -> None:
    path = workplace.data(case) / "golden.bin"
    good = path.read_bytes()
    for at in (*range(8), len(good) // 2, len(good) - 1):
        path.write_bytes(good[:at] + bytes([good[at] ^ 1]) + good[at + 1 :])
        assert "dst: 1 difference:" in failed(workplace, case)


def test_a_changed_input_changes_the_result(workplace: Workplace) -> None:
    path = workplace.data("f32_part") / "input2.bin"
    good = path.read_bytes()
    path.write_bytes(bytes([good[0] ^ 1]) + good[1:])
    assert "dst: 1 difference:" in failed(workplace, "f32_part")


def test_an_old_output_does_not_outlive_a_failed_run(workplace: Workplace) -> None:
    assert workplace.run("f32_part").returncode == 0
    assert (workplace.data("f32_part") / "output.bin").exists()
    failed(workplace, "f32_part", HOST_FAULT="throws")
    assert not (workplace.data("f32_part") / "output.bin").exists()


def test_an_output_that_cannot_be_written_fails(workplace: Workplace) -> None:
    (workplace.data("f32_part") / "output.bin" / "in_the_way").mkdir(parents=True)
    assert "output.bin: cannot be written" in failed(workplace, "f32_part")


CALLS = [
    *(f"{name}:1" for name in ("aclInit", "aclrtSetDevice", "aclrtCreateStream", "aclrtSynchronizeStream")),
    *(f"{name}:1" for name in ("aclrtDestroyStream", "aclrtResetDevice", "aclFinalize")),
    *(f"aclrtMalloc:{call}" for call in (1, 2, 3)),
    *(f"aclrtFree:{call}" for call in (1, 2, 3)),
    *(f"aclrtMemcpy:{call}" for call in range(1, 7)),
]


@pytest.mark.parametrize("fault", CALLS)
def test_a_failing_runtime_call_fails_the_case_and_releases_everything(workplace: Workplace, fault: str) -> None:
    text = failed(workplace, "f32_part", ACL_FAULT=fault)
    assert re.search(rf"{fault.split(':')[0]}\(.*\) returned \d+: the stub was told to fail\n", text)
