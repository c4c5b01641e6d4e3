"""From a spec file to suites: every fault of the file in one run, each with its place and a way out."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path as FilePath
from typing import Any

from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.graph.model import Graph
from ptogen.ops import catalogue
from ptogen.ops.base import Op
from ptogen.ops.case import CaseFields, Fault
from ptogen.platforms import PLATFORMS, UB_BLOCK_BYTES, Platform
from ptogen.spec.case import NAME, TOP, CaseReader, case_name
from ptogen.spec.document import MAX_BYTES, read
from ptogen.spec.faults import Faults, clip, listing, quote
from ptogen.spec.fields import wrong_type
from ptogen.spec.model import Path, Suite

MODES = tuple(dict.fromkeys(mode for platform in PLATFORMS.values() for mode in platform.modes))

EXAMPLE = "op: tsort32\nplatform: a2a3\ndtype: float32\nrows: 2\ncols: 32"


def load(path: str | os.PathLike[str], *, ub_bytes: int | None = None) -> tuple[Suite, ...]:
    """The suites of a spec file, one a platform, in the order of the file.

    Args:
        path: the spec; messages name it as it is given.
        ub_bytes: capacity of UB to plan for, in place of the platform's.

    Raises:
        PtogenError: every fault of the file, in the order of the file.
    """
    try:
        with open(path, "rb") as stream:
            text = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error).lower()
        message = f"cannot read {clip(str(path), 300)}: {reason}"
        raise PtogenError(Diagnostic("PTG100", message, hint="give the path of a spec file")) from None
    return load_text(text, str(path), FilePath(path).parent, ub_bytes=ub_bytes)


def load_text(
    text: str | bytes,
    file: str,
    base: FilePath = FilePath(),
    *,
    ub_bytes: int | None = None,
    ops: Mapping[str, Op] | None = None,
) -> tuple[Suite, ...]:
    """The same for text that is already read.

    Args:
        text: the spec.
        file: what messages call it.
        base: where relative paths in ``data`` start.
        ub_bytes: capacity of UB to plan for, in place of the platform's.
        ops: the catalogue.

    Raises:
        PtogenError: every fault of the text, in its order.
    """
    if ub_bytes is not None and (ub_bytes <= 0 or ub_bytes % UB_BLOCK_BYTES):
        nearest = max(UB_BLOCK_BYTES, ub_bytes // UB_BLOCK_BYTES * UB_BLOCK_BYTES)
        message = f"a UB of {ub_bytes:,} bytes: the size must be a positive multiple of {UB_BLOCK_BYTES}"
        raise PtogenError(Diagnostic("PTG106", message, hint=f"the nearest is {nearest}"))
    faults = Faults()
    document = read(text, file, faults)
    if document.empty:
        faults.add("PTG107", "the file is empty", Position(file, 1, 1), f"a spec looks like this:\n{EXAMPLE}")
    elif not isinstance(document.data, dict):
        kind, hint = "a single value", f"a spec looks like this:\n{EXAMPLE}"
        if isinstance(document.data, list):
            kind, hint = "a list", "put the cases under `cases:`"
        faults.add("PTG106", f"a spec is a map of fields, not {kind}", document.marks.at(()), hint)
    elif "matrix" in document.data and "op" not in document.data:
        hint = "render it with `ptogen matrix`"
        faults.add("PTG105", "this is a matrix file, not a spec", document.marks.keys[("matrix",)], hint)
    else:
        return _SpecReader(document, base, catalogue() if ops is None else ops, faults).suites(ub_bytes)
    faults.raise_all()
    raise AssertionError("unreachable: the document was refused")


class _SpecReader(CaseReader):
    """One run over one document whose root is a map."""

    def suites(self, ub_bytes: int | None) -> tuple[Suite, ...]:
        op = self.ops.get(self.choice(("op",), self.data.get("op"), tuple(self.ops)) or "")
        platforms = self.platforms()
        mode = self.mode(platforms)
        name = self.name(("name",), self.data["name"]) if "name" in self.data else op and op.name
        entries = self.entries(op)
        cases = self.named(op, [(path, fields, self.case(op, path, fields, mode)) for path, fields in entries])
        if op:
            self.rules(op, cases, platforms, mode)
        self.faults.raise_all()
        assert op and name
        return tuple(
            Suite(
                graph=Graph.of(op),
                platform=platform,
                mode=mode,
                name=name,
                cases=tuple(cases.values()),
                ub_bytes=ub_bytes or platform.ub_bytes,
                marks=self.marks,
                paths=tuple(cases),
                base=self.base,
            )
            for platform in platforms
        )

    def platforms(self) -> list[Platform]:
        value = self.data.get("platform")
        chosen: list[str | None]
        parts = value.replace(",", " ").split() if isinstance(value, str) else []
        if isinstance(value, str) and len(parts) > 1 and set(parts) <= set(PLATFORMS):
            message = f"platform is not one platform: {quote(value)}"
            self.fault("PTG106", ("platform",), message, f"several are a list: [{', '.join(parts)}]")
            chosen = [*parts]
        elif not isinstance(value, list):
            chosen = [self.choice(("platform",), value, PLATFORMS)]
        else:
            chosen = [self.choice(("platform", index), item, PLATFORMS) for index, item in enumerate(value)]
            if not value:
                self.fault("PTG106", ("platform",), "platform is an empty list", f"name {listing(PLATFORMS, 'or')}")
        for index, name in enumerate(chosen):
            if name and name in chosen[: min(index, len(PLATFORMS))]:
                message = f"platform {name} stands twice in the list"
                self.fault("PTG106", ("platform", index), message, "remove one of the two")
        return [PLATFORMS[name] for name in dict.fromkeys(chosen) if name]

    def mode(self, platforms: list[Platform]) -> str:
        mode = self.choice(("mode",), self.data.get("mode", "manual"), MODES) or "manual"
        for platform in platforms:
            if mode not in platform.modes:
                message = f"mode {mode} does not exist on platform {platform}"
                hint = f"use mode {listing(platform.modes, 'or')}, or another platform"
                self.fault("PTG203", ("mode",), message, hint)
        return mode

    def entries(self, op: Op | None) -> list[tuple[Path, dict[str, Any]]]:
        """Place and fields of every case that is a map."""
        fields = {key: value for key, value in self.data.items() if key not in TOP}
        if "cases" not in self.data:
            return [((), fields)]
        known = self.known(op)
        strays = [key for key in fields if key in known]
        for key in fields:
            if key not in known:
                self.unknown(op, (), key)
        if strays:
            belong = "belongs" if len(strays) == 1 else "belong"
            message = f"{listing(strays)} {belong} to a case, but the file has a list of cases"
            hint = "write such fields in each case; without `cases` they make a single case"
            self.faults.add("PTG105", message, self.marks.keys[(strays[0],)], hint)
        cases = self.data["cases"]
        if not isinstance(cases, list):
            message, _ = wrong_type("cases", "list", cases, self.document.scalars.get(("cases",)))
            self.fault("PTG106", ("cases",), message, "write `- ` before each case")
            return []
        if not cases:
            self.fault("PTG106", ("cases",), "cases is an empty list", "give at least one case")
        for index, case in enumerate(cases):
            if not isinstance(case, dict):
                path = ("cases", index)
                message, _ = wrong_type(f"case {index + 1}", "dict", case, self.document.scalars.get(path))
                self.fault("PTG106", path, message, "write `- {dtype: float32, rows: 2, cols: 32}`, for instance")
        return [(("cases", index), case) for index, case in enumerate(cases) if isinstance(case, dict)]

    def named(
        self, op: Op | None, cases: list[tuple[Path, dict[str, Any], CaseFields | None]]
    ) -> dict[Path, CaseFields]:
        """The cases that can be read, by their places, each with a name of its own."""
        named: dict[Path, CaseFields] = {}
        first: dict[str, tuple[Position, CaseFields | None, bool]] = {}
        for path, fields, case in cases:
            given = path != () and "name" in fields
            name = fields["name"] if given else case_name(op, case) if op and case else None
            if case:
                named[path] = case if given else case.model_copy(update={"name": name})
            place = self.marks.at((*path, "name") if given else path)
            if not isinstance(name, str) or not NAME.fullmatch(name):
                continue
            if name not in first:
                first[name] = (place, named.get(path), given)
                continue
            other, twin, other_given = first[name]
            if given and other_given:
                hint = "rename one of them"
            elif case and named[path] == twin:
                hint = "they are the same: remove one, or give one a `name`"
            else:
                hint = "give one of them another `name`"
            self.faults.add("PTG109", f"two cases are named {quote(name)}; the first is at {other}", place, hint)
        return named

    def rules(self, op: Op, cases: dict[Path, CaseFields], platforms: list[Platform], mode: str) -> None:
        """What the op itself refuses; a fault that not all platforms share names those that have it."""
        for path, case in cases.items():
            if mode == "auto" and case.ub is not None:
                case = case.model_copy(update={"ub": None})
            found: dict[Fault, list[str]] = {}
            for platform in platforms:
                known_mode = mode if mode in platform.modes else platform.modes[0]
                for fault in op.rules(case, platform, known_mode, self.base):
                    found.setdefault(fault, []).append(platform.name)
            for fault, names in found.items():
                field = tuple(int(part) if part.isdecimal() else part for part in fault.field.split("."))
                some = len(names) < len(platforms) and not all(name in fault.message for name in names)
                message = f"{fault.message} (on {listing(names)})" if some else fault.message
                self.fault(fault.code, field if fault.field in TOP[:3] else (*path, *field), message, fault.hint)
