"""The shell around the commands: statuses, messages, formats, and what is not imported."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import click
import pytest

import ptogen
from ptogen import cli
from ptogen.errors import CODES, Diagnostic, Position, PtogenError
from ptogen.render.suite import RenderedSuite

HEAVY = ("pydantic", "numpy", "jinja2", "yaml", "rich", "filelock", "platformdirs", "importlib.metadata", "ptogen.ops")
PTOGEN = [sys.executable, "-m", "ptogen"]


def run(*args: str, **options) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*PTOGEN, *args], capture_output=True, text=True, timeout=120, **options)


def suite(text: str = "main\n", key: str = "a2a3-tsort32", directory: str = "st/tsort32") -> RenderedSuite:
    return RenderedSuite(key, directory, {f"{directory}/main.cpp": text}, {"cases": [{"name": "one"}, {"name": "two"}]})


FAULTS = PtogenError(
    [
        Diagnostic("PTG105", "unknown key 'colz'", Position("a.yaml", 8, 1), hint="did you mean 'cols'?"),
        Diagnostic("PTG106", "cols is not an integer", Position("a.yaml", 6, 7), details=("more",)),
    ]
)


def rendered(monkeypatch: pytest.MonkeyPatch, *suites: RenderedSuite) -> None:
    monkeypatch.setattr("ptogen.cli.kernel.render_specs", lambda paths, **options: list(suites))


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import_module("ptogen.cli.kernel")
    monkeypatch.chdir(tmp_path)


# What a start costs


@pytest.mark.parametrize("args", [["--help"], ["--version"], [], ["kernl"]])
def test_help_imports_click_and_nothing_heavier(args: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "ptogen", *args], capture_output=True, text=True, timeout=60
    )
    imported = {line.split("|")[-1].strip() for line in done.stderr.splitlines() if line.startswith("import time:")}
    assert "click" in imported
    assert not {name for name in imported for heavy in HEAVY if name == heavy or name.startswith(f"{heavy}.")}
    own = {name for name in imported if name.split(".")[0] == "ptogen"}
    assert own <= {"ptogen", "ptogen.cli"}


def test_help_of_a_command_imports_that_command_only() -> None:
    script = "import sys; from ptogen.cli import main; main(['platforms', '--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    modules = done.stdout.split()
    assert {name for name in modules if name.startswith("ptogen.cli.")} == {"ptogen.cli.platforms"}


def test_help_lists_every_command_and_the_statuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--help"]) == 0
    text = capsys.readouterr().out
    for name, summary in cli.SUMMARIES.items():
        assert f"{name}  " in text and summary in text
    assert "Exit status" in text and "130" in text


@pytest.mark.parametrize("name", cli.SUMMARIES)
def test_summaries_are_the_first_lines_of_the_commands(name: str) -> None:
    command = cli.cli.get_command(click.Context(cli.cli), name)
    assert isinstance(command, click.Command)
    assert command.name == name
    assert (command.help or "").split("\n\n")[0].replace("\n", " ").strip() == cli.SUMMARIES[name]


@pytest.mark.parametrize("name", cli.SUMMARIES)
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([name, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: ptogen {name}")


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"ptogen {ptogen.__version__}\n")


def test_shell_completion_names_commands_without_importing_them() -> None:
    environment = {**os.environ, "_PTOGEN_COMPLETE": "bash_complete", "COMP_WORDS": "ptogen p", "COMP_CWORD": "1"}
    done = run(env=environment)
    assert done.stdout.split() == ["plain,plan", "plain,platforms"]


# Statuses


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["kernl"], "Did you mean 'kernel'?"),
        (["frobnicate"], "There is no command 'frobnicate'."),
        (["kernel"], "Missing argument"),
        (["kernel", "a.yaml", "--colour"], "No such option"),
        (["kernel", "a.yaml", "--diff", "--check"], "exclude one another"),
        (["kernel", "a.yaml", "--ub-bytes", "many"], "is not a number of bytes"),
        (["kernel", "a.yaml", "--ub-bytes", "0"], "is not between"),
        (["platforms", "--format", "xml"], "'xml' is not one of"),
        (["ops", "tsrt32"], "Did you mean 'tsort32'?"),
    ],
)
def test_wrong_usage_is_status_2(args: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(args) == 2
    out, err = capsys.readouterr()
    assert said in err and out == ""


def test_force_is_never_a_guess(capsys) -> None:
    assert cli.main(["kernel", "a.yaml", "--forc"]) == 2
    assert "No such option" in (err := capsys.readouterr().err) and "--force" not in err
    assert cli.main(["kernel", "a.yaml", "--dryrun"]) == 2
    assert "--dry-run" in capsys.readouterr().err


def test_an_empty_output_directory_is_refused(capsys) -> None:
    assert cli.main(["kernel", "a.yaml", "-o", ""]) == 2
    assert "The name of the directory is empty" in capsys.readouterr().err


def test_suites_come_in_the_order_of_their_keys(monkeypatch, capsys) -> None:
    rendered(monkeypatch, suite(key="b", directory="b"), suite(key="a", directory="a"))
    assert cli.main(["kernel", "a.yaml"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == ["generated/a", "generated/b"]
    assert cli.main(["kernel", "a.yaml", "--format", "json"]) == 0
    assert [one["key"] for one in json.loads(capsys.readouterr().out)["suites"]] == ["a", "b"]


def test_faults_go_to_stderr_with_their_status(monkeypatch, capsys) -> None:
    def fail(*_, **__):
        raise FAULTS

    monkeypatch.setattr("ptogen.cli.kernel.render_specs", fail)
    assert cli.main(["kernel", "a.yaml"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "a.yaml:8:1: error PTG105: unknown key 'colz'\n"
        "  hint: did you mean 'cols'?\n"
        "a.yaml:6:7: error PTG106: cols is not an integer\n"
        "    more\n"
    )


def test_faults_are_json_on_stdout_as_well_where_json_was_asked_for(monkeypatch, capsys) -> None:
    def fail(*_, **__):
        raise FAULTS

    monkeypatch.setattr("ptogen.cli.kernel.render_specs", fail)
    assert cli.main(["kernel", "a.yaml", "--format", "json"]) == 2
    out, err = capsys.readouterr()
    assert json.loads(out) == {"diagnostics": [diagnostic.as_dict() for diagnostic in FAULTS.diagnostics]}
    assert "PTG105" in err


@pytest.mark.parametrize(
    ("codes", "status"), [(["PTG411"], 1), (["PTG411", "PTG401"], 1), (["PTG411", "PTG301"], 2), (["PTG501"], 2)]
)
def test_findings_alone_are_status_1(codes: list[str], status: int, monkeypatch) -> None:
    def fail(*_, **__):
        raise PtogenError(Diagnostic(code, "something") for code in codes)

    monkeypatch.setattr("ptogen.cli.kernel.render_specs", fail)
    assert cli.main(["kernel", "a.yaml"]) == status


def test_own_faults_are_status_3_with_a_traceback(monkeypatch, capsys) -> None:
    def fail(*_, **__):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("ptogen.cli.kernel.render_specs", fail)
    assert cli.main(["kernel", "a.yaml", "--format", "json"]) == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("Traceback (most recent call last):")
    assert err.splitlines()[-1].startswith("ptogen: this is ptogen's own fault")


def test_an_interrupt_is_status_130_and_one_line(monkeypatch, capsys) -> None:
    def fail(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("ptogen.cli.kernel.render_specs", fail)
    assert cli.main(["kernel", "a.yaml"]) == 130
    assert capsys.readouterr() == ("", "ptogen: interrupted\n")


def test_a_reader_that_has_gone_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([*PTOGEN, "platforms"], stdout=write, stderr=subprocess.PIPE, text=True, timeout=60)
    os.close(write)
    assert (done.returncode, done.stderr) == (141, "")


@pytest.mark.parametrize("args", [["platforms"], ["--help"], ["ops", "--help"], ["nonsense"], ["plan", "no.yaml"]])
@pytest.mark.parametrize("broken", ["stdout", "stderr", "both"])
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_full_disk_behind_a_stream(args: list[str], broken: str, unbuffered: str) -> None:
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        streams |= dict.fromkeys(("stdout", "stderr") if broken == "both" else (broken,), full)
        done = subprocess.run([*PTOGEN, *args], text=True, timeout=60, env=environment, **streams)
    is_error = args[0] in ("nonsense", "plan")
    assert done.returncode == (2 if is_error or broken != "stderr" else 0)
    assert "Traceback" not in (done.stderr or "") and "Exception ignored" not in (done.stderr or "")
    if broken == "stdout" and not is_error:
        assert done.stderr == "ptogen: the output cannot be written: no space left on device\n"


@pytest.mark.parametrize("closing", [">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_error(closing: str) -> None:
    for command, status in (("platforms", 0), ("--help", 0), ("plan no.yaml", 2)):
        script = f'"{sys.executable}" -m ptogen {command} {closing}'
        done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
        assert done.returncode == status and "Traceback" not in done.stderr, done.stderr


@pytest.mark.parametrize("module", ["click", "ptogen.cli.platforms", "ptogen.platforms"])
def test_an_interrupt_during_an_import_is_status_130_and_one_line(module: str, tmp_path: Path) -> None:
    script = f"""
