"""A process of its own that fetches through the fake pip: ``fetch_once.py PIN.json``."""

import json
import sys
from pathlib import Path

from ptogen.backend import download

pin = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
download.PIN = download.Pin(**{**pin, "pip": tuple(pin["pip"])})
download.PIP = [sys.executable, str(Path(__file__).parent / "fixtures" / "fake_pip.py")]
download.fetch(lambda line: print(line, flush=True))
