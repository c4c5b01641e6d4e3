"""Prints ``docs/codes.md``, the reference of every code; ``make docs`` puts it in its place."""

from __future__ import annotations

from ptogen.errors import CODES, Diagnostic, PtogenError

GROUPS = {
    "PTG1": "The spec and the output tree",
    "PTG2": "Rules of an op",
    "PTG3": "The plan",
    "PTG4": "Findings of the checkers",
    "PTG5": "Backends",
}


def page() -> str:
    lines = [
        "# Codes",
        "",
        "Every message about a spec, a plan, a tree or a backend has a code, and a code keeps its meaning for good.",
        "What is wrong with the command line itself is said without one, with status 2. This page is made from",
        "`ptogen/errors.py` by `make docs`; do not edit it.",
        "",
        "A run that reports several codes ends with status 1 where all of them are findings (PTG4xx), else with",
        "status 2. A note changes no status.",
        "",
        "`ptogen check` also gives codes to cases: PTG505 where the suite does not build, PTG506 where its program or",
        "its gen_data.py ends without a result, PTG100 where files of the suite cannot be read. Such a case has "
        "failed and",
        "the others run on, so the status is 1; it is 2 where the code stands for the whole run.",
    ]
    for prefix, title in GROUPS.items():
        codes = {code: meaning for code, meaning in CODES.items() if code.startswith(prefix)}
        status = {int(PtogenError(Diagnostic(code, "")).exit_code) for code in codes}
        note = "; 1 where it is a case that has the code" if prefix == "PTG5" else ""
        lines += ["", f"## {prefix}xx: {title} (exit status {', '.join(map(str, sorted(status)))}{note})", ""]
        lines += ["| code | meaning |", "|---|---|"]
        lines += [f"| `{code}` | {meaning} |" for code, meaning in codes.items()]
    assert sum(line.startswith("| `") for line in lines) == len(CODES), "a code belongs to no group"
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
