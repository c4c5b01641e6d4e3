"""From spec text to suites, and every message on the way, kept whole in ``fixtures/<name>.txt``."""

from __future__ import annotations

import cProfile
import os
from pathlib import Path

import pytest
import yaml
from fake_ops import OPS

from ptogen.errors import Position, PtogenError
from ptogen.ops import catalogue
from ptogen.spec import document, load
from ptogen.spec.faults import clip, listing, suggest
from ptogen.spec.load import load_text

FIXTURES = Path(__file__).parent / "fixtures"
HEAD = "op: sort\nplatform: a2a3\n"
CASE = "dtype: float32\nrows: 2\ncols: 32\n"


def fail(text: str | bytes, **options) -> PtogenError:
    with pytest.raises(PtogenError) as caught:
        load_text(text, "spec.yaml", ops=OPS, **options)
    return caught.value


def codes(text: str | bytes) -> list[str]:
    return [each.code for each in fail(text).diagnostics]


@pytest.mark.parametrize("name", sorted(path.stem for path in FIXTURES.glob("*.txt")))
def test_messages(name, monkeypatch):
    monkeypatch.chdir(FIXTURES)
    file = f"{name}.yaml"
    with pytest.raises(PtogenError) as caught:
        load_text(Path(file).read_bytes(), file, Path(), ops=OPS)
    assert f"{caught.value}\n" == Path(f"{name}.txt").read_text()


def test_every_fixture_is_tested():
    assert {path.stem for path in FIXTURES.glob("*.yaml")} - {path.stem for path in FIXTURES.glob("*.txt")} == {"fine"}


def test_suites():
    file = FIXTURES / "fine.yaml"
    npu, cpu = load_text(file.read_bytes(), "fine.yaml", FIXTURES, ops=OPS)
    assert (npu.platform.name, cpu.platform.name, npu.mode, npu.name) == ("a2a3", "cpu", "manual", "sort_small")
    assert npu.graph.ops == (OPS["sort"],) and npu.cases == cpu.cases and npu.base == FIXTURES
    assert (npu.ub_bytes, cpu.ub_bytes) == (npu.platform.ub_bytes, cpu.platform.ub_bytes)
    assert [case.name for case in npu.cases] == ["float32_2x13", "part", "ties"]
    first, part, ties = npu.cases
    assert first.dtype == "float32", "the ISA's name float is normalised"
    assert (part.rows, part.valid, part.ub) == (4, (3, 50), {"src": 0, "dst": 512})
    assert (ties.data, ties.seed) == ("ties", 7)
    assert npu.position(1, "valid", 1) == Position("fine.yaml", 7, 54)
    assert npu.position(0, "seed") == Position("fine.yaml", 6, 5), "a field that is not written is the case"


def test_a_single_case_at_the_top():
    (suite,) = load_text(HEAD + CASE + "name: mine\n", "spec.yaml", ops=OPS)
    assert (suite.name, suite.cases[0].name, suite.paths) == ("mine", "float32_2x32", ((),))
    assert suite.position(0, "rows") == Position("spec.yaml", 4, 7)


def test_a_googletest_suite_has_no_underscore():
    names = ("tsort32", "tsort32_1", "tsort3_21", "tsort321", "half_part", "halfpart", "half_", "a__b", "a_b")
    suites = [load_text(HEAD + CASE + f"name: {name}\n", "spec.yaml", ops=OPS)[0].test_suite for name in names]
    assert suites[:2] == ["TSORT32Test", "TSORT32x1Test"]
    assert len(set(suites)) == len(names) and all(suite.isidentifier() and "_" not in suite for suite in suites)


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_byte_order_mark(end):
    text = ("\ufeff" + HEAD + CASE).replace("\n", end)
    (suite,) = load_text(text.encode(), "spec.yaml", ops=OPS)
    assert suite.position(0, "rows") == Position("spec.yaml", 4, 7)


def test_merge_keys():
    lines = [
        "cases:",
        "  - &one {dtype: half, rows: 2, cols: 32}",
        "  - {<<: *one, rows: 3}",
        "  - {rows: 4, <<: [*one]}",
    ]
    text = HEAD + "\n".join(lines)
    (suite,) = load_text(text, "spec.yaml", ops=OPS)
    assert [(case.rows, case.cols, case.dtype) for case in suite.cases] == [(r, 32, "float16") for r in (2, 3, 4)]
    assert suite.position(1, "cols") == Position("spec.yaml", 4, 39), "a merged value stands where it was written"


def test_a_fault_of_an_anchor_counts_once():
    text = HEAD + "cases:\n  - &one {dtype: float32, rows: 2, cols: x}\n" + "  - {<<: *one, rows: 3}\n" * 50
    assert codes(text) == ["PTG106"]


