"""Reads one case: which keys it has, what they may be, and the model of its op."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Collection, Mapping
from itertools import islice
from pathlib import Path as FilePath
from typing import Any

from ptogen.dtypes import ALIASES, DTYPES
from ptogen.ops.base import Op
from ptogen.ops.case import DATA_KINDS, CaseFields
from ptogen.spec.document import Document
from ptogen.spec.faults import Faults, clip, listing, quote, suggest
from ptogen.spec.fields import build, wrong_choice, wrong_type
from ptogen.spec.model import Path
from ptogen.spec.names import no_op, platform_meant

TOP = ("op", "platform", "mode", "name", "cases")
"""Keys of the document itself; every other key belongs to a case."""

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
"""Names become C++ identifiers, file names and targets at once: ASCII, no leading underscore, a bounded length."""

_NAME_HINT = "use letters, digits and underscores, and a letter first"

CPP_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t
    class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue
    decltype default delete do double dynamic_cast else enum explicit export extern false float for friend
    goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast requires return short signed sizeof static static_assert
    static_cast struct switch template this thread_local throw true try typedef typeid typename union unsigned
    using virtual void volatile wchar_t while xor xor_eq
    """.split()
)


TARGETS = frozenset(
    """
    all clean depend dl edit_cache gmock gmock_main gtest gtest_main help install list_install_components m package
    package_source pthread rebuild_cache test uninstall
    """.split()
)
"""Targets and libraries that CMake and an ST's build already have."""

MACROS = frozenset("errno i386 linux stderr stdin stdout unix".split())
"""Macros without a capital; GoogleTest expands the names of its tests."""


def reserved(name: str) -> str | None:
    """Why a C identifier cannot be a name all the same."""
    if name in CPP_KEYWORDS:
        return "a C++ keyword"
    if name in TARGETS:
        return "the name of a target or library that every build has"
    if name in MACROS or (len(name) > 1 and name.upper() == name and any(map(str.isalpha, name))):
        return "a macro, or may be one: names in capitals are"
    if name.startswith("DISABLED_"):
        return "one that GoogleTest skips"
    return None


def case_name(op: Op, case: CaseFields) -> str:
    """The op's own name for a case; where that is too long, or no name, it is cut and a hash keeps it apart."""
    name = op.default_name(case)
    return name if NAME.fullmatch(name) else apart(name, name)


def apart(name: str, content: str) -> str:
    """``name`` with a hash of ``content`` behind it, 64 characters at most."""
    tail = hashlib.sha256(content.encode()).hexdigest()[:8]
    plain = re.sub("[^A-Za-z0-9_]", "_", name)
    return f"{plain[:55] if plain[:1].isalpha() else f'case_{plain[:50]}'}_{tail}"


def is_dtype(field: str) -> bool:
    """Whether a field names an element type; the models say text, the loader knows the types and their aliases."""
    return field == "dtype" or field.endswith("_dtype")


