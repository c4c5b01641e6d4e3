"""The judge of broken kernels: the compiler, ``ptogen sanitize``, every timing, then the golden.

All mutants of a suite stand in one file, each in a namespace of its own, behind the suite's own launch functions: the
n-th time that a test runs, it launches the n-th mutant. So a suite is compiled once and its program repeats itself.
Instructions are recorded and not computed; only what the sanitizer and the timings leave open is computed as well, as
``ptogen check`` does it, and compared with the golden.
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mutants.corpus import ROOT
from mutants.cpp_ways import WAYS
from mutants.plans import Verdict
from mutants.timing import same_results
from ptogen.backend import compile, headers, runtime, toolchain
from ptogen.backend.compile import Compiler
from ptogen.backend.headers import Headers
from ptogen.backend.host_kernel import LAUNCH
from ptogen.check.events import UB, Event
from ptogen.ops import catalogue, instructions
from ptogen.platforms import IN_ORDER, PLATFORMS, Platform
from ptogen.sanitize import recorder
from ptogen.sanitize.judge import sanitize
from ptogen.sanitize.reader import Reader
from ptogen.sanitize.recording import cores

FUNCTION = re.compile(
    r"^(?:template <[^(){};]*>\n)?[^\n{};#/]*?\b(?P<name>(?:Run|Launch)\w+)\([^{;]*?\)\s*\{(?:[^\n]*\}\n|.*?^\}\n)",
    re.MULTILINE | re.DOTALL,
)

CASE = re.compile(r'\blaunch\(\s*"(\w+)",\s*(Launch(\w+?)(?:<[^;]*>)?)\);')
"""A case in ``LaunchCase``: its name, what launches it, and what that is called without ``Launch``."""

MEMORY_BYTES = 512 << 10
"""Of UB in the recorded program: every tile of a mutant lies in it, the ones past the end of UB, too."""

OPTIONS = {
    "clang": ("-ferror-limit=0", "-ftemplate-backtrace-limit=0"),
    "gcc": ("-fmax-errors=0", "-ftemplate-backtrace-limit=0"),
}
"""So that one compilation names every mutant that does not compile."""

LIBRARIES = ("-lgtest", "-lgtest_main", *compile.LIBRARIES)

INCLUDES = """\
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>
#include <gtest/gtest.h>
"""

CHOOSE = """
// A tile without an address shall have none, and not what a call before has left on the stack.
__attribute__((noinline)) static void ClearStack()
{
    volatile char below[1 << 16];
    std::memset(const_cast<char*>(below), 0, sizeof(below));
}

