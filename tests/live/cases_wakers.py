# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Who ended each sleep, of programs whose wakers are known."""

from check import names
from lib import Program, Recorder, case


def record(env, name, *args):
    """The program under a recording of its processes with wakers: the report and its truth."""
    program = Program(env, name, *args)
    recorder = Recorder(env, "-p", ",".join(map(str, program.pids)), "--wakers")
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
    report, truth = record(env, "pipe", "processes", 5000)
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
    """A device, or a thread of the kernel that completes for it; never an unknown one, never the program."""
    report, truth = record(env, "fsync", env.disk_file(), 60)
    for line in sites(truth):
        check_share(env, report, line, lambda w: w["irq"] or w["comm"] != line["comm"], "the disk")
