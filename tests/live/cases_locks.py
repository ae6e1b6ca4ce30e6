# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Which lock each wait was for and who held it, of a program that knows."""

import collections
import os

import stories
from check import names
from lib import Program, Recorder, TooLate, case

SHARE = 0.99
TOLERANCE = 0.01  # of the time waited for each lock, or
TOLERANCE_NS = 100_000  # for each wait
ROUNDS, HOLD_US = 60, 4000
MAX_UNCLEAR = 0.2  # of all the time waited: where the program's threads were kept from their story
FRAMES = {"wait_site", "joiner_main"}
OTHER_FRAMES = {"truth_gate_wait", "await"}


def is_futex_wait(wait):
    return wait["state"] == "S" and any("futex" in (name or "") for name in names(wait["kernel"]))


def waits_of(report, line):
    """The waits for the line's lock: those below its site."""
    return [wait for wait in report.by_thread[line["pid"], line["tid"]]
            if is_futex_wait(wait) and FRAMES & set(names(wait["user"])) and
            not OTHER_FRAMES & set(names(wait["user"]))]


def blocked_ns(rows):
    return sum(row["blocked_ns"] for row in rows)


def check_share(env, waits, is_right, what, seen, unclear_ns=0):
    right_ns = blocked_ns([wait for wait in waits if is_right(wait)])
    env.check.that(right_ns >= SHARE * (blocked_ns(waits) - unclear_ns),
                   f"{what}: {right_ns} of {blocked_ns(waits)} ns are right, {unclear_ns} not clear; "
                   f"seen {sorted(map(str, {seen(w) for w in waits}))}")


def lock(wait, field):
    return wait.get("lock", {}).get(field)


def check_line(env, report, line):
    waits, what = waits_of(report, line), f"{line['lock']} {line['name']}"
    if not line["slept"] or not env.check.that(waits, f"{what}: no wait"):
        return
    wall_ns, slack_ns = line["wall_ns"], max(TOLERANCE * line["wall_ns"], TOLERANCE_NS * line["calls"])
    off_ns = sum(wait["off_cpu_ns"] for wait in waits) + line["cpu_ns"]
    preempted_ns = report.preempted_ns(line["pid"], line["tid"])  # inside of the brackets or outside
    env.check.that(off_ns - slack_ns <= wall_ns <= off_ns + preempted_ns + slack_ns,
                   f"{what}: waited {wall_ns} ns, seen {off_ns} and {preempted_ns} of preemption (± {slack_ns:.0f})")
    holder = line["holder"] if line["has_holder"] else 0

    def share(field, is_right, seen):
        check_share(env, waits, is_right, f"{what}: {field}", seen, line["unclear_ns"])

    share("name", lambda w: "lock" in w and w["object"] == line["name"], lambda w: w["object"])
    share("kind", lambda w: lock(w, "kind") == line["lock"], lambda w: lock(w, "kind"))
    share("operation", lambda w: lock(w, "operation") in line["operation"].split(), lambda w: lock(w, "operation"))
    share("holder", lambda w: lock(w, "holder_tid") == holder, lambda w: lock(w, "holder_tid"))
    released_ns = blocked_ns([waker for wait in waits for waker in wait["wakers"] if waker["tid"] == line["holder"]])
    env.check.that(released_ns >= SHARE * (blocked_ns(waits) - line["unclear_ns"]),
                   f"{what}: {released_ns} of {blocked_ns(waits)} ns were released by {line['holder']}")


def record_locks(env):
    """One run of the program: (report, truth)."""
    path = os.path.join("/dev/shm", f"offcpu-live-{os.getpid()}")
    program = Program(env, "locks", ROUNDS, HOLD_US, path)
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
    return report, program.truth()


@case
def locks_of_all_kinds(env):
    for number in range(3):
        report, truth = record_locks(env)
        wall_ns, unclear_ns = (sum(line[field] for line in truth) for field in ("wall_ns", "unclear_ns"))
        env.notes.append(f"run {number}: {unclear_ns / 1e6:.1f} of {wall_ns / 1e6:.1f} ms are not clear")
        if unclear_ns <= MAX_UNCLEAR * wall_ns:
            break
    else:
        raise TooLate("the program's own story is not clear")
    env.check.that(len(truth) >= 15, f"{len(truth)} kinds of locks")
    for line in truth:
        check_line(env, report, line)


