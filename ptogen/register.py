"""Registers suites in a pto-isa checkout, and takes them back to the byte.

A test of pto-isa is a directory, a line in the list ``ALL_TESTCASES`` of its parent, and, on the platforms that
``tests/validate_op_coverage.py`` looks at, a call in ``tests/run_st.sh``. The directories are written like any tree;
this module adds the lines. ``CHECKOUT/.ptogen/registered.lines`` records each of them before it is added, so that they
can be found again, also after a run that was cut short.
"""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from pathlib import Path

from ptogen import output
from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.output import MANIFESTS, TEMPORARY, Change, Manifest, link_on
from ptogen.render.suite import RenderedSuite

MARK = "include/pto/pto-inst.hpp"
"""What a checkout with headers has; of one without, nothing can be said of what they lack."""

RECORD = f"{MANIFESTS}/registered.lines"
SCRIPT = "tests/run_st.sh"
LIST = "ALL_TESTCASES"

VERSIONS = {"a2a3": "a3", "a5": "a5", "kirin9030": "kirin9030"}
"""``-v`` of the runner, where the script must call every test (tests/validate_op_coverage.py, VERSION_PATHS)."""

HEADED = ("tests/cpu/st/testcase/CMakeLists.txt", "tests/npu/a2a3/src/st/testcase/CMakeLists.txt", "CMakeLists.txt")
"""Files of a checkout that begin as all its sources have to: one of the first that is there says how."""

Insertion = tuple[int, str]
"""Where a line goes in a text, and the line."""


@dataclass(frozen=True)
class Entry:
    """A suite as a checkout knows it: its key, its platform and its directory, and what its cases require."""

    key: str
    platform: str
    directory: str
    requires: tuple[str, ...] = ()

    @staticmethod
    def of(suite: RenderedSuite) -> Entry:
        requires = dict.fromkeys(name for case in suite.meta["cases"] for name in case["requires"])
        return Entry(suite.key, suite.meta["platform"], suite.directory, tuple(requires))

    @property
    def name(self) -> str:
        return self.directory.rpartition("/")[2]

    @property
    def list_file(self) -> str:
        """The file with the list that names it."""
        return f"{self.directory.rpartition('/')[0]}/CMakeLists.txt"


def guard(checkout: Path, entries: Iterable[Entry], force: bool = False) -> list[Diagnostic]:
    """Makes sure that the checkout can take the suites; its headers may lack what they need only with ``force``, and
    then there are warnings.

    Raises:
        PtogenError: PTG116 for each that it cannot: there is no list, or the directory is somebody else's; PTG112 at a
            symbolic link.
    """
    from ptogen.backend.since import without_file

    faults: list[Diagnostic] = []
    warnings: list[Diagnostic] = []
    for entry in entries:
        place = checkout / entry.directory
        known = any((checkout / MANIFESTS / f"{entry.key}.{ending}").exists() for ending in ("json", "pending"))
        if link := link_on(checkout, entry.directory):
            message = "ptogen does not write through a symbolic link"
            hint = "render for the platform that it points to, or give the suite another `name`"
            faults.append(Diagnostic("PTG112", message, Position(str(checkout / link)), hint=hint))
        elif place.exists() and not known:
            message = f"{entry.directory} is there already, and ptogen has not made it"
            faults.append(Diagnostic("PTG116", message, Position(str(checkout)), hint="give the suite another `name`"))
        elif not (checkout / entry.list_file).is_file() or link_on(checkout, entry.list_file):
            message = f"this is no checkout of pto-isa: there is no {entry.list_file}"
            faults.append(Diagnostic("PTG116", message, Position(str(checkout)), hint="give the root of a checkout"))
        elif _list_end((checkout / entry.list_file).read_text(encoding="utf-8", errors="surrogateescape")) is None:
            message = f"there is no list {LIST} in this file"
            faults.append(Diagnostic("PTG116", message, Position(str(checkout / entry.list_file))))
        elif (checkout / MARK).is_file() and (absent := without_file(entry.requires, checkout / "include")):
            message = f"{entry.key} cannot be built there: the headers have no {', '.join(absent)}"
            fault = Diagnostic("PTG116", message, Position(str(checkout)), hint="give a newer checkout, or --force")
            (warnings if force else faults).append(replace(fault, hint=None, severity="warning") if force else fault)
    if faults:
        raise PtogenError(dict.fromkeys(faults))
    return warnings


