# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Which lock each wait was for and who held it, of a program that knows."""

import os

from check import names
from lib import Program, Recorder, case

SHARE = 0.99
TOLERANCE = 0.01  # of the time waited for each lock, or
TOLERANCE_NS = 100_000  # for each wait
FRAMES = {"wait_site", "joiner_main"}


def is_futex_wait(wait):
    return wait["state"] == "S" and any("futex" in (name or "") for name in names(wait["kernel"]))


def waits_of(report, line):
    """The waits for the line's lock: those below its site."""
    return [wait for wait in report.by_thread[line["pid"], line["tid"]]
            if is_futex_wait(wait) and FRAMES & set(names(wait["user"])) and
            "truth_gate_wait" not in names(wait["user"])]


def blocked_ns(rows):
    return sum(row["blocked_ns"] for row in rows)


def check_share(env, waits, is_right, what, seen):
    right_ns = blocked_ns([wait for wait in waits if is_right(wait)])
    env.check.that(right_ns >= SHARE * blocked_ns(waits),
                   f"{what}: {right_ns} of {blocked_ns(waits)} ns are right; seen {sorted(map(str, {seen(w) for w in waits}))}")


def lock(wait, field):
    return wait.get("lock", {}).get(field)


def check_line(env, report, line):
    waits, what = waits_of(report, line), f"{line['lock']} {line['name']}"
    if not env.check.that(waits, f"{what}: no wait"):
        return
    wall_ns, slack_ns = line["wall_ns"], max(TOLERANCE * line["wall_ns"], TOLERANCE_NS * line["calls"])
    off_ns = sum(wait["off_cpu_ns"] for wait in waits) + line["cpu_ns"]
    preempted_ns = report.preempted_ns(line["pid"], line["tid"])  # inside of the brackets or outside
    env.check.that(off_ns - slack_ns <= wall_ns <= off_ns + preempted_ns + slack_ns,
                   f"{what}: waited {wall_ns} ns, seen {off_ns} and {preempted_ns} of preemption (± {slack_ns:.0f})")
    check_share(env, waits, lambda w: w["reason"] == "futex" and w["object"] == line["name"], f"{what}: name",
                lambda w: w["object"])
    check_share(env, waits, lambda w: lock(w, "kind") == line["lock"], f"{what}: kind", lambda w: lock(w, "kind"))
    check_share(env, waits, lambda w: lock(w, "operation") in line["operation"].split(), f"{what}: operation",
                lambda w: lock(w, "operation"))
    holder = line["holder"] if line["has_holder"] else 0
    check_share(env, waits, lambda w: lock(w, "holder_tid") == holder, f"{what}: holder",
                lambda w: lock(w, "holder_tid"))
    wakers = [waker for wait in waits for waker in wait["wakers"]]
    released_ns = blocked_ns([waker for waker in wakers if waker["tid"] == line["holder"]])
    env.check.that(released_ns >= SHARE * blocked_ns(waits),
                   f"{what}: {released_ns} of {blocked_ns(waits)} ns were released by {line['holder']}")


@case
def locks_of_all_kinds(env):
    path = os.path.join("/dev/shm", f"offcpu-live-{os.getpid()}")
    program = Program(env, "locks", 60, 4000, path)
    try:
        recorder = Recorder(env, "-p", program.pid, "--locks", "--wakers", "--exact")
        recorder.wait_attached()
        program.go()
        program.wait_done()
        recorder.stop()
        report = recorder.report()
        program.finish()
    finally:
        os.unlink(path)
    truth = program.truth()
    env.check.that(len(truth) >= 15, f"{len(truth)} kinds of locks")
    for line in truth:
        check_line(env, report, line)


@case
def locks_of_a_deadlock(env):
    """Nothing happens in the window: what the two wait for is read as it ends."""
    report, truth, program = env.record("deadlock", extra=("--locks",), settle_s=0.2)
    env.check.equal(len(truth), 2, "threads in the deadlock")
    for line in truth:
        waits = report.by_thread[program.pid, line["tid"]]
        if not env.check.equal(len(waits), 1, f"waits for {line['name']}"):
            continue
        wait = waits[0]
        env.check.that(wait["open_at_start"] and wait["open_at_end"], f"{line['name']}: not open all the time")
        env.check.equal(wait["object"], line["name"], "its name")
        env.check.equal(lock(wait, "kind"), "mutex", f"{line['name']}: kind")
        env.check.equal(lock(wait, "holder_tid"), line["holder"], f"{line['name']}: holder")


@case
def locks_are_off_by_default(env):
    report, _, _ = env.record("futex", 2, 20, 2000)
    env.check.that(all("lock" not in wait and wait["object"] is None for wait in report.waits), "locks unasked for")
