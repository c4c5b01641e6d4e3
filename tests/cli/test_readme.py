"""The README shows what really happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ptogen import cli

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_the_example_of_the_readme(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    (spec,) = re.findall(r"```yaml\n# spec.yaml\n(.*?)```", README, re.DOTALL)
    Path("spec.yaml").write_text(spec)
    (session,) = re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    ran = 0
    for command, said in re.findall(r"^\$ ptogen (.*)\n((?:(?!\$ ).*\n)*)", session, re.MULTILINE):
        assert cli.main(command.split()) == 0
        assert _without_hash(capsys.readouterr().out) == _without_hash(said)
        ran += 1
    assert ran == 2


def _without_hash(text: str) -> str:
    """The shared header's name follows from its text."""
    return re.sub(r"(?<=ptogen_st_)[0-9a-f]{8}", "01234567", text)


@pytest.mark.parametrize("command", sorted(set(re.findall(r"`ptogen ([a-z]+)", README))))
def test_every_command_of_the_readme_exists(command: str) -> None:
    assert command in cli.SUMMARIES


def test_every_command_stands_in_the_readme() -> None:
    for command in cli.SUMMARIES:
        assert f"`ptogen {command}" in README
