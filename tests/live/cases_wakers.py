# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Who ended each sleep, of programs whose wakers are known."""

import os
import sqlite3

from check import names
from lib import Program, Recorder, case


def record(env, name, *args):
    """The program under a recording of its processes with wakers: the report and its truth."""
    program = Program(env, name, *args)
    recorder = Recorder(env, "-p", ",".join(map(str, program.pids)), "--wakers", "--exact")
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    report = recorder.report()
    program.finish()
    return report, program.truth()


def check_share(env, report, line, is_right, what):
    """Of the time blocked at the site of one line of truth, 99 % must have such a waker."""
    waits = report.ended(line["pid"], line["tid"], line["chain"])
    waits = [wait for wait in waits if wait["state"] == line["state"] and not wait["open_at_end"]]
    blocked_ns = sum(wait["blocked_ns"] for wait in waits)
    wakers = [waker for wait in waits for waker in wait["wakers"]]
    right_ns = sum(waker["blocked_ns"] for waker in wakers if is_right(waker))
    env.check.that(blocked_ns > 0, f"{what}: nothing blocked at {line['chain'][-1]}")
    others = sorted({(w["irq"] or w["comm"], w["pid"], w["tid"]) for w in wakers if not is_right(w)})
    env.check.that(right_ns >= 0.99 * blocked_ns,
                   f"{what}: {right_ns} of {blocked_ns} ns at {line['chain'][-1]} have that waker; others are {others}")


def sites(truth):
    return [line for line in truth if "chain" in line]


def is_thread_of(line, frame):
    """A thread of the same program but the sleeper itself, with that frame in its kernel stack, on no interrupt."""
    return lambda w: not w["irq"] and w["comm"] == line["comm"] and w["tid"] != line["tid"] and \
        any(frame in (name or "") for name in names(w["kernel"])) and \
        names(w["kernel"])[-1] in ("try_to_wake_up", "wake_up_process", "default_wake_function", "wake_up_q")


@case
def waker_is_the_timer(env):
    report, truth = record(env, "nanosleep", 100, 5000, 2000)
    for line in sites(truth):
        check_share(env, report, line, lambda w: w["irq"] == "timer" and not w["tid"] and not w["user"], "a timer")


@case
def waker_through_a_pipe(env):
    report, truth = record(env, "pipe", "processes", 100000)
    for line in sites(truth):
        check_share(env, report, line, is_thread_of(line, "pipe_write"), "the other end of the pipe")


@case
def waker_through_a_futex(env):
    report, truth = record(env, "futex", 3, 60, 5000)
    for line in sites(truth):
        if line["kind"] == "futex" and line["slept"]:
            check_share(env, report, line, is_thread_of(line, "futex_wake"), "the lock's holder")


@case
def waker_over_a_unix_socket(env):
    report, truth = record(env, "sock", "unix", 100, 5000)
    for line in sites(truth):
        check_share(env, report, line, is_thread_of(line, "unix_stream_sendmsg"), "the sender")


@case
def waker_over_loopback(env):
    """The soft interrupt that delivers is one that the sender raised."""
    report, truth = record(env, "sock", "tcp", 100, 5000)
    for line in sites(truth):
        check_share(env, report, line, is_thread_of(line, "tcp_sendmsg"), "the sender")


@case
def waker_of_a_disk_wait(env):
    """An interrupt that names the disk, or a thread of the kernel that completes for it."""
    report, truth = record(env, "fsync", env.disk_file(), 60)
    disks = tuple(f"({name})" for name in os.listdir("/sys/block"))
    for line in sites(truth):
        check_share(env, report, line, lambda w: w["irq"].endswith(disks) if w["irq"] else w["comm"] != line["comm"],
                    "the disk")


def query(path, sql):
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        return db.execute(sql).fetchall()


def record_chains(env, name, *args):
    """As record(), with chains: the recording's path and the truth."""
    program = Program(env, name, *args)
    recorder = Recorder(env, "-p", ",".join(map(str, program.pids)), "--wakers=8", "--exact")
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    recorder.report()
    program.finish()
    return recorder.out, program.truth()


def near(env, seen_ns, want_ns, count, missing, what):
    """Within 2 % or 100 us a time; who is missing may have run for longer than the others, by 20 ms."""
    env.check.that(abs(seen_ns - want_ns) <= max(0.02 * want_ns, 100_000 * count) + 20_000_000 * missing,
                   f"{what}: {seen_ns} ns, not {want_ns} in {count} times")


