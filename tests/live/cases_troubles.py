# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Problems of known truth, recorded by default options: the first finding says why, where, who ends the wait, and how long it took."""

import os
import subprocess

from lib import Recorder, case

SECONDS = 2
WITHIN = 0.02  # of what the program's own clock says, which sees the calls from outside

# problem: reason, function, name of who ends the waits or holds the lock ("": whoever), what that one mostly does, a word of the advice
PROBLEMS = {
    "flock": ("lock.kernel", "update_index", "troubles", "sleep", "Hold the lock for less time"),
    "inode": ("lock.kernel", "add_note", "copier", "decision", "i_rwsem of"),
    "barrier": ("lock.condition", "exchange_halo", "part-3", "sleep", "later than the others"),
    "queue": ("lock.condition", "submit_document", "indexer", "sleep", "too slow"),
    "timeout": ("lock.condition", "look_for_change", "timer", None, "without a timeout"),
    "rwlock": ("lock.rwlock", "read_config", "", None, "lock"),
    "semaphore": ("lock.semaphore", "take_slot", "troubles", None, "Raise the pool"),
    "nagle": ("network.receive", "call_rpc", "rpcserver", None, "TCP_NODELAY"),
    "ask": ("network.receive", "ask_oracle", "oracle", "sleep", "peer"),
    "loop": ("network.receive", "ping", "troubles", "sleep", "peer"),
}


def record(env, problem):
    """The report, the text of its first screen, and what the program spent in the call that waits."""
    truth = env.temporary("truth")
    recorder = Recorder(env, command=[os.path.join(env.programs, "troubles"), problem, str(SECONDS), truth])
    recorder.wait()
    with open(truth, encoding="ascii") as f:
        spent = int(f.read())
    text = subprocess.run([env.offcpu, "report", recorder.out], capture_output=True, text=True, timeout=60, check=True).stdout
    return recorder.report(status=0), text, spent


def below(report, function, reason):
    """Off-CPU time in that function for that reason, and for a CPU meanwhile."""
    return sum(wait["off_cpu_ns"] for wait in report.data["waits"]
               if (wait["state"] == "R" or wait["reason"] == reason) and any(frame["name"] == function for frame in wait["user"]))


def check(env, problem):
    reason, function, by, does, advice = PROBLEMS[problem]
    report, text, spent = record(env, problem)
    findings = [finding for finding in report.data["findings"] if not finding["reason"].startswith("cpu.")]
    if not env.check.that(findings, f"{problem}: no finding"):
        return
    first = findings[0]
    env.check.equal((first["reason"], (first["function"] or {}).get("name")), (reason, function), f"{problem}: the first finding")
    ended = first["by"] or {}
    if by:
        env.check.equal(ended.get("comm"), by, f"{problem}: who ends it")
    if does:
        env.check.equal(ended.get("meanwhile"), does, f"{problem}: what that one does")
    env.check.that(advice in " ".join(text.split()), f"{problem}: no advice with '{advice}': {text}")
    listed = below(report, function, reason)
    env.check.that(abs(listed - spent) <= WITHIN * spent, f"{problem}: {listed} ns below {function}, by its own clock {spent}")


@case
def troubles_are_the_first_finding_by_default(env):
    for problem in PROBLEMS:
        check(env, problem)
