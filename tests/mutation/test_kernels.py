"""Every broken kernel of one suite, a place for each way, is objected to or harmless; the page has no other for any."""

from __future__ import annotations

from collections import Counter

import pytest
from mutants.corpus import ROOT
from mutants.cpp_ways import WAYS
from mutants.kernels import Suite, suites

PAGE = (ROOT / "docs" / "mutants.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def suite(tmp_path_factory) -> Suite:
    """A suite with two outputs, three source pipes, and kernels of several forms."""
    made = suites(tmp_path_factory.mktemp("mutants"))
    found = next(one for one in made if one.name == "tmrgsort-a2a3")
    found.most = 1
    return found


@pytest.mark.campaign
def test_every_mutant_of_a_suite_is_objected_to_or_harmless(suite, headers, toolchain):
    found = suite.verdicts(headers, toolchain.compiler)
    assert found[0].way == "as it is"
    assert found[0].codes == ()
    assert len(found) > 100
    assert [str(one) for one in found[1:] if one.escaped] == []
    codes = Counter(code for one in found for code in one.codes)
    assert {"PTG402", "PTG403", "PTG411", "PTG421", "PTG422", "PTG431", "compiler", "golden"} <= set(codes)


def test_the_page_names_every_way_and_none_that_escaped():
    lines = [line for line in PAGE.partition("## Kernels")[2].splitlines() if line.startswith("| ")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [row[0] for row in rows] == ["way", *(way.name for way in WAYS), "**all**"], "run `make mutants`"
    assert {row[5] for row in rows[1:]} == {"0"}
    assert len(WAYS) >= 30