@case
def chain_of_a_pipeline(env):
    """A sleeps 60 ms and works 3, B works 5, C 8: D's wait is all of that in this order, and so are the others'."""
    rounds = 40
    path, truth = record_chains(env, "waking", "pipeline", rounds)
    stages = {line["comm"]: line for line in truth if line["kind"] == "stage"}
    for sleeper, chain in (("stageD", "CBA"), ("stageC", "BA"), ("stageB", "A")):
        rows = query(path, "SELECT id, count, step, waker, ran_ns, runnable_ns, earlier_ns, rest_ns, end FROM v_story "
                           f"WHERE comm = '{sleeper}' ORDER BY id, step")
        # but for the wait at the gate, which goes on since before the window
        total = query(path, "SELECT sum(k.blocked_ns) FROM v_wake k JOIN wait w ON w.id = k.wait_id "
                            f"WHERE k.comm = '{sleeper}' AND w.flags & 1 = 0")[0][0]
        stories = {}
        for row in rows:
            stories.setdefault(row[0], []).append(row)
        want = [f"stage{letter}" for letter in chain] + ["timer"]
        right = [story for story in stories.values() if [row[3] for row in story] == want]
        count = sum(story[0][1] for story in right)
        env.check.that(count >= 0.9 * (rounds - 1), f"{sleeper}: {count} of {rounds} waits have the chain {want}")
        told = sum(sum(row[4:8]) for story in right for row in story)
        env.check.that(told >= 0.9 * total, f"{sleeper}: {told} of {total} ns are told by {want}")
        for step, letter in enumerate(chain):
            stage = stages[f"stage{letter}"]
            ran = sum(story[step][4] for story in right)
            both = ran + sum(story[step][5] for story in right)
            near(env, ran, stage["cpu_ns"] * count / rounds, count, rounds - count, f"{sleeper}: what stage{letter} ran")
            env.check.that(both >= 0.98 * stage["busy_ns"] * count / rounds, f"{sleeper}: stage{letter} was awake {both} ns")


@case
def chain_of_a_ring_is_a_loop(env):
    """Of two that wake each other, each had been woken by the one that it wakes."""
    path, _ = record_chains(env, "pipe", "processes", 100000)
    rows = query(path, "SELECT c.end, sum(s.count), sum(s.blocked_ns) FROM story s JOIN chain c ON c.id = s.chain_id "
                       "JOIN wake k ON k.id = s.wake_id JOIN wait w ON w.id = k.wait_id WHERE w.flags & 1 = 0 GROUP BY 1")
    blocked = {row[0]: row[2] for row in rows}
    env.check.that(blocked.get(2, 0) >= 0.9 * sum(blocked.values()), f"ends of the chains: {rows}")
    nodes = query(path, "SELECT count(*) FROM chain")[0][0]
    env.check.that(nodes < 500, f"{nodes} nodes of chains for two threads")


@case
def waker_of_a_broadcast(env):
    report, truth = record(env, "waking", "broadcast", 200, 10)
    waker = next(line["tid"] for line in truth if line["kind"] == "waker")
    for line in sites(truth):
        check_share(env, report, line, lambda w: w["tid"] == waker and "futex_wake" in names(w["kernel"]), "the broadcaster")


@case
def waker_in_a_convoy(env):
    """The lock is handed over: a waiter is woken by who held it."""
    report, truth = record(env, "waking", "convoy", 4, 60)
    right = wrong = 0
    holders = {}
    for line in truth:
        holders.setdefault(line["tid"], {})[line["holder"]] = line["wall_ns"]
    for wait in report.waits:
        if not any("futex_lock_pi" in (name or "") for name in names(wait["kernel"])):
            continue
        for waker in wait["wakers"]:
            is_right = waker["tid"] in holders.get(wait["tid"], {}) and waker["tid"] != wait["tid"]
            right += waker["blocked_ns"] if is_right else 0
            wrong += 0 if is_right else waker["blocked_ns"]
    env.check.that(right > 0 and wrong <= 0.01 * right, f"{right} ns have a holder as their waker, {wrong} another")
    want = sum(ns for of in holders.values() for ns in of.values())
    env.check.that(abs(right - want) <= 0.05 * want, f"{right} ns blocked on holders, the program says {want}")
    for tid, of in holders.items():
        for holder, wall_ns in of.items():
            seen = sum(waker["blocked_ns"] + waker["runnable_ns"] for wait in report.waits if wait["tid"] == tid
                       for waker in wait["wakers"] if waker["tid"] == holder)
            env.check.that(abs(seen - wall_ns) <= max(0.02 * wall_ns, 10_000_000),
                           f"{tid} waited {wall_ns} ns for {holder}, seen {seen}")


@case
def waker_by_a_signal(env):
    report, truth = record(env, "waking", "signal", 100)
    waker = next(line["tid"] for line in truth if line["kind"] == "waker")
    for line in sites(truth):
        check_share(env, report, line, lambda w: w["tid"] == waker and
                    any("send_signal" in (name or "") for name in names(w["kernel"])), "who sent the signal")


@case
def waker_by_a_child_that_exits(env):
    report, truth = record(env, "waking", "child", 60)
    children = {line["tid"] for line in truth if line["kind"] == "waker"}
    for line in sites(truth):
        check_share(env, report, line, lambda w: w["tid"] in children and "do_exit" in names(w["kernel"]), "the child")
