"""``python -m ptogen``."""

import sys

from ptogen.cli import main

sys.exit(main())