def holders(truth):
    """Whose turn a convoy's lock was from when on, [(Span, tid)] by time, by what its threads wrote down."""
    turns = {event.serial: log.tid for log in truth.logs.values() for event in log.events if event.what == "s"}
    handed = sorted((stories.Span(event.before.wall, event.after.wall), event.serial)
                    for log in truth.logs.values() for event in log.events if event.what == "w")
    return [(stories.Span(0, 0), turns[0])] + [(span, turns[serial]) for span, serial in handed if serial in turns]


def holder_at(turns, began):
    """Who held the lock at an instant, None where the readings do not tell."""
    passed = [(span, tid) for span, tid in turns if span.lo <= began.hi]
    return passed[-1][1] if passed[-1][0].hi <= began.lo else None


def told_by_holder(truth, turns, log):
    """{holder as the sleep began: [count, Span blocked]} of a thread's sleeps for the lock; None: not known."""
    told = collections.defaultdict(lambda: [0, stories.NOTHING])
    for event in (log.events[i] for i in log.sleeps("s")):
        began = truth.began(event)
        of = told[holder_at(turns, began)]
        of[0] += 1
        of[1] = stories.plus(of[1], stories.later(truth.woken(event), began))
    return told


@case
def locks_of_a_convoy(env):
    """A lock that goes from thread to thread: of each sleep who held it as it began, and for how long it was."""
    for number in range(3):
        report, lines, program = env.record("waking", "convoy", 4, 60, extra=("--locks", "--exact"))
        truth = stories.Truth(lines)
        turns = holders(truth)
        told = {log.tid: told_by_holder(truth, turns, log) for log in truth.logs.values() if log.comm == "convoy"}
        unclear_ns = sum(of[None][1].hi for of in told.values())
        total_ns = sum(span.hi for of in told.values() for _, span in of.values())
        if unclear_ns <= stories.UNCLEAR * total_ns:
            break
        env.notes.append(f"run {number} is not clear: {unclear_ns} of {total_ns} ns")
    else:
        raise TooLate("the program's own story is not clear")
    env.check.equal(len(told), 4, "threads of the convoy")
    wrong_ns = 0
    for tid, of in told.items():
        waits = [wait for wait in report.by_thread[program.pid, tid] if names(wait["user"])[-1:] == ["lock_site"] and wait["state"] == "S"]
        check_share(env, waits, lambda w: lock(w, "kind") == "mutex" and lock(w, "operation") == "FUTEX_LOCK_PI" and w["object"] == "word",
                    f"thread {tid}", lambda w: (w["object"], lock(w, "kind"), lock(w, "operation")))
        unclear = of.pop(None, (0, stories.NOTHING))
        for holder in set(of) | {lock(wait, "holder_tid") for wait in waits}:
            seen_ns = blocked_ns([wait for wait in waits if lock(wait, "holder_tid") == holder])
            count, span = of[holder]
            slack_ns = TOLERANCE_NS * (count + unclear[0]) + stories.TOLERANCE * span.hi
            env.check.that(span.lo - slack_ns <= seen_ns <= span.hi + unclear[1].hi + slack_ns,
                           f"thread {tid} while {holder} held it: {seen_ns} ns, by the program {span}, {count} times")
            wrong_ns += max(0, span.lo - seen_ns, seen_ns - span.hi)
    env.check.that(wrong_ns <= (1 - SHARE) * total_ns + unclear_ns, f"of {total_ns} ns {wrong_ns} have another holder")
    env.notes.append(f"{total_ns / 1e6:.1f} ms, {unclear_ns / 1e6:.1f} not clear, {wrong_ns / 1e6:.2f} otherwise")


@case
def locks_of_a_deadlock(env):
    """Nothing happens in the window: what the two wait for is read as it ends."""
    report, truth, program = env.record("deadlock", extra=("--locks",), settle_s=0.2)
    env.check.equal(len(truth), 2, "threads in the deadlock")
    findings = report.data["findings"]
    env.check.equal([finding["deadlock"] for finding in findings[:2]], [True, True], "the first findings say that it is one")
    env.check.equal({(finding["lock"], finding["by"]["tid"]) for finding in findings[:2]},
                    {(line["name"], line["holder"]) for line in truth}, "for what, and who has it")
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
