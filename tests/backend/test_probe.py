"""Which defects the headers have, and that the table of defects can be trusted."""

from __future__ import annotations

import subprocess
from dataclasses import replace

import pytest

from ptogen.backend import cache, compile, download, probe
from ptogen.backend.defects import known
from ptogen.errors import PtogenError


def test_every_defect_names_all_its_facts():
    for name, row in known().items():
        assert name == row.defect.id and row.op and row.macro.isupper()
        assert all((row.defect.condition, row.defect.header, row.defect.reason, row.defect.probe))


def test_the_pinned_snapshot_has_all_of_them(headers, toolchain):
    if headers.include != download.include_folder():
        assert probe.present(toolchain.compiler, headers) <= known().keys()
        return
    # It has no TPARTARGMAX and TPARTARGMIN at all, so nothing is wrong with what they do.
    absent = {f"TPARTARG{kind}_{what}" for kind in ("MAX", "MIN") for what in ("TIES", "PITCH")} | {"TPARTMUL_MISSING"}
    assert probe.present(toolchain.compiler, headers) == known().keys() - absent


def test_the_answers_are_remembered(headers, toolchain, monkeypatch, tmp_path):
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path))
    first = probe.present(toolchain.compiler, headers)
    (memory,) = (tmp_path / "probes").glob("*.json")
    monkeypatch.setattr(compile, "compile_program", None)
    assert probe.present(toolchain.compiler, headers) == first
    monkeypatch.undo()
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path))
    memory.write_text("{", encoding="utf-8")
    assert probe.present(toolchain.compiler, headers) == first
    assert cache.remembered(memory)


def test_no_probe_fires_on_the_overlay(headers, toolchain, tmp_path):
    """The corrected functions have none of the defects: the same probes, compiled against the overlay, say no."""
    compiler = toolchain.compiler
    (tmp_path / "probe.cpp").write_text(probe.program([row.defect.probe for row in known().values()]), encoding="utf-8")
    options = probe.macros(probe.present(compiler, headers))
    options += compile.include_options(compiler, headers.include, ("simulator", "probe"))
    built = compile.compile_program(compiler, tmp_path / "probe.cpp", tmp_path / "probe", options)
    assert built.returncode == 0, built.stderr
    run = subprocess.run([tmp_path / "probe"], capture_output=True, text=True, check=True)
    assert set(line.split()[1] for line in run.stdout.splitlines()) == {"0"}


def test_a_probe_that_does_not_compile_costs_its_own_answer(headers, toolchain, monkeypatch, tmp_path):
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path))
    probes = {"yes": "true", "lost": "pto::TNOTHING()", "no": "false", "gone": "::TNOTHING", "mute": "(_exit(7), true)"}
    asked = probe.ask(toolchain.compiler, headers, probes)
    assert asked == {"yes": True, "lost": None, "no": False, "gone": None, "mute": None}
    # What is known is not asked again.
    monkeypatch.setattr(compile, "compile_program", None)
    assert probe.ask(toolchain.compiler, headers, {"other name": "false"}) == {"other name": False}


def test_headers_that_do_not_compile_at_all_answer_nothing(headers, toolchain, tmp_path, monkeypatch):
    monkeypatch.setenv("PTOGEN_CACHE", str(tmp_path / "cache"))
    (tmp_path / "pto").mkdir()
    (tmp_path / "pto" / "pto-inst.hpp").write_text("#error no such thing\n")
    with pytest.raises(PtogenError, match="PTG505: no program that looks at the headers compiles") as raised:
        probe.ask(toolchain.compiler, replace(headers, include=tmp_path, digest="other"), {"yes": "true"})
    assert "no such thing" in str(raised.value)
