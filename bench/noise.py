#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""How often `offcpu diff` is wrong: noise.py OFFCPU STEADY [ROUNDS [SECONDS]] (20 of 15 s).

Each round records tests/live/programs/steady three times: twice alike, then with its lock held 10% longer.  The first two must differ
in no row of any table, the first and the third in the lock's, and --fail-if must see a quarter of it.  How much longer it was held the
program's own clock says.  Two rounds run at a time; needs root."""
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HOLD_US, LONGER_US, THREADS = 1000, 1107, 4    # a sleep takes some 70 us more than asked for: the clock has the last word


def record(offcpu, steady, folder, name, hold_us, seconds):
    """The recording, and how long a hold took by the program's clock."""
    truth, out = folder / (name + ".truth"), folder / (name + ".offcpu")
    program = subprocess.Popen([steady, truth, str(THREADS), str(hold_us)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    program.stdout.readline()
    program.stdin.write(b"g")
    program.stdin.flush()
    time.sleep(0.2)
    subprocess.run([offcpu, "record", "-p", str(program.pid), "--exact", "-d", str(seconds), "-o", out], check=True,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    program.stdin.close()
    program.wait(20)
    held = next(row for row in map(json.loads, truth.read_text().splitlines()) if row["kind"] == "steady")
    return out, held["held_ns"] / held["held"]


def compare(offcpu, before, after):
    """Rows of all tables that are called a change, the lock's own row, and what --fail-if says."""
    done = subprocess.run([offcpu, "diff", before, after, "--json", "--fail-if", "reason=lock mean > +2.5%"], stdin=subprocess.DEVNULL,
                          capture_output=True, check=False)
    diff = json.loads(done.stdout)
    changed = [(by, row["name"]) for by, table in diff["by"].items() for row in table["rows"]
               if row["time"]["is_change"] or row["each"]["is_change"]]
    lock = next((row for row in diff["by"]["leaf"]["rows"] if "mutex_lock" in row["name"] and row["is_tested"]), None)
    return changed, lock, done.returncode == 10


def one_round(offcpu, steady, seconds, rows):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        one, two, longer = (record(offcpu, steady, folder, n, hold, seconds)
                            for n, hold in (("one", HOLD_US), ("two", HOLD_US), ("longer", LONGER_US)))
        same, _, same_fails = compare(offcpu, one[0], two[0])
        _, lock, fails = compare(offcpu, one[0], longer[0])
    is_found = bool(lock) and lock["each"]["is_change"]
    rows.append({"same": same, "same_fails": same_fails, "found": is_found, "fails": fails, "truth": longer[1] / one[1] - 1,
                 "truth_same": two[1] / one[1] - 1, "each": lock["each"]["percent_milli"] / 1e5 if lock else 0,
                 "t": lock["each"]["z_milli"] / 1e3 if lock else 0, "waits": lock["before"]["whole_count"] / THREADS if lock else 0})
    last = rows[-1]
    print(f"{len(rows):3} alike: {len(same)} changes (held {last['truth_same']:+.2%})   10% longer: {'found' if is_found else 'MISSED'}, "
          f"each wait {last['each']:+.1%}, t {last['t']:.1f} (held {last['truth']:+.1%}, {last['waits']:.0f} waits of each thread) {same or ''}",
          flush=True)


def main():
    offcpu, steady = sys.argv[1:3]
    rounds, seconds = (int(n) for n in (sys.argv[3:5] + ["20", "15"][len(sys.argv) - 3:])[:2])
    rows, left = [], threading.Semaphore(rounds)

    def lane():
        while left.acquire(blocking=False):
            one_round(offcpu, steady, seconds, rows)

    lanes = [threading.Thread(target=lane) for _ in range(2)]
    for thread in lanes:
        thread.start()
    for thread in lanes:
        thread.join()
    print(f"{len(rows)} rounds of {seconds} s: no change reported between equals {sum(not r['same'] for r in rows)} times, exit status 10 "
          f"{sum(r['same_fails'] for r in rows)} times; a lock held 10% longer found {sum(r['found'] for r in rows)} times, exit status 10 "
          f"{sum(r['fails'] for r in rows)} times")


main()