def test_ub_bytes():
    (suite,) = load_text(HEAD + CASE, "spec.yaml", ops=OPS, ub_bytes=64)
    assert suite.ub_bytes == 64
    for bad, nearest in ((0, 32), (-32, 32), (100, 96)):
        message = str(fail(HEAD + CASE, ub_bytes=bad))
        assert "positive multiple of 32" in message and str(nearest) in message


def test_data_file(tmp_path):
    spec = tmp_path / "spec.yaml"
    spec.write_text("op: tsort32\nplatform: a2a3\ndtype: float32\nrows: 2\ncols: 32\ndata: in/values.npy\n")
    text = spec.read_text().replace("tsort32", "sort")
    with pytest.raises(PtogenError, match="PTG205"):
        load_text(text, str(spec), tmp_path, ops=OPS)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "values.npy").write_bytes(b"")
    (suite,) = load_text(text, str(spec), tmp_path, ops=OPS)
    assert suite.cases[0].data == "in/values.npy" and (suite.base / suite.cases[0].data).exists()
    with pytest.raises(PtogenError, match="PTG205"):
        load_text(text.replace("in/values", r'"in\0/values').replace(".npy", '.npy"'), str(spec), tmp_path, ops=OPS)


def test_files_that_cannot_be_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("locked.yaml").write_text("op: sort\n")
    os.chmod("locked.yaml", 0)
    reasons = {"none.yaml": "no such file", ".": "is a directory", "a\0b": "null", "locked.yaml": "denied"}
    for path, reason in reasons.items():
        if path == "locked.yaml" and os.access(path, os.R_OK):
            continue  # the superuser reads everything
        with pytest.raises(PtogenError) as caught:
            load(path)
        (fault,) = caught.value.diagnostics
        assert fault.code == "PTG100" and reason in fault.message


