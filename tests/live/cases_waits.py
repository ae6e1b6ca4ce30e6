# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""One kind of wait each, measured by the program that waits."""

from check import check_account, check_time, check_truth, names, of_kind, off_cpu_ns, tolerance_ns
from lib import Program, Recorder, TooLate, case, stolen_ns

import os
import time


def compare(env, name, *args, slack_each_ns=None, busy=False, lines=1):
    """Records the program and checks every line of its truth that has a site."""
    report, truth, program = env.record(name, *args)
    check_account(env.check, report)
    sites = [line for line in truth if "chain" in line]
    env.check.that(len(sites) >= lines, f"{name} told {len(sites)} truths, not {lines}")
    for line in sites:
        check_truth(env.check, report, line, slack_each_ns, busy)
    pids = set(program.pids)
    env.check.equal({row["pid"] for row in report.threads} - pids, set(), "threads of processes not asked for")
    return report, truth, program


@case
def nanosleep(env):
    compare(env, "nanosleep", 100, 5000, 2000, lines=2)


@case
def run_queue_by_reason(env):
    """Each time that a thread left the CPU it got it again through a run queue, but for what is open at an edge."""
    for extra in ("--wakers",), ():
        report, _, _ = env.record("nanosleep", 100, 1000, 1000, extra=extra)
        queue = [row for row in report.data["reasons"] if row["reason"] == "cpu.queue"][0]
        left = sum(row["switches"] for row in report.threads)
        env.check.that(abs(queue["count"] - left) <= 2 * len(report.threads), f"{queue} for {left} switches")
        env.check.equal("median_ns" in queue, bool(extra), f"{extra}: durations are known")
        env.check.that(not extra or 0 < queue["median_ns"] < queue["off_cpu_ns"], f"durations of {queue}")


@case
def stack_on_huge_page(env):
    compare(env, "onpages", "huge", 50, 5000)


@case
def stack_on_shared_pages(env):
    compare(env, "onpages", "shared", 50, 5000)


@case
def stack_that_is_moved(env):
    """Its pages become a huge one and are split again while it sleeps: then a walk may fail, but never lie."""
    env.tolerate_unseen()  # to move them the kernel waits for a worker on each CPU, and meets guarded threads in any run
    report, truth, _ = env.record("onpages", "moved", 100, 10000)
    check_account(env.check, report, allowed_losses=("user_stack",))
    chain = next(line for line in truth if "chain" in line)["chain"]
    asleep = [wait for wait in report.waits if wait["state"] == "S" and any(name == "clock_nanosleep" or "nanosleep" in (name or "")
              for name in names(wait["kernel"])) and wait["pid"] != wait["tid"]]
    right = [wait for wait in asleep if names(wait["user"])[-len(chain):] == chain]
    full = max((names(wait["user"]) for wait in right), key=len, default=[])
    env.check.that(sum(map(off_cpu_ns, right)) >= 0.8 * sum(map(off_cpu_ns, asleep)) > 0, f"walked: {asleep}")
    for wait in asleep:
        walked = names(wait["user"])
        if walked == [None]:  # one frame without a name stands for a stack that is lost, and that is counted
            env.check.that(report.coverage["lost"].get("user_stack", 0) > 0, "a lost stack is not counted")
            continue
        env.check.that(not walked or full[-len(walked):] == walked, f"walked {walked}, no part of {full}")


@case
def futex_contention(env):
    _, truth, _ = compare(env, "futex", 3, 60, 5000, lines=5)
    waited = sum(line["slept"] for line in of_kind(truth, "futex"))
    if waited <= 100:
        raise TooLate(f"the lock was contended only {waited} times")


@case
def pipe_ping_pong_threads(env):
    compare(env, "pipe", "threads", 5000, slack_each_ns=10_000, busy=True, lines=2)


@case
def pipe_ping_pong_processes(env):
    compare(env, "pipe", "processes", 5000, slack_each_ns=10_000, busy=True, lines=2)


@case
def fsync(env):
    compare(env, "fsync", env.disk_file(), 60, busy=True)


@case
def socket_unix(env):
    compare(env, "sock", "unix", 100, 5000)


@case
def socket_tcp(env):
    compare(env, "sock", "tcp", 100, 5000)


