#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Stands in for what gives the recorder its rights, and for the recorder: needs none.

    recorder.py RECORDING HOW OFFCPU record --until-eof TARGET --duration=S --output=FILE [--cpu]

Writes RECORDING to FILE when the time is over or standard input has ended.  HOW "deaf": it looks at neither, and has to be
killed; "refuse": it may not.
"""
import select
import shutil
import sys
import time

recording, how, _, *words = sys.argv[1:]
if words[:2] != ["record", "--until-eof"] or len(words) not in (5, 6):
    sys.exit(f"offcpu record: unexpected words {words}")
given = dict(word.split("=", 1) for word in words[2:] if "=" in word)
if how == "refuse" or given.get("--pid") == "nobody":
    print('offcpu record: -p "nobody": no such process', file=sys.stderr)
    sys.exit(2)
if how == "deaf":
    time.sleep(60)
if not select.select([sys.stdin], [], [], float(given["--duration"]))[0] or not sys.stdin.read(1):
    shutil.copyfile(recording, given["--output"])
