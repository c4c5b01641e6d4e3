"""Makes the data of one suite, runs its program, and judges its cases."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ptogen.backend import children, defects, gtest
from ptogen.backend import run as running
from ptogen.backend.gtest import CaseRun
from ptogen.backend.project import Place
from ptogen.errors import Diagnostic
from ptogen.ops import catalogue
from ptogen.ops.base import Op
from ptogen.output import Manifest
from ptogen.report.model import Calls, CaseResult, Outcome, SuiteResult
from ptogen.report.progress import Progress

BFLOAT16 = "bfloat16"
"""What a case may require of the compiler (``requires`` of a manifest); all else there it requires of the headers."""

STOPPED = "stopped after the first failure (--fail-fast)"
"""Why a case did not run."""

LONGEST_SECONDS = 86_400.0
"""No gen_data.py gets more."""


@dataclass(frozen=True)
class Job:
    """One suite to run.

    Attributes:
        manifest: what the tree records of it.
        source: its ST directory.
        cases: the selected ones.
        place: of the build.
        pristine: whether upstream's own simulator is at work.
        present: known defects that the headers have.
        timeout: seconds for one case; gen_data.py gets as many for each case of its suite.
        twin: key of the suite whose program is run: its own, or one of equal text.
        lacking: what nobody has of that which cases require.
        faults: why the kernels of cases do not compile, by case.
    """

    manifest: Manifest
    source: Path
    cases: tuple[str, ...]
    place: Place
    pristine: bool
    present: frozenset[str]
    timeout: float
    twin: str
    lacking: frozenset[str] = frozenset()
    faults: Mapping[str, Diagnostic] = field(default_factory=dict)

    def facts(self, case: str) -> Mapping[str, Any]:
        """What the manifest says of a case."""
        return next(facts for facts in self.manifest.cases if facts["name"] == case)

    @property
    def work(self) -> Path:
        return self.place.work(self.manifest.key)

    def defects(self, case: str) -> tuple[str, ...]:
        """Ids of the listed defects that the case meets."""
        return tuple(self.facts(case).get("defects", ()))

    def lacks(self, case: str) -> str:
        """Why the case cannot run, by what it requires; empty where it can."""
        names = [name for name in self.facts(case).get("requires", ()) if name in self.lacking]
        return (
            f"{'the compiler has' if BFLOAT16 in names else 'these headers have'} no {', '.join(names)}"
            if names
            else ""
        )

    def fault(self, case: str) -> Diagnostic | None:
        """Why the kernel of the case does not compile, if so."""
        return self.faults.get(case)

    @property
    def can_run(self) -> list[str]:
        """The selected cases that have all they require, and a kernel."""
        return [case for case in self.cases if not self.lacks(case) and not self.fault(case)]


class Stop:
    """Whether ``--fail-fast`` has seen a fault."""

    def __init__(self, armed: bool) -> None:
        self.armed = armed
        self._seen = threading.Event()

    def fault(self) -> None:
        self._seen.set()

    @property
    def now(self) -> bool:
        return self.armed and self._seen.is_set()


def run(job: Job, fault: Diagnostic | None, stop: Stop, progress: Progress) -> SuiteResult:
    """The result of one suite.

    Args:
        job: the suite.
        fault: why it did not build, if so.
        stop: of the whole check.
        progress: told of each case that ended.
    """
    calls: tuple[Calls, ...] = ()
    if fault is not None:
        results = _unbuilt(job, fault)
    elif stop.now:
        results = _all(job, Outcome.NOT_RUN, None, STOPPED, ())
    elif not job.can_run:
        results = tuple(_judge(job, case, CaseRun(), False) for case in job.cases)
    else:
        results = _generate(job)
        if not results:
            results, calls = _run(job, stop, progress)
    if any(result.outcome is Outcome.FAILED for result in results):
        stop.fault()
    return result_of(job.manifest, results, calls)


def result_of(manifest: Manifest, cases: Sequence[CaseResult], calls: tuple[Calls, ...] = ()) -> SuiteResult:
    """The result of a suite, with what the manifest says that its cases are."""
    facts = manifest.suite
    return SuiteResult(
        manifest.key, str(facts["op"]), str(facts["platform"]), str(facts["mode"]), str(facts["test_suite"]),
        manifest.directory, _with_fields(manifest, cases), calls,
    )  # fmt: skip


def _with_fields(manifest: Manifest, results: Sequence[CaseResult]) -> tuple[CaseResult, ...]:
    fields = {case["name"]: case["fields"] for case in manifest.cases if isinstance(case.get("fields"), dict)}
    return tuple(replace(result, fields=fields.get(result.name, {})) for result in results)


def _unbuilt(job: Job, fault: Diagnostic) -> tuple[CaseResult, ...]:
    """Every case that has what it requires has failed."""
    return tuple(
        CaseResult(case, Outcome.NOT_RUN, reason=reason) if (reason := job.lacks(case)) else _refused(job, case, fault)
        for case in job.cases
    )


def _refused(job: Job, case: str, fault: Diagnostic) -> CaseResult:
    """A case whose kernel does not build: a known defect where that is why it does not on pristine headers."""
    place = f"{fault.position}: " if fault.position else ""
    hint = (f"hint: {fault.hint}",) if fault.hint else ()
    known = defects.known()
    blamed = [name for name in job.defects(case) if name in job.present and not known[name].defect.compiles]
    outcome = Outcome.KNOWN_DEFECT if job.pristine and blamed and fault.code == "PTG505" else Outcome.FAILED
    output = (*fault.details, *hint)
    return CaseResult(case, outcome, 0.0, fault.code, f"{place}{fault.message}", output, job.defects(case))


def _all(job: Job, outcome: Outcome, code: str | None, reason: str, output: Sequence[str]) -> tuple[CaseResult, ...]:
    """The same for every case."""
    return tuple(CaseResult(case, outcome, 0.0, code, reason, tuple(output), job.defects(case)) for case in job.cases)


def _generate(job: Job) -> tuple[CaseResult, ...]:
    """Runs gen_data.py beside the program, as pto-isa's runners do; results only where it fails."""
    job.work.mkdir(parents=True, exist_ok=True)
    for folder in job.work.glob(f"{job.manifest.suite['test_suite']}.*"):
        shutil.rmtree(folder, ignore_errors=True)
    script = job.source / "gen_data.py"
    if not script.is_file():
        return ()
    limit = min(job.timeout * len(job.manifest.cases), LONGEST_SECONDS)
    with tempfile.TemporaryFile() as said:
        try:
            shutil.copyfile(script, job.work / "gen_data.py")
            process = children.start(
                [sys.executable, "gen_data.py"], cwd=job.work, stdin=subprocess.DEVNULL, stdout=said, stderr=said
            )
        except OSError as error:
            reason = f"gen_data.py cannot be run: {(error.strerror or str(error)).lower()}"
            return _all(job, Outcome.FAILED, "PTG506", reason, ())
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            reason = f"gen_data.py gave no result after {limit:g} s ({job.timeout:g} s a case)"
            return _all(job, Outcome.FAILED, "PTG506", reason, ())
        finally:
            children.end(process)
            children.forget(process)
        if status == 0:
            return ()
        said.seek(max(0, said.seek(0, os.SEEK_END) - 8192))
        lines = said.read().decode("utf-8", "replace").splitlines()[-gtest.STDERR_LINES :]
    return _all(job, Outcome.FAILED, "PTG506", f"gen_data.py ended with status {status}", lines)


