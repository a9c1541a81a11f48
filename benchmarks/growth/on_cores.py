"""Print the seconds of windows of a file in a session on a master, both given as arguments."""

from __future__ import annotations

import sys

from benchmarks.growth.slopes import of_master

if __name__ == "__main__":
    print(of_master(sys.argv[1], sys.argv[2]))