import sys, importlib.abc
class Interrupt(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
from ptogen.cli import main
sys.exit(main(["platforms"]))
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "ptogen: interrupted\n")


@pytest.mark.parametrize("seconds", ["inf", "nan", "1e10", "1e300", "0", "-1", "soon"])
def test_a_timeout_has_a_bound(seconds: str, capsys) -> None:
    assert cli.main(["check", ".", "--timeout", seconds]) == 2
    err = capsys.readouterr().err
    assert "is not a number of seconds above 0 and up to 86,400" in err


@pytest.mark.parametrize("memory", ["inf", "nan", "1e300", "0", "-1", "much"])
def test_memory_has_a_bound(memory: str, capsys) -> None:
    assert cli.main(["check", ".", "--memory", memory]) == 2
    assert "is not a number of GiB above 0 and up to" in capsys.readouterr().err


def test_a_terminal_that_speaks_ascii() -> None:
    done = run("platforms", "--format", "json", env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert done.returncode == 0
    done = run("kernel", "gr\u00fc\u00dfe.yaml", env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert done.returncode == 2 and "Traceback" not in done.stderr


# Messages


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colour_on_a_terminal_only_and_not_against_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    said = {}
    for name, stream in (("terminal", Terminal()), ("file", io.StringIO())):
        monkeypatch.setattr(sys, "stderr", stream)
        assert cli.main(["kernel", "missing.yaml"]) == 2
        said[name] = stream.getvalue()
    assert "\x1b[31m\x1b[1merror PTG100:\x1b[0m" in said["terminal"]
    assert "\x1b" not in said["file"]
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    assert cli.main(["kernel", "missing.yaml"]) == 2
    assert stream.getvalue() == said["file"]


def test_a_message_cannot_steer_the_terminal(capsys) -> None:
    cli.show(Diagnostic("PTG105", "unknown key '\x1b]0;title\x07\r\u202e'", Position("a.yaml", 1, 1)))
    assert capsys.readouterr().err == "a.yaml:1:1: error PTG105: unknown key '\\x1b]0;title\\x07\\r\\u202e'\n"


def test_a_table_is_aligned_and_never_raw() -> None:
    assert cli.table([("a", "bytes"), ("\x1b", 12_345), ("longer", 1)], numbers=(1,)).splitlines() == [
        "a       bytes",
        "\\x1b    12345",
        "longer      1",
    ]


# kernel


def test_kernel_writes_and_reports(monkeypatch, capsys, tmp_path: Path) -> None:
    rendered(monkeypatch, suite())
    assert cli.main(["kernel", "a.yaml"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "suite                 cases  files  written  unchanged  removed",
        "generated/st/tsort32      2      1        1          0        0",
    ]
    assert (tmp_path / "generated/st/tsort32/main.cpp").read_text() == "main\n"
    assert cli.main(["kernel", "a.yaml", "-o", "generated"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == ["generated/st/tsort32", "2", "1", "0", "1", "0"]


@pytest.mark.parametrize(("option", "status"), [("--dry-run", 0), ("--check", 1), ("--diff", 1)])
def test_kernel_looks_without_writing(option: str, status: int, monkeypatch, capsys, tmp_path: Path) -> None:
    rendered(monkeypatch, suite())
    assert cli.main(["kernel", "a.yaml", option]) == status
    assert list(tmp_path.iterdir()) == []
    text = capsys.readouterr().out
    if option == "--diff":
        assert "+++ b/st/tsort32/main.cpp\n@@ -0,0 +1 @@\n+main\n" in text
    else:
        assert text.splitlines()[0] == "suite                 cases  files  would write  unchanged  would remove"
        assert "would write generated/st/tsort32/main.cpp\n" in text and "nothing was written" in text
    assert cli.main(["kernel", "a.yaml"]) == 0
    capsys.readouterr()
    assert cli.main(["kernel", "a.yaml", option]) == 0
    text = capsys.readouterr().out
    assert text == "" if option == "--diff" else "nothing would change" in text


def test_kernel_and_an_edited_file(monkeypatch, capsys, tmp_path: Path) -> None:
    rendered(monkeypatch, suite())
    assert cli.main(["kernel", "a.yaml"]) == 0
    edited = tmp_path / "generated/st/tsort32/main.cpp"
    edited.write_text("mine\n")
    capsys.readouterr()
    for option in ([], ["--dry-run"]):
        assert cli.main(["kernel", "a.yaml", *option]) == 2
        assert "PTG111" in capsys.readouterr().err
    assert cli.main(["kernel", "a.yaml", "--check"]) == 1
    assert "(edited by hand)" in capsys.readouterr().out
    assert cli.main(["kernel", "a.yaml", "--diff"]) == 1
    out, err = capsys.readouterr()
    assert "-mine\n+main\n" in out and "edited by hand" in err
    assert edited.read_text() == "mine\n"
    assert cli.main(["kernel", "a.yaml", "--force"]) == 0
    assert edited.read_text() == "main\n"


def test_kernel_json(monkeypatch, capsys) -> None:
    rendered(monkeypatch, suite())
    assert cli.main(["kernel", "a.yaml", "--format", "json", "--diff"]) == 1
    data = json.loads(capsys.readouterr().out)
    (one,) = data["suites"]
    assert (data["out"], one["key"], one["cases"]) == ("generated", "a2a3-tsort32", ["one", "two"])
    assert one["changes"][0] == {"path": "st/tsort32/main.cpp", "action": "write", "edited": False}
    assert "+main\n" in data["diff"]


@pytest.mark.parametrize("format_", ["text", "json"])
def test_a_missing_spec_or_header_is_ptg100(format_: str, capsys) -> None:
    for args in (["kernel", "no.yaml"], ["kernel", "no.yaml", "--license-header", "no.txt"], ["plan", "no.yaml"]):
        assert cli.main([*args, "--format", format_]) == 2
        out, err = capsys.readouterr()
        assert "error PTG100: " in err and "no.yaml: " in err or "no.txt: " in err
        if format_ == "json":
            assert json.loads(out)["diagnostics"][0]["code"] == "PTG100"


def test_a_license_header_must_be_text(tmp_path: Path, capsys) -> None:
    (tmp_path / "header.txt").write_bytes(b"caf\xe9")
    assert cli.main(["kernel", "no.yaml", "--license-header", "header.txt"]) == 2
    assert "header.txt: error PTG102" in capsys.readouterr().err


def test_a_license_header_has_an_end_and_no_nul(tmp_path: Path, capsys) -> None:
    (tmp_path / "nul.txt").write_bytes(b"mine\nall\0mine\n")
    assert cli.main(["kernel", "no.yaml", "--license-header", "nul.txt"]) == 2
    assert "nul.txt:2:1: error PTG106: the file holds a NUL" in capsys.readouterr().err
    (tmp_path / "long.txt").write_text("\N{BULLET}" * 30_000)
    for path in ("/dev/zero", "long.txt"):
        assert cli.main(["kernel", "no.yaml", "--license-header", path]) == 2
        assert "a licence header has up to 65,536 bytes" in capsys.readouterr().err


# ops and platforms


def test_platforms(capsys) -> None:
    assert cli.main(["platforms"]) == 0
    text = capsys.readouterr().out
    assert "a2a3" in text and "196,608" in text and "tests/cpu/st/testcase" in text
    assert cli.main(["platforms", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)["platforms"]
    assert rows[0]["name"] == "a2a3" and rows[0]["ub_bytes"] == 196_608
    assert next(row for row in rows if row["name"] == "cpu")["modes"] == ["manual"]


def test_ops(capsys) -> None:
    assert cli.main(["ops"]) == 0
    assert {"tsort32 TSORT32", "tmrgsort TMRGSORT"} <= {
        " ".join(line.split()[:2]) for line in capsys.readouterr().out.splitlines()
    }
    assert cli.main(["ops", "tsort32"]) == 0
    text = capsys.readouterr().out
    assert "rows" in text and "required" in text and "float32, float16" in text and "per_row" in text
    assert cli.main(["ops", "tsort32", "--format", "json"]) == 0
    (op,) = json.loads(capsys.readouterr().out)["ops"]
    assert op["dtypes"]["a2a3"] == ["float32", "float16"]
    assert {field["name"] for field in op["fields"]} >= {"dtype", "rows", "cols", "valid", "idx", "data", "seed", "ub"}


# The document of the codes


def test_the_page_of_codes_is_current() -> None:
    root = Path(ptogen.__file__).parents[1]
    page = (root / "docs" / "codes.md").read_text()
    script = [sys.executable, str(root / "docs" / "codes.py")]
    assert subprocess.run(script, capture_output=True, text=True, check=True).stdout == page
    assert all(f"`{code}`" in page for code in CODES)
