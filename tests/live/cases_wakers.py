# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Who ended each sleep, of programs whose wakers are known."""

import collections
import os
import platform
import re
import subprocess
from functools import partial

import ktrace
import stories
from check import names
from lib import Program, Recorder, Skip, TooLate, case, nightly, stolen_ns


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


def is_thread_of(line, frame, *sites):
    """
    A thread of the same program but the sleeper itself, with that frame in its kernel stack, on no interrupt; its
    innermost user function is one of the program's that wake.
    """
    return lambda w: not w["irq"] and w["comm"] == line["comm"] and w["tid"] != line["tid"] and \
        any(frame in (name or "") for name in names(w["kernel"])) and \
        names(w["kernel"])[-1] in ("try_to_wake_up", "wake_up_process", "default_wake_function", "wake_up_q") and \
        names(w["user"])[-1:] in [[site] for site in sites]


@case
def waker_is_the_timer(env):
    """With PREEMPT_RT a thread works for it, and is named."""
    report, truth = record(env, "nanosleep", 100, 5000, 2000)
    for line in sites(truth):
        check_share(env, report, line, lambda w: stories.is_timer(w) and not w["user"], "a timer")


@case
def waker_through_a_pipe(env):
    report, truth = record(env, "pipe", "processes", 100000)
    for line in sites(truth):
        check_share(env, report, line, is_thread_of(line, "pipe_write", "ping_main", "pong_main"), "the other end of the pipe")


@case
def waker_through_a_futex(env):
    report, truth = record(env, "futex", 3, 60, 5000)
    for line in sites(truth):
        if line["kind"] == "futex" and line["slept"]:
            check_share(env, report, line, is_thread_of(line, "futex_wake", "unlock", "holder_loop", "waiter_loop"), "the lock's holder")


@case
def waker_with_two_callers(env):
    """Of short sleeps that one place ends not each waker is walked; each caller has its part of their time all the same."""
    report, truth = record(env, "callers", 20000)
    line = sites(truth)[0]
    wakers = [w for wait in report.ended(line["pid"], line["tid"], line["chain"]) for w in wait["wakers"]]
    told_ns = {name: sum(w["blocked_ns"] for w in wakers if name in names(w["user"])) for name in ("call_short", "call_long")}
    total_ns = sum(told_ns.values())
    env.check.that(total_ns > 0.95 * sum(w["blocked_ns"] for w in wakers), f"{told_ns} are all of the time")
    # half of the time by what the program does; one walk a millisecond, and preemptions of who wakes, are its error
    env.check.that(abs(told_ns["call_long"] / max(total_ns, 1) - 0.5) < 0.12, f"call_long ends a half, told {told_ns}")
    estimated = report.coverage["lost"].get("waker_estimated", 0)
    env.check.that(50 < estimated < total_ns / 1e6, f"{estimated} ms of {total_ns} ns are said to be an estimate")


@case
def waker_over_a_unix_socket(env):
    report, truth = record(env, "sock", "unix", 100, 5000)
    for line in sites(truth):
        check_share(env, report, line, is_thread_of(line, "unix_stream_sendmsg", "writer_main"), "the sender")


@case
def waker_over_loopback(env):
    """The soft interrupt that delivers is one that the sender raised."""
    report, truth = record(env, "sock", "tcp", 100, 5000)
    for line in sites(truth):
        check_share(env, report, line, is_thread_of(line, "tcp_sendmsg", "writer_main"), "the sender")


def user_stacks_lost(env, report):
    """How many; those at the edges are few."""
    lost = report.coverage["lost"]
    env.notes.append(f"losses {lost}")
    return lost.get("user_stack", 0)


@case
def waker_without_user_stack(env):
    """A worker of io_uring's belongs to the program and runs in the kernel only: it lacks nothing."""
    report, truth = record(env, "io_worker", 5000)
    for line in sites(truth):
        check_share(env, report, line, lambda w: w["comm"].startswith("iou-wrk") and not w["user"], "the worker")
    env.check.that(user_stacks_lost(env, report) < 50, "user stacks of workers are told as lost")


@case
def waker_in_32_bit_code(env):
    """A program of 64 bits that runs code of 32 bits: what the kernel itself can walk is not lost."""
    if platform.machine() != "x86_64":
        raise Skip("32-bit code in a program of 64 bits is tried on x86-64 only")
    if subprocess.run([os.path.join(env.programs, "mixed"), "try"], check=False).returncode < 0:
        raise Skip("this kernel runs no 32-bit code (ia32_emulation)")
    report, truth = record(env, "mixed", 5000)
    for line in sites(truth):
        check_share(env, report, line, lambda w: w["comm"] == line["comm"] and w["user"], "the writer")
    env.check.that(user_stacks_lost(env, report) < 50, "user stacks of 32-bit code are lost")


@case
def waker_of_a_disk_wait(env):
    """An interrupt that names the disk, or a thread of the kernel that completes for it."""
    report, truth = record(env, "fsync", env.disk_file(), 60)
    disks = tuple(f"({name})" for name in os.listdir("/sys/block"))
    for line in sites(truth):
        check_share(env, report, line, lambda w: w["irq"].endswith(disks) if w["irq"] else w["comm"] != line["comm"],
                    "the disk")