def _run(job: Job, stop: Stop, progress: Progress) -> tuple[tuple[CaseResult, ...], tuple[Calls, ...]]:
    counts = job.work / "counts.jsonl"
    counts.unlink(missing_ok=True)
    size = str(job.manifest.suite["ub_bytes"])
    environment = {**os.environ, "PTOGEN_UB_BYTES": size, "PTOGEN_COUNTS": str(counts), "PTOGEN_EXACT": "1"}
    if job.pristine:
        environment["PTO_CPU_SIM_UB_BYTES"] = size
    link = job.place.source(job.twin)
    folder = job.work / "bin"
    folder.mkdir(exist_ok=True)
    if strangers := _strangers(job, environment, folder):
        names = ", ".join(strangers[:5]) + (f" and {len(strangers) - 5} more" if len(strangers) > 5 else "")
        reason = f"the program holds tests that its manifest does not name: {names}"
        return _all(job, Outcome.FAILED, "PTG506", reason, ("hint: render the suite again with --force",)), ()
    runs = running.run_cases(
        job.place.program(job.twin),
        str(job.manifest.suite["test_suite"]),
        job.can_run,
        environment=environment,
        timeout=job.timeout,
        folder=folder,
        fail_fast=stop.armed,
        finished=lambda case: progress.advance(job.manifest.key, case),
    )
    for found in runs.values():
        found.output = [line.replace(f"{link}/", f"{job.source}/") for line in found.output]
    stopped = stop.armed and any(found.status in ("failed", "crashed") for found in runs.values())
    return tuple(_judge(job, case, runs.get(case, CaseRun()), stopped) for case in job.cases), _calls(counts)