// Which mutant the running test launches: the next one each time it runs, none where that is to be left out.
static int Mutant(const std::vector<int>& mutants)
{
    static std::map<std::string, std::size_t> turns;
    const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
    const std::size_t turn = turns[test]++;
    const int chosen = turn == 0 || turn > mutants.size() ? 0 : mutants[turn - 1];
    const char* skipped = std::getenv("MUTANTS_SKIPPED");
    const int mutant = skipped && std::strstr(skipped, (" " + std::to_string(chosen) + " ").c_str()) ? -1 : chosen;
    std::ofstream(std::getenv("MUTANTS_LAUNCHED"), std::ios::app) << test << " " << mutant << std::endl;
    ClearStack();
    return mutant;
}
"""


@dataclass(frozen=True)
class Mutant:
    """A broken kernel function.

    Attributes:
        number: its namespace.
        way: how it was made.
        function: the function, ``Run…``.
        where: at which place of it.
        text: the function, broken.
    """

    number: int
    way: str
    function: str
    where: str
    text: str


@dataclass
class Source:
    """A kernel file in parts: what stands before the first function, and the functions by name.

    Attributes:
        cases: of each test what launches it, and the kernel's name.
    """

    before: str
    functions: dict[str, str]
    cases: dict[str, tuple[str, str]]

    @classmethod
    def read(cls, text: str) -> Source:
        # Every program here is one of the simulator: a launch is a call.
        text = LAUNCH.sub("", text)
        found = list(FUNCTION.finditer(text))
        functions = {match["name"]: match[0] for match in found}
        cases = {match[1]: (match[2], f"Run{match[3]}") for match in CASE.finditer(functions.pop("LaunchCase"))}
        return cls(text[: found[0].start()], functions, cases)

    @property
    def runs(self) -> list[str]:
        return [name for name in self.functions if name.startswith("Run")]

    def tests_of(self, run: str) -> list[str]:
        """The tests that launch a kernel."""
        return [test for test, (_, kernel) in self.cases.items() if kernel == run]

    def with_mutants(self, mutants: Sequence[Mutant]) -> tuple[str, dict[int, int]]:
        """One file with all of them, and the number of the mutant by line; 0 is the kernel as it is."""
        text, owners = f"{INCLUDES}{self.before}{CHOOSE}", {}

        def put(number: int, functions: Sequence[str]) -> None:
            nonlocal text
            start = text.count("\n")
            text += f"namespace mutant_{number} {{\n{''.join(functions)}}}\n"
            owners.update(dict.fromkeys(range(start + 1, text.count("\n") + 1), number))

        put(0, list(self.functions.values()))
        for mutant in mutants:
            put(mutant.number, [mutant.text, self.functions[f"Launch{mutant.function.removeprefix('Run')}"]])
        text += "void LaunchCase(const std::string& name, void* const* gm, void* stream)\n{\n"
        for test, (launcher, run) in self.cases.items():
            own = [mutant.number for mutant in mutants if mutant.function == run]
            text += f'    if (name == "{test}") {{\n        switch (Mutant({{{", ".join(map(str, own))}}})) {{\n'
            for number in own:
                # An error in an instance is the mutant's.
                text += f"            case {number}: return mutant_{number}::{launcher}(gm, stream);\n"
                owners[text.count("\n")] = number
            text += f"            default: return mutant_0::{launcher}(gm, stream);\n        }}\n    }}\n"
        return text + "}\n", owners


def mutants_of(source: Source, seed: str, most: int) -> list[Mutant]:
    """The mutants of every kernel function in every way; at most ``most`` places of each, drawn with a seed."""
    found: list[Mutant] = []
    for run in source.runs:
        for way in WAYS:
            places = list(way.mutants(source.functions[run]))
            chosen = range(len(places))
            if len(places) > most:
                chosen = sorted(random.Random(f"{seed} {run} {way.name}").sample(chosen, most))
            found += [Mutant(len(found) + 1 + at, way.name, run, *places[one]) for at, one in enumerate(chosen)]
    return found


@dataclass
class Suite:
    """A rendered suite to break.

    Attributes:
        name: for the reader.
        folder: its ST directory; only read.
        platform: whose rules hold.
        place: a folder to work in.
        most: places of a way that are tried in one function.
    """

    name: str
    folder: Path
    platform: Platform
    place: Path
    most: int = 2

    @property
    def key(self) -> tuple[str, ...]:
        """Suites with the same one have the same verdicts: the text, the names of the suite aside, and the rules."""
        text = "".join(file.read_text(encoding="utf-8") for file in sorted(self.folder.glob("*.cpp")))
        rules = (self.platform.family, self.platform.ub_bytes, self.platform.ub_most, self.platform.event_ids)
        return (re.sub(r"^// Generated by[^\n]*\n", "", text, flags=re.MULTILINE), *map(str, rules))

    def verdicts(self, headers: Headers, compiler: Compiler) -> list[Verdict]:
        """What became of every mutant, the kernel as it is first."""
        file = next(self.folder.glob("*_kernel.cpp"))
        self._source = Source.read(file.read_text(encoding="utf-8"))
        self._headers, self._compiler = headers, compiler
        mutants = mutants_of(self._source, self.name, self.most)
        objections = self._build(file.name, mutants)
        alive = [mutant for mutant in mutants if mutant.number not in objections]
        chunks, crashed = self._run(alive)
        objections |= crashed
        recorded = self._judged(chunks)
        for number, codes in recorded.items():
            objections[number] = objections.get(number, ()) + codes
        objections[0] = objections.get(0, ())
        events = {
            number: [one for piece in _pieces(lines) for one in self._events(piece)]
            for number, lines in chunks.items()
            if not objections[number]
        }
        found = [Verdict("as it is", self.name, "", objections[0])]
        open_ = []
        for mutant in mutants:
            codes = objections.get(mutant.number, ("not run",))
            equivalent = not codes and self._same(events[mutant.number], self._original(mutant))
            open_ += [mutant] * (not codes and not equivalent)
            found.append(Verdict(mutant.way, f"{self.name}-{mutant.function}", mutant.where, codes, equivalent))
        computed = self._computed(file.name, open_) if open_ else {}
        return [replace(one, codes=computed.get(number, one.codes)) for number, one in enumerate(found)]

    # Building.

    def _build(self, name: str, mutants: Sequence[Mutant]) -> dict[int, tuple[str, ...]]:
        """The recorded program; gives the mutants that do not compile."""
        aicore = {"a2a3": 220, "a5": 310}.get(self.platform.family, 0)
        layer = recorder.prepare(self._headers, self._compiler, False, bool(aicore), lambda line: None)
        layer = replace(layer, options=(*layer.options, *OPTIONS[self._compiler.kind]))

        def build(files: Sequence[Path]) -> str | None:
            return recorder._build(self.place, self.place / "st", files, layer, self._compiler, aicore)

        return self._built(name, mutants, build)

    def _built(
        self, name: str, mutants: Sequence[Mutant], build: Callable[[Sequence[Path]], str | None]
    ) -> dict[int, tuple[str, ...]]:
        """Builds until what is left compiles; gives the mutants that do not."""
        refused: set[int] = set()
        while True:
            self._lay_out(name, [mutant for mutant in mutants if mutant.number not in refused])
            output = build(sorted((self.place / "st").glob("*.cpp")))
            if output is None:
                recorder._generate(self.place, self.place / "st")
                return {number: ("compiler",) for number in sorted(refused)}
            wrong = self._refused(output, name)
            assert wrong and 0 not in wrong, output[:4000]
            refused |= wrong

    def _lay_out(self, name: str, mutants: Sequence[Mutant]) -> None:
        shutil.rmtree(self.place, ignore_errors=True)
        shutil.copytree(self.folder, self.place / "st")
        shutil.copytree(ROOT / "generated" / "tests" / "common", self.place / "tests" / "common")
        text, self._owners = self._source.with_mutants(mutants)
        (self.place / "st" / name).write_text(text, encoding="utf-8")
        (self.place / "bin").mkdir()

    def _refused(self, output: str, name: str) -> set[int]:
        """The mutants that the compiler's errors stem from."""
        lines = (int(number) for number in re.findall(rf"{re.escape(name)}:(\d+):\d+:", output))
        return {self._owners[line] for line in lines if line in self._owners}

    # Running.

    def _run(self, mutants: Sequence[Mutant]) -> tuple[dict[int, list[str]], dict[int, tuple[str, ...]]]:
        """What each mutant recorded, and those that ended the program."""
        chunks: dict[int, list[str]] = {}
        crashed: dict[int, tuple[str, ...]] = {}
        self._base: dict[str, list[str]] = {}
        while True:
            recording = self.place / "recording.jsonl"
            recording.unlink(missing_ok=True)
            environment = {"PTOGEN_LEAST_BYTES": str(MEMORY_BYTES), "PTOGEN_RECORDING": str(recording)}
            run, launched = self._program(self.place / "bin" / "program", mutants, crashed, environment)
            pieces = _pieces(recording.read_text(encoding="utf-8", errors="replace").splitlines())
            for (test, number), piece in zip(launched, pieces, strict=False):
                if number == 0:
                    self._base.setdefault(test, piece)
                chunks.setdefault(number, []).extend(piece)
            if run.returncode in (0, 1):
                chunks.pop(-1, None)
                return chunks, crashed
            test, number = launched[-1]
            assert number > 0, run.stderr[-2000:]
            crashed[number] = ("simulator",)
            chunks = {}

    def _program(
        self, program: Path, mutants: Sequence[Mutant], skipped: Collection[int], environment: dict[str, str]
    ) -> tuple[subprocess.CompletedProcess[str], list[tuple[str, int]]]:
        """Runs every test as often as it has mutants; gives test and mutant of each launch."""
        launches = self.place / "launches.txt"
        launches.unlink(missing_ok=True)
        counts = [sum(mutant.function == run for mutant in mutants) for run in self._source.runs]
        run = subprocess.run(
            [program],
            cwd=program.parent,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            env={
                **os.environ,
                **environment,
                "PTOGEN_EXACT": "1",
                "MUTANTS_LAUNCHED": str(launches),
                "MUTANTS_SKIPPED": f" {' '.join(map(str, skipped))} ",
                "GTEST_REPEAT": str(max(counts) + 1),
                "GTEST_BRIEF": "0",
            },
        )
        lines = launches.read_text(encoding="utf-8").split("\n")[:-1]
        return run, [(line.split()[0], int(line.split()[1])) for line in lines]

    # Judging.

    def _judged(self, chunks: dict[int, list[str]]) -> dict[int, tuple[str, ...]]:
        """Codes of errors and warnings of each mutant; notes are none."""
        lines = []
        for number, chunk in chunks.items():
            for line in chunk:
                if line.startswith('{"t":"case"'):
                    line = json.dumps({**json.loads(line), "name": str(number)})
                lines.append(line)
        codes: dict[int, set[str]] = {number: set() for number in chunks}
        for case in sanitize(lines, self.place / "bin" / "program", self.platform):
            own = codes[int(case.name.rpartition(".")[2])]
            own.update(finding.code for finding in case.findings if finding.severity != "note")
        return {number: tuple(sorted(own)) for number, own in codes.items()}

    def _events(self, lines: Sequence[str]) -> list[list[Event]]:
        """The steps of each test in a chunk, tensors called by their place in the order of allocation."""
        found: list[list[Event]] = []
        recorded, memory = cores(lines)
        for core in recorded:
            for arg in (arg for line in core.lines for arg in line.get("a", ())):
                # Whether the simulator's memory looks written; what it holds is no part of the steps.
                arg.pop("fresh", None)
            run, _ = Reader(self.platform, instructions(), {}, memory).trace(core)
            allocated = [json.loads(line)["at"] for line in lines if line.startswith('{"t":"gm"')]
            names = {name: f"tensor {allocated.index(base) % 100}" for base, name in core.names.items()}
            found.append([_renamed(event, names) for event in run.events])
        return found

    def _original(self, mutant: Mutant) -> list[list[Event]]:
        """The steps of the kernel as it is, in every test that launches what the mutant breaks."""
        tests = self._source.tests_of(mutant.function)
        return [events for test in tests for events in self._events(self._base[test])]

    def _same(self, mutant: list[list[Event]], original: list[list[Event]]) -> bool:
        """Whether a mutant leaves in GM what the original leaves there, in every test."""
        family = self.platform.family
        return len(mutant) == len(original) and all(
            same_results(one, other, one_by_one=family == "cpu", ordered=IN_ORDER[family])
            for one, other in zip(mutant, original, strict=True)
        )

    def _computed(self, name: str, mutants: Sequence[Mutant]) -> dict[int, tuple[str, ...]]:
        """By place among all verdicts: the mutants that the simulator refuses, and those whose results are wrong."""
        defects = frozenset(defect.id for op in catalogue().values() for defect in op.defects)
        made = runtime.prepare(runtime.Kind("manual", False, defects), self._compiler, self._headers)
        host, program = made.host, self.place / "bin" / "program"

        def build(files: Sequence[Path]) -> str | None:
            options = [*self._compiler.command, *made.options, *OPTIONS[self._compiler.kind], "-w"]
            objects = [str(file.with_suffix(".o")) for file in files]
            options.append(f"-I{self.place / 'tests' / 'common'}")
            jobs = [[*options, "-c", str(file), "-o", made] for file, made in zip(files, objects, strict=True)]
            jobs.append([*self._compiler.command, *objects, str(host), "-o", str(program), *LIBRARIES])
            for job in jobs:
                run = subprocess.run(job, capture_output=True, text=True, errors="replace")
                if run.returncode:
                    return run.stderr
            return None

        found = self._built(name, mutants, build)
        left = [mutant for mutant in mutants if mutant.number not in found]
        while True:
            run, launched = self._program(program, left, found, {})
            if run.returncode in (0, 1):
                break
            found[launched[-1][1]] = ("simulator",)
        ends = re.findall(r"^\[ +(OK|FAILED) +\] \S+ \(", run.stdout, re.MULTILINE)
        assert len(ends) == len(launched), run.stdout[-2000:]
        for (_, number), end in zip(launched, ends, strict=True):
            if end == "FAILED":
                assert number != 0, run.stdout[:4000]
                found[number] = ("golden",)
        return found


def _pieces(lines: Sequence[str]) -> list[list[str]]:
    """A recording, cut where a test begins."""
    pieces: list[list[str]] = []
    for line in lines:
        if line.startswith('{"t":"case"'):
            pieces.append([])
        pieces[-1].append(line)
    return pieces


def suites(place: Path) -> list[Suite]:
    """Every suite in ``generated/``, each with a folder to work in under a place."""
    return [
        Suite(f"{folder.name}-{platform.name}", folder, platform, place / platform.name / folder.name)
        for platform in PLATFORMS.values()
        for folder in sorted(path.parent for path in (ROOT / "generated" / platform.st_root).glob("*/main.cpp"))
    ]


def verdicts(suite: Suite) -> list[Verdict]:
    """What became of every mutant of a suite, with the headers and the compiler at hand."""
    found = headers.find(allow_fetch=True)
    return suite.verdicts(found, toolchain.find(found).compiler)


def _renamed(event: Event, names: dict[str, str]) -> Event:
    touches = (
        touch if touch.memory == UB else replace(touch, memory=names[touch.memory], name=names[touch.name])
        for touch in event.touches
    )
    return replace(event, touches=tuple(touches))