def test_at_most_200_in_full():
    text = HEAD + "cases:\n" + "".join(f"  - {{dtype: float32, rows: {n}, cols: x}}\n" for n in range(1, 351))
    faults = fail(text).diagnostics
    assert len(faults) == 201
    assert faults[-1].severity == "note" and "150 more" in faults[-1].message


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[" * 100_000, "PTG103"),
        ("[" * 10_000_000, "PTG103"),
        ("{a: " * 100_000, "PTG103"),
        ("- " * 1_000_000, "PTG103"),
        ("? " * 1_000_000, "PTG103"),
        (HEAD + "".join(f"k{n}: &k{n} {{<<: *k{n - 1}}}\n" if n else "k0: &k0 {x: 1}\n" for n in range(200)), "PTG103"),
        (HEAD + "".join(f"k{n}: &k{n} [*k{n - 1}]\n" if n else "k0: &k0 [1]\n" for n in range(200)), "PTG103"),
        (b"x" * (document.MAX_BYTES + 1), "PTG103"),
        (HEAD + "cases:\n" + "- 3\n" * document.MAX_NODES, "PTG103"),
        (HEAD + CASE + "seed: " + "9" * 1_000_000, "PTG106"),
        (HEAD + CASE + "seed: " + "1:" * 200_000 + "1", "PTG106"),
        (HEAD + CASE + "seed: 0x" + "f" * 1_000_000, "PTG106"),
        (HEAD + CASE + "valid: [" + "1, " * 50_000 + "]", "PTG106"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.startswith("PTG") else "text",
)
def test_hostile_sizes(text, code):
    assert codes(text) == [code]


def test_ten_times_the_cases_take_ten_times_the_steps():
    def steps(count: int) -> int:
        text = HEAD + "cases:\n" + "".join(f"- {{dtype: float32, rows: {n + 1}, cols: 32}}\n" for n in range(count))
        with cProfile.Profile() as profile:
            (suite,) = load_text(text, "spec.yaml", ops=OPS)
        assert len(suite.cases) == count
        return sum(entry.callcount for entry in profile.getstats())

    steps(10)
    assert steps(1000) < 12 * steps(100)


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
def test_both_yaml_parsers(loader, monkeypatch):
    if not hasattr(yaml, loader):
        pytest.skip("PyYAML without libyaml")
    monkeypatch.setattr(document, "_LOADER", getattr(yaml, loader))
    (suite,) = load_text(HEAD + CASE + "valid: [1, 2]\n", "spec.yaml", ops=OPS)
    assert suite.position(0, "valid", 1) == Position("spec.yaml", 6, 12)
    for text, place, hint in [
        ("op: sort\nplatform: a2a3\n\trows: 3\n", (3, 1), "spaces"),
        ("op: sort\nplatform: [a2a3\n", (3, 1), "bracket"),
        ("op: 'sort\n", (2, 1), "quote"),
        ("op: a: b\n", (1, 6), "column"),
        ("op: @a\n", (1, 5), "quotes"),
    ]:
        (fault,) = fail(text).diagnostics
        assert (fault.code, fault.position.line, fault.position.column) == ("PTG101", *place)
        assert hint in fault.hint
    assert codes("[" * 100_000) == ["PTG103"]
    assert [each.position.line for each in fail(HEAD + CASE + "rows:\ncols: 3\n").diagnostics] == [6, 7]


def test_words():
    assert clip("a\x1b[0m\u202e" + "x" * 100, 10) == "a\\x1b[0m\\u202exxxx..."
    assert (listing("a"), listing("ab"), listing("abc", "or")) == ("a", "a and b", "a, b or c")
    assert suggest("per-row", ("per_row", "broadcast")) == "per_row"
    assert suggest("no", ("op", "rows")) is None


def test_the_catalogue():
    """The same sentence-making with the ops that ship."""
    text = "op: tsort32\nplatform: a2a3\ndtype: float32\nrows: 2\nrows: 3\ncols: 1e3\nidx: no\ncolz: 4\n"
    with pytest.raises(PtogenError) as caught:
        load_text(text, "spec.yaml")
    assert str(caught.value) == (FIXTURES / "all_at_once.txt").read_text().replace("all_at_once", "spec").strip()


def test_a_spec_of_the_catalogue(tmp_path):
    spec = tmp_path / "spec.yaml"
    spec.write_text(
        "op: tsort32\nplatform: [a2a3, a5]\ncases:\n"
        "  - {dtype: float32, rows: 2, cols: 13}\n"
        "  - {dtype: float16, rows: 4, cols: 64, valid: [3, 50], idx: broadcast, name: half_part}\n"
    )
    suites = load(spec)
    assert [suite.directory for suite in suites] == [f"{suite.platform.st_root}/tsort32" for suite in suites]
    assert suites[0].graph.ops == (catalogue()["tsort32"],) and suites[0].base == tmp_path
    assert suites[0].cases[1].name == "half_part"
    assert len({case.name for case in suites[0].cases}) == 2


def test_default_names_that_are_too_long_are_cut_and_kept_apart():
    """The tail is of the whole name, by SHA-256, so it is the same on every machine."""
    cases = [
        f"{{dtype: float32, variant: multi, lists: [1024, 4096, 2048, {last}], exhausted: true" for last in (64, 128)
    ]
    lines = "".join(f"  - {case}, data: reversed, seed: 4294967295}}\n" for case in cases)
    (suite,) = load_text(f"op: tmrgsort\nplatform: a2a3\ncases:\n{lines}", "spec.yaml")
    names = [case.name or "" for case in suite.cases]
    op = catalogue()["tmrgsort"]
    assert all(len(op.default_name(case)) > 64 for case in suite.cases)
    assert names == [
        "case_float32_multi_1024_4096_2048_64_exhausted_reversed_6c93ccdd",
        "case_float32_multi_1024_4096_2048_128_exhausted_reverse_1f6d26b1",
    ]


@pytest.mark.parametrize(
    ("word", "message", "hint"),
    [
        ("tadd", "TADD is an instruction of the ISA that ptogen does not render yet", "near it: tpartadd"),
        ("TROWSUM", "TROWSUM is an instruction of the ISA that ptogen does not render yet", "`ptogen ops` lists all"),
        ("TSORT32", "there is no op `TSORT32`", "did you mean `tsort32`?"),
        ("quux", "there is no op `quux`", "`ptogen ops` lists all"),
    ],
)
def test_ops_that_are_not_there(word, message, hint):
    with pytest.raises(PtogenError) as caught:
        load_text(f"op: {word}\nplatform: a2a3\n", "spec.yaml")
    fault = caught.value.diagnostics[0]
    assert fault.message == message and hint in fault.hint


@pytest.mark.parametrize(
    ("word", "platform"),
    [("910B", "a2a3"), ("910_93", "a2a3"), ("A2", "a2a3"), ("A3", "a2a3"), ("ascend910b", "a2a3")]
    + [("Ascend-910B", "a2a3"), ("950", "a5"), ("A5", "a5"), ("Ascend 950", "a5"), ("x90", "kirinx90")],
)
def test_platforms_as_people_call_them(word, platform):
    with pytest.raises(PtogenError) as caught:
        load_text(f"op: tsort32\nplatform: {word}\n{CASE}", "spec.yaml")
    (fault,) = caught.value.diagnostics
    assert fault.code == "PTG106" and fault.hint == f"{word} is {platform} here: write {platform}"


def test_a_pin_that_is_misspelt():
    with pytest.raises(PtogenError) as caught:
        load_text(
            f"op: tsort32\nplatform: a2a3\n{CASE.replace('32', '33').replace('float33', 'float32')}ub: {{temp: 0}}\n",
            "spec.yaml",
        )
    (fault,) = caught.value.diagnostics
    assert fault.code == "PTG204" and fault.hint == "did you mean `tmp`?"
