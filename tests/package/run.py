#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Builds the packages and the static program, and uses them as a user would; prints TAP.

usage: tests/package/run.py [--twice] [--only TEXT]

The static program records and reports in a folder that holds nothing else.  The Debian packages are installed in a fresh minbase system
made from the archive that this machine is configured for; then the network is taken away, and what is removed must leave nothing.
--twice builds both again in another folder and compares the bytes, which takes as long again.
"""
import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

from deb import DEB_POINTS  # noqa: E402
from lib import Skip, Wrong, Place  # noqa: E402
from release import RELEASE_POINTS  # noqa: E402
from rpm import RPM_POINTS  # noqa: E402
from static import STATIC_POINTS  # noqa: E402


# Each compiles the whole program, so they take turns (see tools/run-tests).
TURNS = [("the Debian packages", DEB_POINTS), ("the static program and rpm's packages", STATIC_POINTS + RPM_POINTS)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--twice", action="store_true")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    turn = os.environ.get("OFFCPU_TEST_TURN", "both")
    left_out = None if turn == "both" or args.only else TURNS[1 - int(turn) % 2]
    chosen = RELEASE_POINTS + [point for part in TURNS if part is not left_out for point in part[1]]
    points = [point for point in chosen if args.only in point.__name__]
    failed = 0
    with tempfile.TemporaryDirectory(prefix="offcpu-package-") as folder:
        place = Place(Path(folder), args.twice)
        for number, point in enumerate(points, 1):
            name = point.__name__.replace("_", " ")
            try:
                said = point(place)
                print(f"ok {number} - {name}" + (f": {said}" if said else ""), flush=True)
            except Skip as why:
                print(f"ok {number} - {name} # SKIP {why}", flush=True)
            except (Wrong, subprocess.TimeoutExpired) as why:
                failed += 1
                print(f"not ok {number} - {name}", flush=True)
                for line in str(why).splitlines()[:60]:
                    print(f"# {line}", flush=True)
    if left_out:
        print(f"ok {len(points) + 1} - other turn # SKIP at the next commit, or with ./bootstrap test --all: {left_out[0]}")
    print(f"1..{len(points) + bool(left_out)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