def record_chains(env, name, *args, options=("--exact",)):
    """As record(), with chains: the recorder, its program, the report, the truth, and what a hypervisor stole meanwhile."""
    program = Program(env, name, *args)
    recorder = Recorder(env, "-p", ",".join(map(str, program.pids)), "--wakers=8", *options)
    recorder.wait_attached()
    before_ns = stolen_ns()
    program.go()
    program.wait_done()
    stolen = stolen_ns() - before_ns
    recorder.stop()
    report = recorder.report()
    program.finish()
    return recorder, program, report, program.truth(), stolen


CLEAR_TRIES = 3


def long_stories(sleepers, comm, steps):
    """(how many of those sleepers' stories are that long, how many there are)"""
    of = [story for sleeper in sleepers if sleeper.name.startswith(comm + " ") for story in sleeper.stories]
    return sum(stories.length(story) >= steps for story in of), len(of)


def check_events(env, kernel_frame, comm, steps, *args):
    """
    Every sleep of a program that wrote down its events: 99 % of the time with the right wakers, names, stacks and
    order, and hop times within 2 % or 100 us of the program's own.  Of the sleeps of `comm` nearly all must have so many
    steps by what the program says, or they were compared with less than they should tell.  On a busy machine the program
    may know or do too little; then another run is judged, never the same one again.
    """
    for number in range(1, CLEAR_TRIES + 1):
        _, program, report, lines, stolen = record_chains(env, "waking", *args)
        truth, sleepers = stories.sleepers_of(report, lines, program.pids)
        full, cnt = long_stories(sleepers, comm, steps)
        if stories.is_clear(sleepers) and full >= 0.9 * cnt > 0:
            break
        env.notes.append(f"run {number} is not clear, {full} of {cnt} sleeps of {comm} have {steps} steps: "
                         f"{[sleeper.unclear for sleeper in sleepers]}"[:600])
    else:  # that is of the program's own words alone
        raise TooLate(f"{full} of {cnt} sleeps of {comm} have {steps} steps, or the program does not know")
    stories.check_stories(env.check, sleepers, stolen)
    stories.check_wakers(env.check, truth, sleepers, kernel_frame)
    told = sum(len(sleeper.stories) for sleeper in sleepers)
    env.notes.append(f"{told} sleeps told, {sum(len(sleeper.unclear) for sleeper in sleepers)} not clear")


def check_pipeline(env, kind, kernel_frame):
    """A sleeps 60 ms and works 3, B works 5, C 8: D's wait is all of that in this order, and so are the others'."""
    check_events(env, kernel_frame, "stageD", 4, "pipeline", kind, 40)


@case
def chain_of_a_pipeline(env):
    check_pipeline(env, "pipe", "pipe_write")


@case
def chain_of_calls(env):
    """A asks B, B asks C, C asks D, and each sleeps before and after that: all of A's wait is told, not only each one's last sleep."""
    check_events(env, "pipe_write", "hopA", 4, "calls", "pipe", 20)


@case
@nightly
def chain_over_unix_sockets(env):
    check_pipeline(env, "unix", "unix_stream_sendmsg")


@case
def chain_over_loopback(env):
    check_pipeline(env, "tcp", "tcp_sendmsg")


@case
def chain_of_a_ring_is_a_loop(env):
    """Of two that wake each other, each had been woken by the one that it wakes."""
    _, _, report, _, _ = record_chains(env, "pipe", "processes", 100000)
    ends, paths = collections.Counter(), set()
    for wait in report.waits:
        for waker in wait["wakers"] if not wait["open_at_start"] else ():
            for story in waker["stories"]:
                ends[story["end"]] += story["blocked_ns"]
                paths.add((wait["tid"], *((hop["irq"], hop["tid"]) for hop in story["hops"])))
    env.check.that(ends["loop"] >= 0.9 * sum(ends.values()) > 0, f"ends of the chains: {ends}")
    env.check.that(len(paths) < 500, f"{len(paths)} chains of two threads")


DISK = re.compile(r"end_io|endio|end_writeback|end_request|end_buffer|end_bio|blk_done|jbd2_")


@case
def chain_of_a_disk_wait(env):
    """
    A device's interrupt that completes a request, or a thread of the kernel that does for it; and that in its turn was
    woken by the device.  Never an unknown one, never the program.
    """
    _, _, report, truth, _ = record_chains(env, "fsync", env.disk_file(), 60)
    for line in sites(truth):
        check_share(env, report, line, lambda w: (stories.is_disk(w) or (not w["irq"] and w["comm"] != line["comm"])) and
                    not w["user"] and any(DISK.search(name or "") for name in names(w["kernel"])), "the disk")
        told_ns = right_ns = 0
        for wait in report.ended(line["pid"], line["tid"], line["chain"]):
            for story in (story for waker in wait["wakers"] for story in waker["stories"]):
                if story["end"] == "interrupt":  # a thread of the kernel that is busy already was woken before, for others
                    told_ns += story["blocked_ns"]
                    right_ns += story["blocked_ns"] if stories.is_disk(story["hops"][-1]) else 0
        env.check.that(right_ns >= 0.9 * told_ns > 0, f"of {told_ns} ns that lead to an interrupt {right_ns} lead to the device")


