"""`python -m eventide` is the command `eventide`."""

import sys

from eventide.cli import main

sys.exit(main())
