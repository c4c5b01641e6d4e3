"""Every broken plan is seen by the checkers or harmless in every timing; the plans themselves are sound."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from dataclasses import replace

import pytest
from mutants import plans
from mutants.corpus import ROOT, entries
from mutants.plan_ways import WAYS
from mutants.plans import is_equivalent, verdict

from ptogen.check import check_plan
from ptogen.plan.model import SetFlag, WaitFlag

PAGE = ROOT / "docs" / "mutants.md"


@pytest.mark.parametrize("entry", entries(), ids=str)
def test_the_plan_itself_is_sound(entry):
    assert check_plan(entry.plan, entry.platform) == []
    assert is_equivalent(entry, entry.plan)


@pytest.mark.campaign
def test_every_mutant_is_killed_or_harmless_as_the_page_says():
    command = [sys.executable, ROOT / "docs" / "mutants.py", "--plans"]
    made = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "Escaped" not in made
    assert PAGE.read_text(encoding="utf-8").startswith(made), "run `make mutants`"


def test_there_are_many_ways_and_each_has_mutants():
    assert len(WAYS) >= 30
    assert len({way.name for way in WAYS}) == len(WAYS)
    found = Counter(way.name for entry in entries() for way in WAYS for _ in way.mutants(entry.plan))
    assert set(found) == {way.name for way in WAYS}


def test_a_mutant_that_nobody_sees_counts_as_escaped(monkeypatch):
    """The judge itself: with the checkers blind, dropped flags have to come out as escaped."""
    entry = next(entry for entry in entries() if entry.plan.mode == "manual" and entry.plan.name == "tsort32")
    program = tuple(step for step in entry.plan.program if not isinstance(step, (SetFlag, WaitFlag)))
    mutant = replace(entry.plan, program=program)
    assert verdict("flags dropped", entry, "all", mutant).codes
    monkeypatch.setattr(plans, "check_plan", lambda plan, platform: [])
    assert verdict("flags dropped", entry, "all", mutant).escaped
