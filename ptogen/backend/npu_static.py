"""The backend ``npu-static``.

Compiles the kernels of a2a3 against the NPU's own headers, so that their static assertions hold, and says how many
cycles pto-isa's cost model gives each instruction.

The cost model (``pto/costmodel``) puts host functions under ``pto/npu/a2a3`` that count and compute nothing. Each PTO
instruction becomes a record with the sum of what it calls (``pto/costmodel/trace.hpp``, ``PtoInstrRecord``). That is a
model, not a measurement, and one instruction at a time: what pipes do at the same time is not in it, and flags and
barriers between instructions leave no record (``AppendCceCall`` drops what stands outside of an instruction).
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ptogen.backend import cache, children, compile, cpu_sim, host_kernel, memory, suite_run
from ptogen.backend import headers as _headers
from ptogen.backend.compile import BINDING, Compiler
from ptogen.backend.headers import Headers
from ptogen.backend.selection import ALL, Selection, choose
from ptogen.backend.toolchain import Toolchain
from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.output import Manifest
from ptogen.report.model import CaseResult, CheckReport, Cost, Outcome, SuiteResult
from ptogen.report.progress import Progress

NAME = "npu-static"

PLATFORM = "a2a3"
"""The only one that has a cost model (``pto/costmodel/common/arch_select.hpp``)."""

POLL_SECONDS = 0.05
"""So often is looked whether a case has ended."""

OPTIONS = (
    # Not C++23: there, g++ 14 has a std::float32_t, which the headers confuse with their own.
    "-std=c++20",
    "-O0",
    "-w",
    *compile.PREINCLUDES,
    "-D__COSTMODEL",
    "-D__NPU_ARCH__=2201",
    "-DPTO_COMM_NOT_SUPPORTED",
    f"-I{compile.OVERLAY / 'costmodel'}",
)

KINDS = {"TSTORE": "TSTORE_VEC", "TMOV": "TMOV_V2V"}
"""What ``enum Op`` of ``pto/common/event.hpp`` calls an instruction that it splits by the places of its tiles.

