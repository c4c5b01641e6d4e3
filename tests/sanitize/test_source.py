"""What the source says at a step."""

from __future__ import annotations

from ptogen.errors import Position
from ptogen.sanitize.source import arguments


def test_arguments_are_those_of_the_only_call_of_a_line(tmp_path):
    file = tmp_path / "kernel.cpp"
    text = "TASSIGN(t, 0x0); TASSIGN(d, 0x100);\nTLOAD(t, g(1, 2)); TADDS<1, 2>(d, t,\n    1.0f);\n"
    file.write_text(text, encoding="utf-8")
    assert arguments(Position(str(file), 1), "TASSIGN") == ()
    assert arguments(Position(str(file), 2), "TLOAD") == ("t", "g(1, 2)")
    assert arguments(Position(str(file), 3), "TADDS") == ("d", "t", "1.0f")
