"""Small ST trees made of the fixtures."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

FIXTURES = Path(__file__).parent / "fixtures"


def make_tree(
    root: Path,
    name: str,
    cases: Sequence[str],
    *,
    platform: str = "a2a3",
    mode: str = "manual",
    op: str = "tsort32",
    defects: dict[str, list[str]] | None = None,
    requires: dict[str, list[str]] | None = None,
    edit: Callable[[Path], None] = lambda directory: None,
) -> Path:
    """A tree with one suite as ptogen would have written it; ``edit`` changes it before the hashes are taken."""
    directory = f"tests/npu/{platform}/src/st/testcase/{name}"
    shutil.copytree(FIXTURES / name, root / directory, dirs_exist_ok=True)
    edit(root / directory)
    files = {
        path.relative_to(root).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted((root / directory).iterdir())
    }
    manifest = {
        "ptogen": "0",
        "suite": {
            "op": op,
            "platform": platform,
            "mode": mode,
            "name": name,
            "test_suite": f"{name.upper()}Test",
            "ub_bytes": 196608,
            "spec": "",
            "templates": "",
        },
        "directory": directory,
        "cases": [
            {
                "name": case,
                "fields": {},
                "defects": (defects or {}).get(case, []),
                "requires": (requires or {}).get(case, []),
            }
            for case in cases
        ],
        "files": files,
    }
    (root / ".ptogen").mkdir(exist_ok=True)
    (root / ".ptogen" / f"{platform}-{name}.json").write_text(json.dumps(manifest), encoding="utf-8")
    return root