def _strangers(job: Job, environment: Mapping[str, str], folder: Path) -> list[str]:
    """Tests of the program that are no case of the manifest: nobody would miss what became of them."""
    silent = {name: value for name, value in environment.items() if name != "PTOGEN_COUNTS"}
    tests = gtest.listed(job.place.program(job.twin), folder, silent, job.timeout)
    own = {f"{job.manifest.suite['test_suite']}.{case['name']}" for case in job.manifest.cases}
    return sorted((tests or set()) - own)


def _judge(job: Job, case: str, found: CaseRun, stopped: bool) -> CaseResult:
    """What the run of a case means."""
    if reason := job.lacks(case):
        return CaseResult(case, Outcome.NOT_RUN, reason=reason, defects=job.defects(case))
    if fault := job.fault(case):
        return _refused(job, case, fault)
    defects = _met(job, case)
    real = [name for name in defects if name in job.present]
    outcome, code, reason = Outcome.FAILED, None, ""
    if found.status == "passed":
        return CaseResult(case, Outcome.PASSED, found.seconds, defects=defects)
    if found.status == "skipped":
        outcome, reason = Outcome.NOT_RUN, "skipped by the program"
    elif found.status == "missing" and stopped:
        outcome, reason = Outcome.NOT_RUN, STOPPED
    elif found.status == "missing":
        code, reason = "PTG506", "the program has no such test"
    elif found.status == "crashed":
        code, reason = "PTG506", found.reason
    elif job.pristine and real:
        outcome, reason = Outcome.KNOWN_DEFECT, ", ".join(real)
    else:
        reason = "the test failed"
    return CaseResult(case, outcome, found.seconds, code, reason, tuple(found.output), defects)


def _met(job: Job, case: str) -> tuple[str, ...]:
    """The listed defects that a case meets, by its data where that decides."""
    op, names = catalogue().get(str(job.manifest.suite["op"])), job.defects(case)
    if op is None or type(op).meets is Op.meets:
        return names
    try:
        model = op.Case.model_validate_json(json.dumps(job.facts(case).get("fields", {})))
        return tuple(name for name in names if op.meets(name, model, job.source))
    except (ValueError, OSError):
        return names  # a manifest of another version, or data that is not here


def _calls(path: Path) -> tuple[Calls, ...]:
    """Sums of what the overlay counted (``overlay/simulator/ptogen/calls.hpp``)."""
    upstream: dict[str, int] = {}
    corrected: dict[str, dict[str, int]] = {}
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []
    # Of a case that was run twice, its last time counts.
    for line in {line.partition(', "calls"')[0]: line for line in lines}.values():
        for call in _entries(line):
            name, defect, count = str(call["instruction"]), call["defect"], int(call["count"] or 0)
            upstream.setdefault(name, 0)
            if defect is None:
                upstream[name] += count
            else:
                reasons = corrected.setdefault(name, {})
                reasons[str(defect)] = reasons.get(str(defect), 0) + count
    return tuple(Calls(name, upstream[name], corrected.get(name, {})) for name in sorted(upstream))


def _entries(line: str) -> Sequence[Mapping[str, str | int | None]]:
    """The entries of one line; none of one that a crash cut short."""
    try:
        return json.loads(line)["calls"]
    except (ValueError, KeyError, TypeError):
        return ()
