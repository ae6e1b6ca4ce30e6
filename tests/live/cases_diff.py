# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Two recordings of a load that is known to be the same, or to hold its lock longer."""

import json
import subprocess

from lib import Broken, Program, Recorder, case

THREADS, HOLD_US, SECONDS = 4, 1000, 8


def record_steady(env, hold_us):
    program = Program(env, "steady", THREADS, hold_us)
    program.go()
    recorder = Recorder(env, "-p", program.pid, "--exact", "-d", SECONDS)
    if recorder.wait() != 0:
        raise Broken(f"`{recorder.line}` failed: {recorder.stderr()}")
    program.finish()
    return recorder.out


def compare(env, before, after, *options):
    done = subprocess.run([env.offcpu, "diff", before, after, "--json", *options], stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=60, check=False)
    if done.returncode not in (0, 10):
        raise Broken(f"`offcpu diff` exited with {done.returncode}: {done.stderr.decode(errors='replace')[-400:]}")
    return done.returncode, json.loads(done.stdout)


@case
def diff_of_the_same(env):
    """Nothing is reported as a change that is none, in no table."""
    before, after = record_steady(env, HOLD_US), record_steady(env, HOLD_US)
    status, diff = compare(env, before, after, "--fail-if", "total > +3%", "--fail-if", "stack~commit_site mean > +3%")
    env.check.that(status == 0, f"exit status {status}: {diff['conditions']}")
    for by, table in diff["by"].items():
        changed = [row for row in table["rows"] if row["time"]["is_change"] or row["each"]["is_change"]]
        env.check.that(not changed, f"by {by}: {[(row['name'], row['time'], row['each']) for row in changed]}")
    env.notes.append(diff["finding"])


@case
def diff_of_a_longer_lock(env):
    """A lock that is held a third longer; by how much is right, and --fail-if sees it."""
    before, after = record_steady(env, HOLD_US), record_steady(env, HOLD_US * 4 // 3)
    status, diff = compare(env, before, after, "--fail-if", "reason=lock mean > +10%")
    env.check.that(status == 10, f"exit status {status}: {diff['conditions']}")
    rows = [row for row in diff["by"]["leaf"]["rows"] if "mutex_lock" in row["name"] and row["is_tested"]]
    env.check.that(any(row["each"]["is_change"] for row in rows), f"not found: {rows}")
    percent = diff["conditions"][0]["percent_milli"] / 1000
    env.check.that(20 < percent < 45, f"the lock is held 33% longer, waits for it are {percent:.1f}% longer")
    env.notes.append(diff["finding"])