class CaseReader:
    """Everything that is judged in a case; each method reports to ``faults`` and goes on."""

    def __init__(self, document: Document, base: FilePath, ops: Mapping[str, Op], faults: Faults) -> None:
        self.document = document
        self.data: dict[str, Any] = document.data
        self.marks = document.marks
        self.base = base
        self.ops = ops
        self.faults = faults
        self.all_fields = {key: None for op in ops.values() for key in op.Case.model_fields} or CaseFields.model_fields
        self.files: dict[str, str | None] = {}

    def fault(self, code: str, path: Path, message: str, hint: str | None = None) -> None:
        self.faults.add(code, message, self.marks.at(path), hint)

    def choice(self, path: Path, value: Any, allowed: Collection[str]) -> str | None:
        """``value`` where it is one of the allowed words, else None and a fault."""
        label = next(part for part in reversed(path) if isinstance(part, str))
        if value is None:
            if not self.is_misspelt(label):
                words = "the name of one that `ptogen ops` lists" if label == "op" else listing(allowed, "or")
                self.fault("PTG107", path, f"{label} is missing", f"write `{label}:` with {words}")
        elif isinstance(value, str) and value in allowed:
            return value
        elif label == "op" and isinstance(value, str):
            self.fault("PTG106", path, *no_op(value, allowed))
        elif (
            label == "platform"
            and (scalar := self.document.scalars.get(path))
            and (meant := platform_meant(scalar.text))
        ):
            message, _ = wrong_choice(label, value, scalar, allowed)
            self.fault("PTG106", path, message, f"{scalar.text} is {meant} here: write {meant}")
        else:
            self.fault("PTG106", path, *wrong_choice(label, value, self.document.scalars.get(path), allowed))
        return None

    def is_misspelt(self, label: str) -> bool:
        """Whether a key of the document was probably meant to be ``label``: it is reported, and nothing is missing."""
        words = (*TOP, *self.all_fields)
        strange = (key for key in self.data if key not in words)
        return any(suggest(key, words, 0.6) == label for key in islice(strange, 20))

    def name(self, path: Path, name: Any) -> str | None:
        """``name`` where it can be one, else None and a fault."""
        if not isinstance(name, str):
            scalar = self.document.scalars.get(path)
            message, hint = wrong_type("name", "string", name, scalar)
            if scalar and scalar.text not in ("", "~") and not NAME.fullmatch(scalar.text):
                hint = _NAME_HINT
            self.fault("PTG106", path, message, hint)
        elif not name:
            self.fault("PTG108", path, "the name is empty", "write a name, or remove the key")
        elif len(name) > 64:
            message = f"the name `{clip(name, 20)}` is {len(name):,} characters long, more than 64"
            self.fault("PTG108", path, message, "write a shorter name")
        elif NAME.fullmatch(name) and (reason := reserved(name)):
            self.fault("PTG108", path, f"the name `{name}` is {reason}", f"write {name.lower()}_case, for instance")
        elif NAME.fullmatch(name):
            return name
        else:
            near = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_")
            near = f", such as {near}" if name.isascii() and NAME.fullmatch(near) and near not in CPP_KEYWORDS else ""
            self.fault("PTG108", path, f"the name {quote(name)} is not a C identifier", _NAME_HINT + near)
        return None

    def known(self, op: Op | None) -> Collection[str]:
        """The fields of a case; of any op where the op is not known."""
        return op.Case.model_fields if op else self.all_fields

    def unknown(self, op: Op | None, path: Path, key: str) -> str | None:
        """Reports a key that is not a field; the field that was probably meant, or None."""
        known = self.known(op)
        meant = None
        owners = [other.name for other in self.ops.values() if key in other.Case.model_fields]
        if key == "matrix":
            hint = "this is a matrix file: render it with `ptogen matrix`"
        elif key in TOP:
            hint = f"`{key}` stands at the top of the file and holds for all cases"
        elif owners:
            shown = owners if len(owners) < 5 else [*owners[:3], f"{len(owners) - 3} more"]
            hint = f"`{key}` is a field of {listing(shown)}"
        elif meant := self.faults.suggest(key, (*known, *TOP)):
            hint = f"did you mean `{meant}`?"
        else:
            hint = f"the fields of {op.name if op else 'a case'} are {listing(known)}"
        self.faults.add("PTG105", f"unknown key {quote(key)}", self.marks.keys[path + (key,)], hint)
        return meant

    def case(self, op: Op | None, path: Path, fields: dict[str, Any], mode: str) -> CaseFields | None:
        """The case without its default name; None where something is wrong that its rules depend on."""
        known = self.known(op)
        given = set(fields)
        data = {key: value for key, value in fields.items() if key in known}
        given.update(self.unknown(op, path, key) or key for key in fields if key not in known)
        if path == () and "cases" in given:
            given.update(known)  # the list of cases stands under another key, so no field is missing at the top
        for key in [key for key in data if is_dtype(key)]:
            dtype = ALIASES.get(data[key], data[key]) if isinstance(data[key], str) else data[key]
            data[key] = self.choice((*path, key), dtype, DTYPES)
            if data[key] is None:
                del data[key]
        if "name" in data and not self.name((*path, "name"), data["name"]):
            del data["name"]
        if "data" in data and not self.readable((*path, "data"), data["data"]):
            del data["data"]
        if "ub" in data and mode == "auto":
            message = "pinned addresses (ub) need mode manual: in mode auto the compiler places the tiles"
            self.faults.add("PTG204", message, self.marks.keys[path + ("ub",)], "remove `ub`, or use mode manual")
        if isinstance(data.get("ub"), dict):
            for operand, address in data["ub"].items():
                if type(address) is int and address < 0:
                    message = f"ub.{clip(operand)} is {address:,}; an address is at least 0"
                    self.fault("PTG106", (*path, "ub", operand), message, "addresses are bytes from the start of UB")
            data["ub"] = {key: 0 if type(value) is int and value < 0 else value for key, value in data["ub"].items()}
        if op is None:
            common = {key: value for key, value in data.items() if key in CaseFields.model_fields}
            build(CaseFields, common, path, self.document, self.faults, given)
            return None
        case = build(op.Case, data, path, self.document, self.faults, given)
        lost = given - set(data) - {"name", "data"}
        return None if lost & set(known) else case

    def readable(self, path: Path, data: Any) -> bool:
        """Whether ``data`` is a kind of input or a file that can be opened; its content is for the op to judge."""
        if not isinstance(data, str) or data in DATA_KINDS:
            return self.choice(path, data, DATA_KINDS) is not None
        if not data.endswith(".npy"):
            near = suggest(data, DATA_KINDS)
            shown = quote(data or '""')
            message = f"data is not one of {', '.join(DATA_KINDS)}, or a .npy file: {shown}"
            hint = f"did you mean `{near}`?" if near else "choose one of these, or a path that ends in .npy"
            self.fault("PTG106", path, message, hint)
            return False
        if data not in self.files:
            self.files[data] = self.unusable(self.base / data)
        if reason := self.files[data]:
            hint = f"looked for {clip(str(self.base / data), 200)}; a relative path starts at the folder of the spec"
            self.fault("PTG205", path, f"the data file {quote(data)} {reason}", hint)
        return not self.files[data]

    @staticmethod
    def unusable(file: FilePath) -> str | None:
        try:
            if not file.exists():
                return "does not exist"
            if not file.is_file():
                return "is not a file"
            return None if os.access(file, os.R_OK) else "cannot be read: permission denied"
        except (OSError, ValueError) as error:
            return f"cannot be read: {getattr(error, 'strerror', None) or error}".lower()
