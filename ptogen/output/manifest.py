"""What a tree records of its suites: ``OUT/.ptogen/<key>.json``."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ptogen import __version__
from ptogen.errors import Diagnostic, Position, PtogenError
from ptogen.output.disk import reason
from ptogen.output.places import MANIFESTS, digest_of, is_shared, unsafe
from ptogen.render.suite import RenderedSuite

AGAIN = "render the suite again"


@dataclass(frozen=True)
class Manifest:
    """What a tree records of one suite.

    Its text bears the hash of all that it says, so that one that was edited by hand is not believed.

    Attributes:
        key: ``<platform>-<name>``.
        ptogen: version that wrote it.
        suite: ``op``, ``platform``, ``mode``, ``name``, ``test_suite``, ``ub_bytes`` and the hashes ``spec`` and
            ``templates``.
        directory: ST directory relative to the tree.
        cases: ``{"name", "fields", "defects"}`` of each case.
        files: SHA-256 by path relative to the tree.
        shared: the same for files that other suites may need as well.
    """

    key: str
    ptogen: str
    suite: Mapping[str, Any]
    directory: str
    cases: Sequence[Mapping[str, Any]]
    files: Mapping[str, str]
    shared: Mapping[str, str] = field(default_factory=dict)

    def text(self) -> str:
        """Its JSON, the same on every machine."""
        return self._text

    @cached_property
    def _text(self) -> str:
        data = {
            "ptogen": self.ptogen,
            "suite": dict(self.suite),
            "directory": self.directory,
            "cases": [dict(case) for case in self.cases],
            "files": dict(self.files),
            "shared": dict(self.shared),
        }
        return _indented({**data, "digest": _digest(data)}) + "\n"

    @property
    def all_files(self) -> dict[str, str]:
        """SHA-256 of all that the suite is made of, shared or not, by path."""
        return {**self.files, **self.shared}

    @classmethod
    def of(cls, suite: RenderedSuite) -> Manifest:
        facts = {name: value for name, value in suite.meta.items() if name != "cases"}
        files, shared = (
            {path: digest_of(text.encode()) for path, text in texts.items()} for texts in (suite.files, suite.shared)
        )
        return cls(suite.key, __version__, facts, suite.directory, suite.meta.get("cases", ()), files, shared)

    @classmethod
    def parse(cls, key: str, text: bytes, *, edited: bool = False) -> Manifest:
        """What a text says.

        Args:
            key: of the suite.
            text: of its manifest.
            edited: also take one whose digest does not fit: whose files these are, their own hashes say.

        Raises:
            ValueError: the text is not a manifest, or was edited by hand.
        """
        data = json_object(text)
        if edited:
            data = {"shared": {}, **data, "digest": None}
        elif "digest" not in data:
            raise ValueError("it has no digest: another version of ptogen wrote it, or it was edited by hand")
        kinds = {"ptogen": str, "suite": dict, "directory": str, "cases": list, "files": dict, "shared": dict}
        for name, kind in kinds.items():
            if not isinstance(data.get(name), kind):
                raise ValueError(f"no {name}")
        if not all(isinstance(case, dict) for case in data["cases"]):
            raise ValueError("a case is not an object")
        for path, digest in [*data["files"].items(), *data["shared"].items()]:
            if not isinstance(digest, str) or unsafe(path):
                raise ValueError(f"a file entry that ptogen does not write: {path!r}")
        for path in data["files"]:
            if not path.startswith(f"{data['directory']}/"):
                raise ValueError(f"a file outside the suite's directory {data['directory']!r}: {path!r}")
        for path, digest in data["shared"].items():
            if not is_shared(path, digest):
                raise ValueError(f"a shared file that ptogen does not write: {path!r}")
        if unsafe(data["directory"]) or data["directory"].split("/")[0] == MANIFESTS:
            raise ValueError(f"a directory that ptogen does not write: {data['directory']!r}")
        digest = data.pop("digest", None)
        if not edited and digest != _digest(data):
            raise ValueError("its digest does not fit what it says: it was edited by hand")
        return cls(key, **{name: data[name] for name in kinds})


def read(tree: Path, *, strict: bool = True) -> list[Manifest]:
    """The manifests of a tree, by key; none where ptogen never wrote there.

    Raises:
        PtogenError: PTG100 for each that cannot be read, is none, or was edited by hand; unless ``strict`` is off.
    """
    manifests, faults = [], []
    for path in sorted((tree / MANIFESTS).glob("*.json")):
        try:
            if path.exists() and not path.is_file():  # a named pipe may never end
                raise OSError("it is not a regular file")
            manifests.append(Manifest.parse(path.stem, path.read_bytes()))
        except OSError as error:
            faults.append(Diagnostic("PTG100", f"the manifest cannot be read: {reason(error)}", Position(str(path))))
        except ValueError as error:
            message = f"this is not a manifest as ptogen writes it: {error}"
            faults.append(Diagnostic("PTG100", message, Position(str(path)), hint=AGAIN))
    if faults and strict:
        raise PtogenError(faults)
    return manifests


def record(key: str, ending: str) -> str:
    """Where the manifest (``json``) or the journal (``pending``) of a suite is."""
    return f"{MANIFESTS}/{key}.{ending}"


def json_object(text: bytes) -> dict[str, Any]:
    """Raises ValueError where the text is not a JSON object."""
    try:
        data = json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    return data


def _digest(data: Mapping[str, Any]) -> str:
    """SHA-256 of what a manifest says, however it is laid out."""
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()


def _indented(value: Any, margin: str = "\n") -> str:
    """``json.dumps`` with ``indent=2`` and ``sort_keys``, not ``ensure_ascii``; that takes several times as long."""
    inner = margin + "  "
    if isinstance(value, dict) and value:
        items = [f"{_indented(key)}: {_indented(item, inner)}" for key, item in sorted(value.items())]
        return f"{{{inner}{f',{inner}'.join(items)}{margin}}}"
    if isinstance(value, (list, tuple)) and value:
        items = [_indented(item, inner) for item in value]
        return f"[{inner}{f',{inner}'.join(items)}{margin}]"
    return _encode(value)


_encode = json.JSONEncoder(ensure_ascii=False).encode
