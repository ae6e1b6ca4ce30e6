# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Two recordings of a load that is known to be the same, or to hold its lock longer."""

import json
import subprocess
import sys
from pathlib import Path

from lib import Broken, Program, Recorder, TooLate, case, nightly

THREADS, HOLD_US, SECONDS = 4, 1000, 8
LONGER_US, LONG_SECONDS, ATTEMPTS = 1107, 15, 3    # a sleep takes some 70 us more than asked for: the program's clock has the last word
QUEUE_SHARE = 0.01    # of its threads' time, by which a busy machine may differ: as `diff --noise` has it


def queued_ns(pid):
    """What its threads waited for a CPU so far, by the kernel."""
    total = 0
    for path in Path(f"/proc/{pid}/task").iterdir():
        total += int((path / "schedstat").read_text().split()[1])
    return total


def record_steady(env, hold_us, seconds=SECONDS):
    """The recording; how long a hold took by the program's clock; and the share of the time its threads waited for a CPU."""
    program = Program(env, "steady", THREADS, hold_us)
    program.go()
    before = queued_ns(program.pid)
    recorder = Recorder(env, "-p", program.pid, "--exact", "-d", seconds)
    if recorder.wait() != 0:
        raise Broken(f"`{recorder.line}` failed: {recorder.stderr()}")
    queued = (queued_ns(program.pid) - before) / (seconds * 1e9 * THREADS)
    program.finish()
    held = next(row for row in program.truth() if row["kind"] == "steady")
    return recorder.out, held["held_ns"] / held["held"], queued


def compare(env, before, after, *options):
    done = subprocess.run([env.offcpu, "diff", before, after, "--json", *options], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, check=False)
    if done.returncode not in (0, 10):
        raise Broken(f"`offcpu diff` exited with {done.returncode}: {done.stderr.decode(errors='replace')[-400:]}")
    return done.returncode, json.loads(done.stdout)


def changes(diff):
    return {by: [(row["name"], row["time"], row["each"]) for row in table["rows"] if row["time"]["is_change"] or row["each"]["is_change"]]
            for by, table in diff["by"].items()}


@case
def diff_of_the_same(env):
    """Nothing is reported as a change that is none, in no table.  Where other programs took more of the CPU in one of the two, that is one:
    then the load was not the same, and it is recorded again."""
    for attempt in range(ATTEMPTS):
        before, after = record_steady(env, HOLD_US), record_steady(env, HOLD_US)
        status, diff = compare(env, before[0], after[0], "--fail-if", "total > +3%", "--fail-if", "stack~commit_site mean > +3%")
        found = changes(diff)
        env.notes.append(f"{diff['finding']} held {before[1] / 1e3:.0f} and {after[1] / 1e3:.0f} us, queued {before[2]:.2%} and {after[2]:.2%}")
        is_same = abs(after[2] - before[2]) < QUEUE_SHARE and abs(after[1] / before[1] - 1) < QUEUE_SHARE
        if is_same or (status == 0 and not any(found.values())) or attempt == ATTEMPTS - 1:
            break
    if not is_same:    # the machine is too busy for it to be told: of what it does not disturb, nothing may have changed
        found = {"reason": [row for row in found["reason"] if row[0].startswith("pipe")]}
    else:
        env.check.that(status == 0, f"exit status {status}: {diff['conditions']}")
    for by, changed in found.items():
        env.check.that(not changed, f"by {by}: {changed}")


@case
@nightly
def diff_of_a_lock_a_tenth_longer(env):
    """A lock that is held 10% longer by the program's clock is found, and --fail-if sees a quarter of that."""
    for _ in range(ATTEMPTS):
        before, after = record_steady(env, HOLD_US, LONG_SECONDS), record_steady(env, LONGER_US, LONG_SECONDS)
        longer = after[1] / before[1] - 1
        status, diff = compare(env, before[0], after[0], "--fail-if", "reason=lock mean > +2.5%")
        rows = [row for row in diff["by"]["leaf"]["rows"] if "mutex_lock" in row["name"] and row["is_tested"]]
        is_found = any(row["each"]["is_change"] and row["each"]["by_ns"] > 0 for row in rows)
        percent = diff["conditions"][0]["percent_milli"] / 1000
        waits = f"t {rows[0]['each']['z_milli'] / 1000:.1f}, {rows[0]['before']['whole_count'] / THREADS:.0f} of each thread" if rows else "no row"
        env.notes.append(f"held {longer:.1%} longer, each wait {percent:.1f}%, {waits}")
        is_right = 0.07 < longer < 0.13 and is_found and status == 10 and abs(percent - 100 * longer) < 4
        if is_right:
            break
    env.check.that(is_right, "found in none of the attempts")


@case
def diff_of_a_longer_lock(env):
    """A lock that is held a third longer; by how much is right, and --fail-if sees it."""
    before, after = record_steady(env, HOLD_US), record_steady(env, HOLD_US * 4 // 3)
    longer, queued = after[1] / before[1] - 1, after[2] - before[2]
    status, diff = compare(env, before[0], after[0], "--fail-if", "reason=lock mean > +10%")
    rows = [row for row in diff["by"]["leaf"]["rows"] if "mutex_lock" in row["name"] and row["is_tested"]]
    is_found, percent = any(row["each"]["is_change"] for row in rows), diff["conditions"][0]["percent_milli"] / 1000
    said = f"the lock is held {longer:.1%} longer, waits for it are {percent:.1f}% longer, exit status {status}"
    if not (status == 10 and is_found and 20 < percent < 45) and (abs(queued) >= QUEUE_SHARE or not 0.28 < longer < 0.38):
        raise TooLate(f"{said}; queued {before[2]:.2%} and {after[2]:.2%} of the time")
    env.check.that(status == 10, f"{said}: {diff['conditions']}")
    env.check.that(is_found, f"not found: {rows}")
    env.check.that(20 < percent < 45, said)
    env.notes.append(diff["finding"])


@case
def diff_of_whole_runs(env):
    """A command that sleeps for longer waits as much by the minute: whole runs are compared as they are."""
    runs = []
    for nap_s in (0.2, 1.2):
        recorder = Recorder(env, out=env.temporary(f"run-{nap_s}.offcpu"),
                            command=[sys.executable, "-c", f"import time\ndef first(): time.sleep({nap_s})\nfirst()\ntime.sleep(0.4)"])
        if recorder.wait() != 0:
            raise Broken(f"`{recorder.line}` failed: {recorder.stderr()}")
        runs.append(recorder.out)
    status, diff = compare(env, *runs, "--fail-if", "total > 10%")
    env.check.equal((status, diff["scaled_per"]), (10, "whole_runs"), diff["finding"])
    longer_s = (diff["total"]["after"]["scaled_ns"] - diff["total"]["before"]["scaled_ns"]) / 1e9
    env.check.that(longer_s > 0.7, f"the longer run waits for {longer_s:.2f} s more: {diff['finding']}")
    env.check.that("is not beyond the noise" not in diff["finding"] and "±" not in diff["finding"].split("most of it is")[-1],
                   f"one wait that is certainly longer: {diff['finding']}")
    env.check.equal(compare(env, *reversed(runs), "--fail-if", "total > 10%")[0], 0, "the shorter run is no longer one")
