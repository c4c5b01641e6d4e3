"""How the cases of a program are run: what crashes, hangs or lies costs its own case only."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from ptogen.backend import gtest, run

FAKE = Path(__file__).parent / "fixtures" / "fake_gtest.py"


@pytest.fixture
def play(tmp_path):
    """Runs a fake program whose tests do what is said; gives the runs and the order in which tests started."""
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n')
    program.chmod(0o755)

    def play(tests: dict[str, str], cases: list[str] | None = None, **options):
        log = tmp_path / "log"
        log.write_text("")
        environment = {**os.environ, "FAKE_TESTS": json.dumps(list(tests.items())), "FAKE_LOG": str(log)}
        environment |= {"GTEST_FILTER": "none", "GTEST_REPEAT": "3"}
        options = {"timeout": 30.0, **options}
        runs = run.run_cases(program, "FakeTest", cases or list(tests), environment=environment, **options)
        return runs, log.read_text().split()

    return play


def test_passing_and_failing(play):
    runs, order = play({"one": "pass", "two": "fail", "three": "pass"})
    assert [case.status for case in runs.values()] == ["passed", "failed", "passed"]
    assert order == ["one", "two", "three"]
    assert runs["one"].seconds == 0.007


def test_a_crash_costs_its_own_case(play):
    done: list[str] = []
    runs, order = play({"one": "pass", "two": "segv", "three": "segv", "four": "pass"}, finished=done.append)
    assert [case.status for case in runs.values()] == ["passed", "crashed", "crashed", "passed"]
    assert runs["two"].reason == "ended by SIGSEGV"
    assert runs["two"].output == ["half a line", "stack: here"]
    # GoogleTest has written no record of the first one, which passes by that alone.
    assert order == ["one", "two", "one", "three", "four"] and done == ["one", "two", "three", "four"]


def test_a_case_that_hangs_is_ended(play):
    runs, order = play({"one": "pass", "two": "hang", "three": "pass"}, timeout=1.0)
    assert [case.status for case in runs.values()] == ["passed", "crashed", "passed"]
    assert runs["two"].reason == "no result after 1 s"


def test_only_the_expected_cases_run(play):
    runs, order = play({"one": "pass", "two": "pass"}, ["two", "three"])
    assert {name: case.status for name, case in runs.items()} == {"two": "passed", "three": "missing"}
    assert order == ["two"]


def test_a_test_that_is_not_in_the_record_did_not_run(play):
    runs, _ = play({"one": "forgotten", "two": "pass"})
    assert [case.status for case in runs.values()] == ["missing", "passed"]


def test_no_record_is_no_success(play):
    runs, _ = play({"one": "pass", "two": "early"})
    assert [case.status for case in runs.values()] == ["passed", "crashed"]
    assert runs["two"].reason == "ended with status 0 in the middle of its tests"


def test_what_a_kernel_prints_is_no_result(play):
    """It says that it has passed, and ends the program before there is a record."""
    runs, order = play({"one": "liar", "two": "pass"})
    assert [case.status for case in runs.values()] == ["crashed", "passed"]
    runs, order = play({"one": "pass", "two": "liar"}, fail_fast=True)
    assert [case.status for case in runs.values()] == ["passed", "crashed"]


def test_a_crash_after_the_last_test_is_seen(play):
    runs, _ = play({"one": "pass", "two": "exit-crash"})
    assert [case.status for case in runs.values()] == ["passed", "crashed"]
    assert runs["two"].reason == "ended by SIGABRT" and runs["two"].output == ["free(): invalid pointer"]


def test_a_flood_of_output_is_cut_and_no_mark(play):
    runs, _ = play({"another": "fail", "noisy": "noisy"})
    assert [case.status for case in runs.values()] == ["failed", "failed"]
    assert len(runs["noisy"].output) <= gtest.OUTPUT_LINES
    assert all(len(line) <= 500 for line in runs["noisy"].output)


def test_fail_fast_stops(play):
    runs, order = play({"one": "pass", "two": "fail", "three": "hang"}, fail_fast=True)
    assert [case.status for case in runs.values()] == ["passed", "failed", "missing"]
    runs, order = play({"one": "segv", "two": "pass"}, fail_fast=True)
    assert [case.status for case in runs.values()] == ["crashed", "missing"] and order == ["one"]


def test_a_program_that_does_not_start(tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\necho no such library >&2\nexit 127\n")
    program.chmod(0o755)
    runs = run.run_cases(program, "FakeTest", ["one", "two"], environment={}, timeout=10.0)
    assert [case.status for case in runs.values()] == ["crashed", "crashed"]
    assert runs["one"].output == ["no such library"]


def test_more_cases_than_a_command_line_can_name(play, monkeypatch):
    monkeypatch.setattr(run, "FILTER_BYTES", 100)
    names = [f"case_number_{at}" for at in range(20)]
    runs, order = play(dict.fromkeys(names, "pass"))
    assert order == names and {case.status for case in runs.values()} == {"passed"}
