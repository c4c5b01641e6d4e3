"""Small ST trees made of the fixtures."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ptogen.output import Manifest, digest_of

TEST = re.compile(r"^TEST_F?\(\w+, (\w+)\)(?: \{.*\}$|\n\{\n(?:.+\n|\n)*?\}$)", re.MULTILINE)
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
    shared: dict[str, str] | None = None,
) -> Path:
    """A tree with one suite as ptogen would have written it; ``edit`` changes it before the hashes are taken.

    Its program holds those of the fixture's tests that are among ``cases``.
    """
    for path, text in (shared or {}).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    directory = f"tests/npu/{platform}/src/st/testcase/{name}"
    shutil.copytree(FIXTURES / name, root / directory, dirs_exist_ok=True)
    main = root / directory / "main.cpp"
    main.write_text(TEST.sub(lambda test: test[0] if test[1] in cases else "", main.read_text()))
    edit(root / directory)
    files = {
        path.relative_to(root).as_posix(): digest_of(path.read_bytes()) for path in sorted((root / directory).iterdir())
    }
    manifest = Manifest(
        f"{platform}-{name}",
        "0",
        {
            "op": op,
            "platform": platform,
            "mode": mode,
            "name": name,
            "test_suite": f"{name.upper()}Test",
            "ub_bytes": 196608,
            "spec": "",
            "templates": "",
        },
        directory,
        [
            {
                "name": case,
                "fields": {},
                "defects": (defects or {}).get(case, []),
                "requires": (requires or {}).get(case, []),
            }
            for case in cases
        ],
        files,
        {path: digest_of(text.encode()) for path, text in (shared or {}).items()},
    )
    (root / ".ptogen").mkdir(exist_ok=True)
    (root / ".ptogen" / f"{manifest.key}.json").write_text(manifest.text(), encoding="utf-8")
    return root


def edit_manifest(tree: Path, key: str, edit: Callable[[dict[str, Any]], object], *, sealed: bool = True) -> Path:
    """Changes what a manifest says; sealed, so that its digest fits, as that of another version of ptogen would."""
    path = tree / ".ptogen" / f"{key}.json"
    data = json.loads(path.read_text(encoding="utf-8"))
    edit(data)
    del data["digest"]
    text = Manifest(key, **data).text() if sealed else json.dumps(data)
    path.write_text(text, encoding="utf-8")
    return path