@case
def woken_before_it_slept(env):
    """A timer that is due at once wakes a thread before it has gone off CPU: of its next sleep, without end, that waking says nothing."""
    threads = 30
    report, _, program = env.record("naps", threads, 200, settle_s=0.5)
    check_account(env.check, report)
    open_waits = [wait for wait in report.waits if wait["open_at_end"] and names(wait["user"])[-1:] == ["pause_site"]]
    env.check.equal(len({wait["tid"] for wait in open_waits} - {program.pid}), threads, "threads that sleep as the window ends")
    env.check.equal([(wait["tid"], wait["runnable_ns"]) for wait in open_waits if wait["runnable_ns"]], [],
                    "open sleeps in which a thread is said to wait for a CPU")


@case
def page_faults(env):
    _, truth, _ = compare(env, "fault", env.disk_file(), 200, busy=True)
    if truth[0]["slept"] < 100:
        raise TooLate(f"only {truth[0]['slept']} of 200 faults slept: the file was not cold")


@case
def stopped_by_itself(env):
    compare(env, "stop", "self", 10, 20000)


@case
def stopped_by_another(env):
    compare(env, "stop", "parent", 10, 20000)


@case
def stopped_under_ptrace(env):
    compare(env, "stop", "ptrace", 10, 20000)


@case
def hogs(env):
    """Two hogs for each CPU: nearly all of their time off CPU is preemption."""
    env.tolerate_unseen()
    threads = 2 * os.cpu_count()
    stolen = stolen_ns()
    report, truth, _ = env.record("hog", threads, 1500)
    stolen = stolen_ns() - stolen + 10_000_000 if stolen_ns() != stolen else 0
    check_account(env.check, report)
    env.check.equal(len(truth), threads, "hogs that told their truth")
    for line in truth:
        key = line["pid"], line["tid"]
        who = f"hog {key}"
        rows = report.rows.get(key, [])
        if not env.check.equal(len(rows), 1, f"{who}: thread rows"):
            continue
        row = rows[0]
        waits = [wait for wait in report.by_thread[key] if wait["state"] == "R"]
        check_time(env.check, f"{who}: on CPU, here", row["on_cpu_ns"], line["cpu_ns"],
                   line["cpu_ns"] + stolen, tolerance_ns(line["cpu_ns"], 1))
        off_ns = line["wall_ns"] - line["cpu_ns"]
        check_time(env.check, f"{who}: preempted", row["preempted_ns"], off_ns - stolen, off_ns,
                   tolerance_ns(off_ns, 1))
        env.check.equal(sum(wait["off_cpu_ns"] for wait in waits), row["preempted_ns"],
                        f"{who}: waits in R against preempted")
        count = sum(wait["count"] for wait in waits)
        # before its first and after its last mark the thread may be preempted once more
        env.check.that(line["yielded"] <= count <= line["yielded"] + 2,
                       f"{who}: {count} waits in R, the kernel counted {line['yielded']}")
        at_site = sum(wait["off_cpu_ns"] for wait in waits
                      if names(wait["user"])[-2:] == ["hog_main", "spin_site"])
        env.check.that(at_site >= 0.98 * row["preempted_ns"],
                       f"{who}: only {at_site} of {row['preempted_ns']} ns preempted at hog_main, spin_site")


def is_below(wait, chain):
    """Does its user stack go through these frames?"""
    path = names(wait["user"])
    return any(path[at:at + len(chain)] == chain for at in range(len(path)))


@case
def yields(env):
    report, truth, _ = env.record("yield", 3000)
    check_account(env.check, report)
    for line in of_kind(truth, "yield"):
        key = line["pid"], line["tid"]
        whole = next(thread for thread in of_kind(truth, "thread") if thread["tid"] == line["tid"])
        if line["yielded"] <= 1000:
            raise TooLate(f"yield {key}: only {line['yielded']} of 3000 yields gave the CPU away")
        waits = [wait for wait in report.by_thread[key] if wait["state"] == "R"]
        count = sum(wait["count"] for wait in waits)
        env.check.that(whole["yielded"] <= count <= whole["yielded"] + 2,
                       f"yield {key}: {count} waits in R, the kernel counted {whole['yielded']}")
        # On a busy machine it is now and then preempted beside the yield, where it reads the clock or its own count of switches.
        below = [wait for wait in waits if is_below(wait, line["chain"])]
        count = sum(wait["count"] for wait in below)
        env.check.that(line["yielded"] * 0.98 <= count <= whole["yielded"],
                       f"yield {key}: {count} waits at yield_site or below, {line['yielded']} of its yields switched")
        count = sum(wait["count"] for wait in below if names(wait["user"])[-1] == line["chain"][-1])
        env.check.that(count > line["yielded"] * 0.75,
                       f"yield {key}: {count} waits at yield_site, {line['yielded']} of its yields switched")
        check_time(env.check, f"yield {key}", sum(wait["off_cpu_ns"] for wait in below),
                   line["wall_ns"] - line["cpu_ns"], whole["wall_ns"], 2_000 * line["yielded"])


