"""Makes `python -m ls_crowd_plugin` the same as `ls-crowd`."""

import sys

from .cli import main

sys.exit(main())
