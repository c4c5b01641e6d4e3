"""Small kernels of our own, one for each kind of finding, recorded and judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from ptogen.ops import instructions
from ptogen.platforms import PLATFORMS
from ptogen.sanitize import recorder
from ptogen.sanitize.judge import sanitize

FIXTURES = Path(__file__).parent / "fixtures"

EXPECTED = {
    "clean": {"add": [], "ping_pong": [], "events": [], "reuse": [], "zeros": []},
    "races": {
        "missing_wait": ["error PTG421", "error PTG411"],
        "set_too_early": ["error PTG411"],
        "write_after_read": ["error PTG413", "error PTG412"],
        "across_turns": ["error PTG423", "error PTG413", "error PTG412"],
        "no_barrier": ["error PTG411"],
        "event_not_waited_for": ["error PTG421", "error PTG411"],
        "event_of_other_pipes": ["error PTG411"],
        "blocks": ["error PTG413"],
        "element_without_flag": ["error PTG411"],
    },
    "flags": {
        "hang": ["error PTG422", "error PTG422"],
        "left_set": ["error PTG421"],
        "double_set": ["error PTG423"],
        "no_such_id": ["error PTG424"],
        "used_inside": ["error PTG424"],
        "maybe_used_inside": ["warning PTG424"],
    },
    "memory": {
        "past_the_end": ["error PTG401"],
        "declared_past_the_end": ["warning PTG401"],
        "unaligned": ["error PTG402"],
        "overlap": ["error PTG403"],
        "declared_overlap": ["warning PTG403"],
        "outside_gm": ["error PTG405"],
        "stale": ["error PTG431"],
        "scratch": ["error PTG406", "error PTG431"],
        "unknown": [],
        "destroyed_in_place": ["error PTG403"],
        "scratch_on_an_operand": ["error PTG403"],
        "unused": ["note PTG403"],
    },
}
"""Severity and code of every finding on a2a3, by file and case."""


@pytest.fixture(scope="module")
def recorded(headers, toolchain):
    """Each fixture file is compiled and run once."""
    done = {}

    def record(name: str):
        if name not in done:
            file = FIXTURES / f"{name}.cpp"
            done[name] = recorder.record(FIXTURES, [file], headers, toolchain.compiler)
        return done[name]

    return record


def judged(recording, platform: str = "a2a3"):
    assert not [case for case in recording.cases if case.fault]
    cases = sanitize(recording.lines, recording.program, PLATFORMS[platform])
    return {case.name.partition(".")[2]: case for case in cases}


@pytest.mark.parametrize(("name", "case"), [(name, case) for name, cases in EXPECTED.items() for case in cases])
def test_each_kind_of_finding(recorded, name, case):
    findings = judged(recorded(name))[case].findings
    assert sorted(f"{one.severity} {one.code}" for one in findings) == sorted(EXPECTED[name][case]), findings


def test_every_case_of_the_fixtures_is_expected(recorded):
    assert {name: set(judged(recorded(name))) for name in EXPECTED} == {
        name: set(cases) for name, cases in EXPECTED.items()
    }


def test_a_finding_names_both_steps_in_the_source(recorded):
    finding = next(one for one in judged(recorded("races"))["missing_wait"].findings if one.code == "PTG411")
    lines = (FIXTURES / "races.cpp").read_text(encoding="utf-8").splitlines()
    assert [Path(position.file).name for position in finding.positions] == ["races.cpp", "races.cpp"]
    assert [lines[position.line - 1].strip() for position in finding.positions] == [
        "TADDS(c, a, 1.0f);",
        "TLOAD(a, leftGm);",
    ]
    assert "TADDS(c, a, 1.0f) reads bytes of a before" in finding.message
    assert str(finding.ranges[0]) == "a [0x0, 0x1000)"
    assert finding.hint == "put set_flag and wait_flag from PIPE_MTE2 to PIPE_V between them"


def test_an_a5_orders_its_vector_pipe_by_itself(recorded):
    assert judged(recorded("races"), "a5")["no_barrier"].findings == ()
    assert judged(recorded("races"), "a5")["missing_wait"].findings


def test_the_simulator_needs_no_flags(recorded):
    assert all(case.findings == () for name, case in judged(recorded("races"), "cpu").items() if name != "blocks")


def test_an_unknown_instruction_is_named(recorded, monkeypatch):
    monkeypatch.delitem(instructions(), "TADDC")
    (finding,) = judged(recorded("memory"))["unknown"].findings
    assert (finding.severity, finding.code) == ("note", "PTG442")
    assert "TADDC has no record" in finding.message


def test_capacity_is_the_platforms(recorded):
    assert judged(recorded("memory"), "a5")["past_the_end"].findings == ()
    assert judged(recorded("memory"), "kirin9030")["scratch"].findings[0].code == "PTG401"


def test_formats(recorded):
    from ptogen.report.findings import Sanitized, as_data, as_github, as_sarif, as_text, exit_code

    recording = recorded("memory")
    cases = tuple(sanitize(recording.lines, recording.program, PLATFORMS["a2a3"]))
    result = Sanitized("memory.cpp", "a2a3", cases=cases)
    assert exit_code([result]) == 1
    assert exit_code([Sanitized("clean.cpp", "a2a3")]) == 0
    assert "memory.cpp (a2a3): 12 cases" in as_text([result])
    data = as_data([result])
    assert {case["name"] for case in data["kernels"][0]["cases"]} == {f"Memory.{name}" for name in EXPECTED["memory"]}
    sarif = as_sarif([result])["runs"][0]
    assert {rule["id"] for rule in sarif["tool"]["driver"]["rules"]} >= {"PTG401", "PTG403"}
    for found in sarif["results"]:
        assert sarif["tool"]["driver"]["rules"][found["ruleIndex"]]["id"] == found["ruleId"]
        assert found["level"] in ("error", "warning", "note")
        assert found["locations"][0]["physicalLocation"]["region"]["startLine"] > 0
    lines = as_github([result]).splitlines()
    assert len(lines) == len(sarif["results"])
    assert all(line.startswith(("::error file=", "::warning file=", "::notice file=")) for line in lines)


def test_notes_alone_are_no_failure(recorded, monkeypatch):
    from ptogen.report.findings import Sanitized, exit_code

    monkeypatch.delitem(instructions(), "TADDC")
    case = judged(recorded("memory"))["unknown"]
    assert exit_code([Sanitized("x.cpp", "a2a3", cases=(case,))]) == 0