@case
def asleep_throughout(env):
    """Threads that sleep before, during and after the window: in full, with their stacks."""
    program = Program(env, "sleeper")
    recorder = Recorder(env, "-p", program.pid, "-d", "1")
    recorder.wait()
    report = recorder.report()
    check_account(env.check, report)
    duration_ns = report.window["duration_ns"]
    for line in of_kind(program.truth(), "sleeper"):
        key, chain = (line["pid"], line["tid"]), line["chain"]
        who = f"sleeper {key} at {chain[-1]}"
        if not env.check.equal(len(report.rows[key]), 1, f"{who}: thread rows"):
            continue
        row = report.rows[key][0]
        env.check.equal((row["open_at_start"], row["open_at_end"]), (True, True), f"{who}: open at start, at end")
        env.check.equal((row["observed_ns"], row["blocked_ns"], off_cpu_ns(row)), (duration_ns,) * 3,
                        f"{who}: observed, blocked, off CPU")
        env.check.equal(row["switches"], 0, f"{who}: switches")
        waits = report.by_thread[key]
        if not env.check.equal(len(waits), 1, f"{who}: waits"):
            continue
        env.check.equal((waits[0]["state"], waits[0]["count"], waits[0]["open_at_end"]), ("S", 1, True),
                        f"{who}: state, count, open at end")
        env.check.equal(waits[0]["off_cpu_ns"], duration_ns, f"{who}: the wait's time")
        env.check.equal(names(waits[0]["user"])[-len(chain):], chain, f"{who}: user stack")
        kernel = names(waits[0]["kernel"])
        pattern = {"futex_site": "futex_wait", "poll_site": "poll", "read_site": "pipe_read"}[chain[-1]]
        env.check.that(any(name and pattern in name for name in kernel), f"{who}: no {pattern} in {kernel}")
    program.finish()


@case
def wakes_in_the_window(env):
    """A sleep that began before the window: from the window's start to its end, with its stack."""
    program = Program(env, "nanosleep", 1, 2_000_000)
    begin_ns = time.time_ns()
    program.go()
    time.sleep(0.02)
    recorder = Recorder(env, "-p", program.pid, "--exact")
    recorder.wait_attached()
    program.wait_done()
    recorder.stop()
    report = recorder.report()
    check_account(env.check, report)
    line = program.truth()[0]
    if report.window["start_unix_ns"] > begin_ns + 1_900_000_000:
        raise TooLate("the window opened after the sleep's end")
    # beside others it may be preempted there, too, as it has been woken
    found = [wait for wait in report.ended(line["pid"], line["tid"], line["chain"]) if wait["state"] != "R"]
    env.check.equal([(wait["state"], wait["count"]) for wait in found], [("S", 1)], "states and counts at the site")
    seen_ns = sum(wait["off_cpu_ns"] for wait in found)
    # from the window's start to the end of the sleep, as the wall clock has it
    truth_ns = begin_ns + line["wall_ns"] - report.window["start_unix_ns"]
    check_time(env.check, "the part in the window", seen_ns, truth_ns - 5_000_000, truth_ns + 5_000_000,
               tolerance_ns(truth_ns, 1))
    row = report.rows[line["pid"], line["tid"]][0]
    env.check.that(row["open_at_start"], "the thread is not marked open at the start")
    program.finish()


@case
def moves_between_cpus(env):
    stolen = stolen_ns()
    report, truth, _ = compare(env, "migrate", 200, 2000)
    stolen = stolen_ns() - stolen + 10_000_000 if stolen_ns() != stolen else 0
    for line in of_kind(truth, "spinner"):
        row = report.rows[line["pid"], line["tid"]][0]
        check_time(env.check, "the spinner that is moved: on CPU, here", row["on_cpu_ns"], line["cpu_ns"],
                   line["cpu_ns"] + stolen, tolerance_ns(line["cpu_ns"], 1))