Every tile of a ptogen kernel lies in UB.
"""


@dataclass(frozen=True)
class Model:
    """A cost model that compiles.

    Attributes:
        headers: which hold it.
        digest: short hash of all that a kernel reads of them.
        instructions: the text that declares the instructions it has.
        pipes: pipe by entry of ``enum Op``.
    """

    headers: Headers
    digest: str
    instructions: str
    pipes: Mapping[str, str]

    def has(self, instruction: str) -> bool:
        """Whether there is such an instruction."""
        return re.search(rf"\b{re.escape(instruction)}\s*\(", self.instructions) is not None

    def pipe(self, instruction: str) -> str:
        """Where an instruction runs; ``unknown`` where the headers do not say."""
        return self.pipes.get(KINDS.get(instruction, instruction), "unknown")


@dataclass(frozen=True)
class Job:
    """One suite.

    Attributes:
        manifest: what the tree records of it.
        source: its ST directory.
        cases: the selected ones.
        model: to compile it with.
        compiler: to compile it with.
        timeout: seconds for one case.
    """

    manifest: Manifest
    source: Path
    cases: tuple[str, ...]
    model: Model
    compiler: Compiler
    timeout: float

    @property
    def kernel(self) -> Path:
        return self.source / f"{self.manifest.suite['name']}_kernel.cpp"

    @property
    def everything(self) -> tuple[str, ...]:
        """All cases of the suite: its program runs them, selected or not."""
        return tuple(str(case["name"]) for case in self.manifest.cases)


Costs = dict[str, list[tuple[str, int, int]]]
"""Instruction, calls and cycles of each case."""


def check(
    tree: Path,
    *,
    headers: Headers,
    toolchain: Toolchain,
    select: Selection = ALL,
    jobs: int | None = None,
    fail_fast: bool = False,
    progress: Progress | None = None,
    timeout: float = 120.0,
    memory_bytes: int | None = None,
    ended: Callable[[SuiteResult], None] = lambda suite: None,
) -> CheckReport:
    """Compiles the suites of a2a3 that the manifests of ``tree`` list, and asks the cost model for their cycles.

    A case passes where its suite compiles and the model gives its instructions; suites of other platforms, and those
    whose instruction the model has not got, are not run. The tree is only read.

    Args:
        tree: output root of ``ptogen kernel``.
        headers: from :func:`ptogen.backend.headers.find`; where their cost model does not compile, the pinned snapshot
            serves in their stead, and a note (PTG508) says so.
        toolchain: from :func:`ptogen.backend.toolchain.find`.
        select: which cases.
        jobs: compilers at once; default: one a processor.
        fail_fast: stop at the first fault; the other cases are reported as not run.
        progress: told what happens.
        timeout: seconds for one case, its compilation not included.
        memory_bytes: what compilers may take together; default: what is free.
        ended: told of each suite as soon as its cases have ended, from several threads.

    Raises:
        PtogenError: PTG507 where nothing is there to check; PTG502 where no cost model compiles with this compiler;
            PTG503 where the snapshot would serve and cannot be downloaded.
    """
    started = time.monotonic()
    progress, jobs = progress or Progress(), jobs or os.cpu_count() or 1
    chosen = choose(tree, select)
    served = [manifest for manifest, _ in chosen if serves(manifest)]
    if not served:
        held = tuple(f"{manifest.key} is for {manifest.suite['platform']}" for manifest, _ in chosen)
        message = f"no suite here is for {PLATFORM}, whose cost model {NAME} compiles with"
        hint = f"add {PLATFORM} to `platform` of the spec, or check with --backend {cpu_sim.NAME}"
        raise PtogenError(Diagnostic("PTG507", message, Position(select.place or str(tree)), held[:10], hint))
    model, notes = _model(headers, toolchain.compiler, progress)
    edited, unreadable = cpu_sim.look(tree, served)
    stop = suite_run.Stop(fail_fast)
    progress.line(f"giving {len(served)} suite{'s' * (len(served) != 1)} of {PLATFORM} to the cost model")
    progress.start(sum(len(cases) for _, cases in chosen))

    def one(choice: tuple[Manifest, list[str]]) -> SuiteResult:
        manifest, cases = choice
        source = (tree / manifest.directory).resolve()
        job = Job(manifest, source, tuple(cases), model, toolchain.compiler, timeout)
        results = _results(job, unreadable.get(manifest.key), stop)
        for case in cases:
            progress.advance(manifest.key, case)
        result = suite_run.result_of(manifest, results)
        ended(result)
        return result

    kernels = [path for manifest in served for path in (tree / manifest.directory).glob("*_kernel.cpp")]
    jobs = memory.compilers(jobs, memory_bytes, kernels, progress)
    with children.pool(1 if fail_fast else jobs) as pool:
        suites = tuple(pool.map(one, chosen))
    cache.prune("costs/*.json")
    used = model.headers
    return CheckReport(
        NAME,
        f"{used.origin}{f' ({used.version})' if used.version else ''}",
        str(toolchain.compiler),
        False,
        suites,
        notes=(*notes, *edited),
        seconds=time.monotonic() - started,
    )


def serves(manifest: Manifest) -> bool:
    """Whether a suite is one that this backend compiles."""
    return manifest.suite["platform"] == PLATFORM


def _model(headers: Headers, compiler: Compiler, progress: Progress) -> tuple[Model, list[Diagnostic]]:
    """The cost model of the headers at hand, else that of the pinned snapshot with a note."""
    digest, fault = _trial(headers.include, compiler)
    notes = []
    if fault:
        progress.line(f"the cost model of {headers.origin} does not compile; turning to the pinned snapshot")
        own, headers = headers, _headers.fetch(progress.line)
        digest, lasting = _trial(headers.include, compiler)
        if lasting:
            message = f"pto-isa's cost model does not compile with {compiler}"
            hint = "name another compiler with --compiler: g++ 12 or newer, or clang++ 17 or newer"
            raise PtogenError(Diagnostic("PTG502", message, details=lasting, hint=hint))
        message = f"the cost model of {own.origin} does not compile; {headers.origin} ({headers.version}) served for it"
        notes.append(Diagnostic("PTG508", message, details=fault[:2], severity="note"))
    pto = headers.include / "pto"
    instructions = (pto / "costmodel" / "pto_instr.hpp").read_text(encoding="utf-8", errors="replace")
    table = (pto / "common" / "event.hpp").read_text(encoding="utf-8", errors="replace")
    pipes = {name: pipe for pipe, name in re.findall(r"\b(PIPE_\w+)\s*/\*\s*(\w+)\s*\*/", table)}  # opPipeList
    return Model(headers, digest, instructions, pipes), notes


def _trial(include: Path, compiler: Compiler) -> tuple[str, tuple[str, ...]]:
    """Digest of the headers, and the compiler's first errors where a file with nothing in it does not compile.

    Success is remembered, failure is tried again next time.
    """
    others = [folder for folder in (include / "pto" / "npu").glob("*/") if folder.name != PLATFORM]
    read = [
        path
        for path in (include / "pto").rglob("*")
        if path.is_file() and not any(path.is_relative_to(folder) for folder in others)
    ]
    digest = cache.digest_files(include, read)
    stamp = cache.root() / "toolchains" / f"costmodel-{_key(compiler, digest)}.json"
    if cache.remembered(stamp) == {"works": str(compiler)}:
        return digest, ()
    with tempfile.TemporaryDirectory(prefix="ptogen-") as temporary:
        source = Path(temporary) / "trial.cpp"
        source.write_text("#include <ptogen/cycles.hpp>\n", encoding="utf-8")
        status, said = _call([*_command(compiler, include), "-fsyntax-only", str(source)])
    if status != 0:
        return digest, compile.first_errors(said)
    cache.remember(stamp, {"works": str(compiler)})
    return digest, ()


def _results(job: Job, fault: Diagnostic | None, stop: suite_run.Stop) -> tuple[CaseResult, ...]:
    """What became of the selected cases of one suite."""
    reason = _reason_not_to_run(job)
    if reason or (fault is None and stop.now):
        reason = reason or suite_run.STOPPED
        return tuple(CaseResult(case, Outcome.NOT_RUN, reason=reason) for case in job.cases)
    costs: Costs = {}
    lost: dict[str, str] = {}
    if fault is None:
        answer = _costs(job)
        if isinstance(answer, Diagnostic):
            fault = answer
        else:
            costs, lost = answer
    if fault is not None:
        stop.fault()
        place = f"{fault.position}: " if fault.position else ""
        output = (*fault.details, *([f"hint: {fault.hint}"] if fault.hint else []))
        whole = f"{place}{fault.message}"
        return tuple(CaseResult(case, Outcome.FAILED, 0.0, fault.code, whole, output) for case in job.cases)
    if any(case in lost for case in job.cases):
        stop.fault()
    return tuple(_case(job, case, costs, lost) for case in job.cases)


def _reason_not_to_run(job: Job) -> str:
    """Why the cost model cannot take a suite; empty where it can."""
    from ptogen.ops import catalogue

    platform = str(job.manifest.suite["platform"])
    if platform != PLATFORM:
        return f"{NAME} has a cost model of {PLATFORM} only, and this suite is for {platform}"
    op = catalogue().get(str(job.manifest.suite["op"]))
    if op is not None and not job.model.has(op.instruction):
        return f"the cost model of these headers has no {op.instruction} (pto/costmodel/pto_instr.hpp)"
    return ""


def _case(job: Job, case: str, costs: Costs, lost: Mapping[str, str]) -> CaseResult:
    if case in lost:
        return CaseResult(case, Outcome.FAILED, 0.0, "PTG506", lost[case])
    rows = tuple(
        Cost(instruction, calls, cycles, job.model.pipe(instruction))
        for instruction, calls, cycles in costs[case]
        if instruction not in BINDING
    )
    return CaseResult(case, Outcome.PASSED, costs=rows)


def _costs(job: Job) -> tuple[Costs, dict[str, str]] | Diagnostic:
    """The costs of every case, from the cache where nothing changed, with the reasons of those that have none.

    PTG505 where the suite does not compile, PTG100 where it cannot be read.
    """
    read = [path for path in job.source.rglob("*") if path.suffix in compile.SOURCES and path.is_file()]
    try:
        files = cache.digest_files(job.source, read)
        text = _program(job)
    except OSError as error:
        message = f"a file of the suite cannot be read: {(error.strerror or str(error)).lower()}"
        return Diagnostic("PTG100", message, Position(str(error.filename)))
    overlay = cache.digest_files(compile.OVERLAY, (compile.OVERLAY / "costmodel").rglob("*.hpp"))
    record = cache.root() / "costs" / f"{_key(job.compiler, job.model.digest, overlay, files, text)}.json"
    known = cache.remembered(record)
    if isinstance(known, dict) and known.keys() == set(job.everything):
        with suppress(OSError):
            os.utime(record)
        return known, {}
    with tempfile.TemporaryDirectory(prefix="ptogen-") as temporary:
        source, program = Path(temporary) / "cycles.cpp", Path(temporary) / "cycles"
        source.write_bytes(text.encode("utf-8", "surrogateescape"))
        auto = ["-D__PTO_AUTO__"] if job.manifest.suite["mode"] == "auto" else []
        # For what the kernel includes of its own folder.
        command = [*_command(job.compiler, job.model.headers.include), *auto, "-iquote", str(job.source)]
        status, said = _call([*command, str(source), "-o", str(program)])
        if status != 0:
            # An assertion of a template fails once for each case that uses it.
            details = tuple(dict.fromkeys(compile.first_errors(said, 100)))[:5]
            message = f"the kernel does not compile against the {PLATFORM} headers"
            return Diagnostic("PTG505", message, _place(said, job.kernel), details)
        costs, lost = _run(program, job)
    if not lost:
        cache.remember(record, costs)
    return costs, lost


def _program(job: Job) -> str:
    """A C++ file around the kernel.

    Raises:
        OSError: the kernel cannot be read.
    """
    from ptogen.ops import catalogue

    kernel = host_kernel.read(job.kernel)
    used = [op for op in catalogue().values() if re.search(rf"\b{op.instruction}\b", kernel)]
    lines = ["#include <ptogen/cycles.hpp>"]
    lines += [f"#include <{header}>" for header in dict.fromkeys(name for op in used for name in op.costmodel_headers)]
    lines += [host_kernel.for_cost_model(kernel, str(job.kernel)), '#line 1 "cycles"']
    lines += ["int main(int count, char** words)", "{", "    ptogen::Cycles cycles(count, words);"]
    lines += [f'    cycles.Case("{case}", LaunchCase);' for case in job.everything]
    return "\n".join([*lines, "}", ""])


def _run(program: Path, job: Job) -> tuple[Costs, dict[str, str]]:
    """Runs every case; after one that ends the program, or does not end, those behind it."""
    costs: Costs = {}
    lost: dict[str, str] = {}
    cases, at = job.everything, 0
    lines = program.with_suffix(".jsonl")
    while at < len(cases):
        lines.unlink(missing_ok=True)
        try:
            status, said = _call([str(program), str(lines), str(at)], job.timeout, lines)
            reason = _ending(status, said)
        except subprocess.TimeoutExpired:
            reason = f"no result after {job.timeout:g} s"
        for line in lines.read_text(encoding="utf-8").splitlines() if lines.is_file() else ():
            try:
                row = json.loads(line)
            except ValueError:
                break  # half a line is what a program leaves that is ended while it writes
            costs[row["case"]] = row["instructions"]
            at += 1
        if at < len(cases):
            lost[cases[at]] = reason
            at += 1
    return costs, lost


def _ending(status: int, said: str) -> str:
    last = ([line.strip() for line in said.splitlines() if line.strip()] or [""])[-1][:200]
    if status < 0:
        try:
            how = f"ended by {signal.Signals(-status).name}"
        except ValueError:
            how = f"ended by signal {-status}"
    else:
        how = f"ended with status {status}"
    return f"the cost model {how}{f': {last}' if last else ''}"


def _place(said: str, kernel: Path) -> Position:
    """The first line of the kernel that a compiler names: an assertion stands in a header, its cause does not."""
    found = re.search(rf"^{re.escape(str(kernel))}:(\d+):(\d+):", said, re.MULTILINE)
    return Position(str(kernel), int(found[1]), int(found[2])) if found else Position(str(kernel))


def _command(compiler: Compiler, include: Path) -> list[str]:
    return [*compiler.command, *OPTIONS, "-isystem", str(include)]


def _key(compiler: Compiler, *parts: str) -> str:
    return cache.digest(*compiler.command, compiler.version, *OPTIONS, *parts)


def _call(command: Sequence[str], seconds: float = 0.0, results: Path | None = None) -> tuple[int, str]:
    """Status of a command and what it said.

    Raises:
        subprocess.TimeoutExpired: after ``seconds`` in which the file of its results, if it has one, did not grow.
    """
    with tempfile.TemporaryFile() as said:
        environment = {**os.environ, "LC_ALL": "C.UTF-8"}
        process = children.start(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT, env=environment
        )
        try:
            status = _wait(process, seconds, results)
        finally:
            children.end(process)
            children.forget(process)
        said.seek(0)
        return status, said.read().decode("utf-8", "replace")


def _wait(process: subprocess.Popen[bytes], seconds: float, results: Path | None) -> int:
    if results is None:
        return process.wait()
    size, begun = 0, time.monotonic()
    while True:
        try:
            return process.wait(min(seconds, POLL_SECONDS))
        except subprocess.TimeoutExpired:
            now = results.stat().st_size if results.is_file() else 0
            if now > size:
                size, begun = now, time.monotonic()
            elif time.monotonic() - begun >= seconds:
                raise