def license_header(checkout: Path) -> str | None:
    """The licence text on top of a checkout's own sources, without comment marks; None where they have none."""
    for file in HEADED:
        try:
            lines = _text(checkout / file).splitlines()
        except OSError:
            continue
        comment = list(takewhile(lambda line: line.startswith("#"), lines))
        text = "\n".join(line.lstrip("#").strip() for line in comment if line.strip("#-= \t")).strip()
        if "copyright" in text.lower():
            return text
    return None


def register(checkout: Path, entries: Sequence[Entry], *, dry_run: bool = False) -> list[str]:
    """Adds what is missing of the lines that name the suites; the files that this changes, or would change."""
    added: dict[str, list[Callable[[str], Insertion | None]]] = {}
    for entry in entries:
        added.setdefault(entry.list_file, []).append(partial(_list_line, name=entry.name))
        if entry.platform in VERSIONS and (checkout / SCRIPT).is_file() and not link_on(checkout, SCRIPT):
            call = partial(_call, version=VERSIONS[entry.platform], name=entry.name)
            added.setdefault(SCRIPT, []).append(call)
    record = _read(checkout)
    texts: dict[str, str] = {}
    for file, steps in added.items():
        text = _text(checkout / file)
        for step in steps:
            place = step(text)
            if place is None:
                continue
            at, line = place
            record.setdefault(file, []).append(line)
            if "\r\n" in text:
                line = line.replace("\n", "\r\n")
            text = texts[file] = text[:at] + line + text[at:]
    if texts and not dry_run:
        _write(checkout / RECORD, json.dumps(record, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
        for file, text in texts.items():
            _write(checkout / file, text)
    return list(texts)


def withdraw(checkout: Path, keys: Iterable[str] | None = None, *, dry_run: bool = False) -> list[Change]:
    """Takes suites out of a checkout, or out of any tree: their lines, files and records.

    Args:
        checkout: where they are.
        keys: of the suites; None: all that ptogen has written there.
        dry_run: only say what would be removed.
    """
    manifests = output.read(checkout)
    chosen = [manifest for manifest in manifests if keys is None or manifest.key in set(keys)]
    record = _read(checkout)
    if record and not dry_run:
        _unregister(checkout, record, None if keys is None else chosen)
    if keys is None:
        return output.clean(checkout, dry_run=dry_run)
    changes = output.remove(checkout, [manifest.key for manifest in chosen], dry_run=dry_run)
    if not dry_run and not output.read(checkout):
        output.clean(checkout)
    return changes


def _unregister(checkout: Path, record: dict[str, list[str]], manifests: Sequence[Manifest] | None) -> None:
    """Takes the recorded lines out again: all of them, or those of some suites."""
    kept: dict[str, list[str]] = {}
    for file, lines in record.items():
        names = None if manifests is None else [_entry(manifest) for manifest in manifests]
        gone = [line for line in lines if names is None or _names(file, line, names)]
        if rest := [line for line in lines if line not in gone]:
            kept[file] = rest
        place = checkout / file
        if gone and place.is_file() and not link_on(checkout, file):
            text = old = _text(place)
            # The last one added went in last, right behind the others.
            for line in reversed(gone):
                text = _without(text, line)
            if text != old:
                _write(place, text)
    if kept:
        _write(checkout / RECORD, json.dumps(kept, indent=2, sort_keys=True, ensure_ascii=False) + "\n")
    else:
        (checkout / RECORD).unlink(missing_ok=True)


def _without(text: str, line: str) -> str:
    """The text without the last place where the line stands as a whole, whatever its line ends have become."""
    whole = r"\r?\n".join(map(re.escape, line.split("\n")))
    places = list(re.finditer(whole if line[0] == "\n" else rf"^{whole}", text, re.MULTILINE))
    return text[: places[-1].start()] + text[places[-1].end() :] if places else text


def _entry(manifest: Manifest) -> Entry:
    return Entry(manifest.key, str(manifest.suite.get("platform")), manifest.directory)


def _names(file: str, line: str, entries: Sequence[Entry]) -> bool:
    if file == SCRIPT:
        return any(line.split()[-4:] == ["-v", VERSIONS.get(entry.platform), "-t", entry.name] for entry in entries)
    return any(file == entry.list_file and line.strip() == entry.name for entry in entries)


# The two kinds of lines; None where one is there already.


def _list_end(text: str) -> tuple[int, list[str], str] | None:
    """Where the list of tests ends, the names in it, and how its lines begin."""
    head = re.search(rf"^[ \t]*set\({LIST}\b", text, re.MULTILINE)
    if head is None:
        return None
    names: list[str] = []
    indent, place = "    ", head.end()
    for line in text[place:].splitlines(keepends=True):
        code, closed, _ = line.partition("#")[0].partition(")")
        words = code.split()
        names += words
        if words and code[:1] in (" ", "\t") and place > head.end():
            indent = code[: len(code) - len(code.lstrip())]
        elif words and place > head.end():
            indent = ""
        if closed:
            return place + len(code), names, indent
        place += len(line)
    return None


def _list_line(text: str, name: str) -> Insertion | None:
    found = _list_end(text)
    if found is None or name in found[1]:
        return None
    end, _, indent = found
    start = text.rfind("\n", 0, end) + 1
    if text[start:end].strip():
        return end, f"\n{indent}{name}\n"
    return start, f"{indent}{name}\n"


def _call(text: str, version: str, name: str) -> Insertion | None:
    """Behind the last call of a whole test on this platform, and made like it.

    Where there is one, that is a call which no condition on auto mode surrounds: such a block holds the tests that do
    not compile in auto mode, and a suite of ptogen does.
    """
    if re.search(rf"-v\s+{version}\s+-t\s+{re.escape(name)}(\s|$)", text):
        return None
    call = re.compile(rf"([ \t]*python3 tests/script/run_st\.py[^\n]*?-v\s+{version}\s+-t )(?!comm/)\S+[ \t]*\r?$")
    found: dict[bool, tuple[int, str]] = {}
    end, conditions = 0, [""]
    for line in text.splitlines(keepends=True):
        end += len(line)
        word = (line.split() or [""])[0]
        if word == "if" and not re.search(r"\bfi\s*$", line):
            conditions.append(line)
        elif word in ("elif", "else"):
            conditions[-1] = line
        elif word == "fi" and len(conditions) > 1:
            conditions.pop()
        elif match := call.match(line.removesuffix("\n")):
            found[any("AUTO_MODE" in condition for condition in conditions)] = end, match[1]
    if not found:
        return None
    place, beginning = found.get(False) or found[True]
    line = f"{beginning}{name}\n"
    return (place, line) if text[:place].endswith("\n") else (place, f"\n{line}")


# Files


def _text(place: Path) -> str:
    with open(place, encoding="utf-8", errors="surrogateescape", newline="") as file:
        return file.read()


def _write(place: Path, text: str) -> None:
    """In one step, with the mode that the file has."""
    temporary = place.parent / f"{TEMPORARY}{os.getpid()}"
    try:
        with open(temporary, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            if place.exists():
                os.fchmod(file.fileno(), stat.S_IMODE(place.stat().st_mode))
            file.write(text)
        os.replace(temporary, place)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise PtogenError(
            Diagnostic("PTG113", f"the output cannot be written: {reason}", Position(str(place)))
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def _read(checkout: Path) -> dict[str, list[str]]:
    """The recorded lines by file; nothing where the record says nothing that ptogen writes."""
    try:
        data = json.loads((checkout / RECORD).read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(data, dict):
        return {}
    return {
        file: [line for line in lines if isinstance(line, str)]
        for file, lines in data.items()
        if isinstance(lines, list) and ".." not in file.split("/") and not file.startswith("/")
    }
