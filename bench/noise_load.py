# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The load of tests/live/programs/steady.c in Python: noise_load.py TRUTH THREADS HOLD_US, until stdin is closed.  Threads think, take one
lock, hold it asleep and let it go; TRUTH has how often and how long it was held by this program's own clock."""
import json
import os
import random
import sys
import threading
import time

THINK_S = 0.0005    # on average
TRUTH, THREADS, HOLD_S = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) / 1e6
lock = threading.Lock()
held = [0, 0]       # how often, nanoseconds


def think(draw):
    time.sleep(draw.expovariate(1 / THINK_S))


def hold():
    since = time.monotonic_ns()
    time.sleep(HOLD_S)
    held[0] += 1
    held[1] += time.monotonic_ns() - since


def commit():
    with lock:
        hold()


def work():
    draw = random.Random()
    while True:
        think(draw)
        commit()


def main():
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))    # what else runs on the machine is no part of the load
    for _ in range(THREADS):
        threading.Thread(target=work, daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    with lock, open(TRUTH, "w", encoding="utf-8") as file:
        print(json.dumps({"kind": "steady", "held": held[0], "held_ns": held[1]}), file=file)
    os._exit(0)


main()
