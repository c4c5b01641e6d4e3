"""A suite as an ST directory of pto-isa: kernel, host program, CMake file, data generator."""

from __future__ import annotations

from collections.abc import Sequence

from ptogen.ops.notes import VIEW
from ptogen.plan.model import Instruction, KernelPlan, Load, Store, walk
from ptogen.render.cpp import format_cpp
from ptogen.render.environment import environment
from ptogen.render.facts import banner, content_digest, facts
from ptogen.render.host import gen_data, harness, main_cpp
from ptogen.render.kernel import kernel_cpp, kernels
from ptogen.render.suite import RenderedSuite
from ptogen.spec.model import Suite


def render(suite: Suite, plans: Sequence[KernelPlan], license_header: str | None = None) -> RenderedSuite:
    """The files of one suite; nothing in them depends on the machine, the time or the folder.

    Args:
        suite: the cases.
        plans: their plans, in the same order, already checked.
        license_header: text to put on top of every file, without comment marks.
    """
    return render_all([(suite, plans)], license_header)[0]


def render_all(
    planned: Sequence[tuple[Suite, Sequence[KernelPlan]]], license_header: str | None = None
) -> list[RenderedSuite]:
    """The same for many suites, whose C++ is laid out together."""
    digests = [content_digest(suite) for suite, _ in planned]
    tops = [banner(suite, license_header, digest) for (suite, _), digest in zip(planned, digests, strict=True)]
    cpp: dict[tuple[int, str], str] = {}
    shared = harness(license_header)
    for number, ((suite, plans), top) in enumerate(zip(planned, tops, strict=True)):
        cpp[number, f"{suite.name}_kernel.cpp"] = kernel_cpp(kernels(plans), top)
        cpp[number, "main.cpp"] = main_cpp(suite, plans, top, shared[0].rpartition("/")[2])
    laid_out: list[dict[str, str]] = [{} for _ in planned]
    for (number, name), text in format_cpp(cpp).items():
        laid_out[number][name] = text
    return [
        _rendered(suite, plans, digests[number], tops[number], laid_out[number], dict([shared]))
        for number, (suite, plans) in enumerate(planned)
    ]


def _rendered(
    suite: Suite,
    plans: Sequence[KernelPlan],
    digest: str,
    top: str,
    cpp: dict[str, str],
    shared: dict[str, str],
) -> RenderedSuite:
    cmake = environment().get_template("st/CMakeLists.txt.j2")
    files = {
        "CMakeLists.txt": cmake.render(banner=top.splitlines(), helper=suite.platform.build_helper, name=suite.name),
        "gen_data.py": gen_data(suite, plans, top),
        **cpp,
    }
    paths = {f"{suite.directory}/{name}": text for name, text in sorted(files.items())}
    key = f"{suite.platform.name}-{suite.name}"
    meta = facts(suite, "st", digest)
    # Plans that cases share have the very same steps.
    views = {id(plan.program): plan for plan in plans}
    viewed = {number for number, plan in views.items() if _has_views(plan)}
    for case, plan in zip(meta["cases"], plans, strict=True):
        if id(plan.program) in viewed:
            case["requires"].append(VIEW.subject)
    return RenderedSuite(key, suite.directory, paths, meta, shared)


def _has_views(plan: KernelPlan) -> bool:
    """Whether a step takes a part of a tile as a tile of its own."""
    for step in walk(plan.program):
        if isinstance(step, Instruction | Load | Store):
            for _, window in step.args:
                tile = plan.tile(window.tile)
                if (window.rows, window.cols, window.valid_cols) != (tile.rows, tile.cols, tile.valid_cols):
                    return True
    return False
