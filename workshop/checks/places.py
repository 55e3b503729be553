# SPDX-License-Identifier: GPL-2.0
"""Where the checks find things: the places that workshop/series/common.py knows, for the chosen base.

A script that imports this can import the modules of workshop/series and workshop/qemu after it.
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "workshop", name) for name in ("series", "qemu")]

from common import BASE, BUILD, LOGS, PATCHES, SRC, SRC_BASE  # noqa: E402,F401  pylint: disable=wrong-import-position,unused-import
