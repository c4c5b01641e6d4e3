"""Puts the table of ``ptogen ops`` into README.md; ``make docs`` runs it."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner

from ptogen.cli.ops import ops

README = Path(__file__).parent.parent / "README.md"


def updated(text: str) -> str:
    """The README with the table of this version."""
    table = CliRunner().invoke(ops, ["--format", "markdown"]).output
    return re.sub(
        r"(<!-- ptogen ops -->\n).*?(<!-- end -->)", lambda found: found[1] + table + found[2], text, flags=re.DOTALL
    )


if __name__ == "__main__":
    README.write_text(updated(README.read_text()))