def check_calls(env, log, waits, witness):
    """
    What the program knows by itself: in its calls it was blocked when it neither ran nor waited for a CPU.  Its CPU time is without
    interrupts and what a hypervisor stole; how much that was the kernel's tracer knows.
    """
    told = stories.NOTHING
    for before, after in ((event.before, event.after) for event in log.events):
        delay_ns = after.delay - before.delay
        ns = after.wall - before.wall - (after.cpu - before.cpu) - delay_ns
        off_ns = witness.off_cpu(log.tid, before.wall, after.wall, runs=True)
        taken_ns = max(0, after.wall - before.wall - off_ns - (after.cpu - before.cpu))
        # preempted, it may have waited for a CPU beside the call
        told = stories.plus(told, stories.Span(ns - taken_ns, ns + delay_ns * (after.yielded > before.yielded)))
    blocked_ns, sleeps = (sum(wait[field] for wait in waits) for field in ("blocked_ns", "count"))
    stories.check_time(env.check, "blocked in its calls", blocked_ns, told, sleeps)
    env.check.that(told.hi >= 5 * stories.TOLERANCE_NS * len(log.events), f"{len(log.events)} calls took the disk but {told.hi} ns")
    env.notes.append(f"{len(log.events)} calls, blocked {told.lo / 1e6:.2f} to {told.hi / 1e6:.2f} ms by the program, "
                     f"{blocked_ns / 1e6:.2f} by offcpu")


def check_disk(env, what, megabytes, cnt):
    """
    The program knows its calls, the kernel's tracer when the disk had done a request and who was woken by that.  Right
    wakers in the right order for 99 % of the time, and hop times within 2 % or 100 us.
    """
    trace = ktrace.Trace(env)
    _, _, report, lines, stolen = record_chains(env, "disk", env.disk_file(), what, megabytes, cnt)
    witness = trace.stop()
    env.unseen |= witness.has_gaps
    log = stories.Log(lines[0])
    waits = stories.waits_at(report, log.tid, "disk_site")
    check_calls(env, log, waits, witness)
    sleeps = [sleep for event in log.events for sleep in witness.between(log.tid, event.before.wall, event.after.wall)]
    sleeper = stories.Sleeper(f"disk {log.tid}", waits, [(s.woken - s.start, partial(witness.story, s)) for s in sleeps])
    stories.check_stories(env.check, [sleeper], stolen)
    told, seen = stories.sum_told(sleeper.stories), stories.sum_seen(waits)
    by_disk_ns = sum(of.rest.hi + of.awake.hi for path, of in told.items() if any(
        longer[:len(path)] == path and longer[-1] == stories.DISK for longer in told))
    env.check.that(by_disk_ns >= 0.5 * sleeper.told_ns > 0, f"the disk ended {by_disk_ns} of {sleeper.told_ns} ns")
    env.check.that(not sleeper.unclear, f"not clear: {sleeper.unclear}")
    wakers = [waker for wait in waits for waker in wait["wakers"]]
    right_ns = sum(waker["blocked_ns"] for waker in wakers if not waker["user"] and any(
        DISK.search(name or "") for name in names(waker["kernel"])))
    env.check.that(right_ns >= (1 - stories.SHARE) * sleeper.told_ns, f"{right_ns} of {sleeper.told_ns} ns have a waker at work for a disk")
    env.notes += [f"{' <- '.join('thread' if isinstance(who, int) else who for who in path)}: {of.count} times, "
                  f"awake {of.awake.hi / 1e6:.2f} ms by the kernel, {seen[path].awake / 1e6:.2f} by offcpu (ready {of.ready.hi / 1e6:.2f}, {seen[path].ready / 1e6:.2f}); the last one's "
                  f"{of.rest.hi / 1e6:.2f}, {seen[path].rest / 1e6:.2f}" for path, of in told.items()]


@case
def chain_of_disk_reads(env):
    """16 MB at once past the page cache: one sleep, ended by the disk."""
    check_disk(env, "read", 16, 40)


@case
@nightly
def chain_of_disk_writes(env):
    """16 MB of a new file that are forced to the disk: a kernel thread completes them after the disk has; then the rest."""
    check_disk(env, "sync", 16, 40)


@case
def chain_of_a_broadcast(env):
    """200 threads are woken by one that slept, by a timer, and worked half a millisecond."""
    check_events(env, "futex_wake", "herd", 2, "broadcast", 200, 10)


@case
def chain_of_a_convoy(env):
    """The lock is handed from thread to thread: each waits for all that hold it before."""
    check_events(env, "futex_unlock_pi", "convoy", 3, "convoy", 4, 60)


@case
def chain_by_a_signal(env):
    check_events(env, "send_signal", "signalled", 2, "signal", 100)


@case
def chain_of_children_that_exit(env):
    check_events(env, "do_exit", "waking", 2, "child", 60)
