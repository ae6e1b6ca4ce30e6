# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Threads and processes that begin, end, or become something else inside the window."""

import collections
import json
import os
import re
import signal
import subprocess
import time

from check import EDGE_LOSSES, check_account, check_time, check_truth, of_kind, tolerance_ns
from lib import Program, Recorder, Skip, TooLate, case, links_and_ticks, nightly


def check_rows(env, report, first_tid, lives):
    """A row for each thread that lived, beside the first one's.  Returns how many had each id."""
    expected = collections.Counter(line["tid"] for line in lives)
    seen = collections.Counter(row["tid"] for row in report.threads if row["tid"] != first_tid)
    env.check.equal(sum((expected - seen).values()), 0, "threads without a row")
    env.check.equal(sum((seen - expected).values()), 0, "rows without a thread")
    return expected


@case
def threads_by_the_thousand(env):
    total = 2000
    report, truth, _ = env.record("churn", total, 50, 2000)
    check_account(env.check, report)
    lives = of_kind(truth, "life")
    pid = lives[0]["pid"]
    env.check.equal(len(report.threads), total + 1, "thread rows: all that were born, and the first thread")
    expected = check_rows(env, report, pid, lives)
    count, off_ns, late = 0, 0, 0
    for line in lives:
        waits = [wait for wait in report.ended(pid, line["tid"], ["born_main", "born_site"]) if wait["state"] == "S"]
        count += sum(wait["count"] for wait in waits)
        own_ns = sum(wait["off_cpu_ns"] for wait in waits)
        off_ns += own_ns
        # the bracket also holds what the thread ran in it: a virtual machine can stand still meanwhile
        ran_ns = sum(row["on_cpu_ns"] for row in report.rows[pid, line["tid"]])
        low_ns = line["wall_ns"] - report.preempted_ns(pid, line["tid"]) - ran_ns
        slack_ns = tolerance_ns(line["wall_ns"], 1)
        late += expected[line["tid"]] == 1 and not low_ns - slack_ns <= own_ns <= line["wall_ns"] + slack_ns
    env.check.equal(count, total, "sleeps at born_site")
    env.check.equal(late, 0, "threads whose sleep is off by more than 1% or 100 us")
    wall_ns = sum(line["wall_ns"] for line in lives)
    preempted_ns = sum(report.preempted_ns(pid, tid) for tid in expected)
    check_time(env.check, "all sleeps", off_ns, wall_ns - preempted_ns, wall_ns, tolerance_ns(wall_ns, total))


def exec_program(env, mode):
    report, truth, program = env.record("exec", mode, 20, 10000, os.path.join(env.programs, "exec_after"))
    check_account(env.check, report)
    for kind in ("before", "after"):
        lines = of_kind(truth, kind)
        if env.check.equal(len(lines), 1, f"truths of kind {kind}"):
            check_truth(env.check, report, lines[0])
    rows = report.rows[program.pid, program.pid]
    env.check.equal({row["comm"] for row in rows}, {"exec", "exec_after"}, "names of the rows of the first thread")
    env.check.equal(len(rows), 2, "rows of the first thread: one for each program")
    return report, program


@case
@nightly
def execs_without_end(env):
    """Whoever becomes another program just as the window ends has its account, too: the rows of a process are all of its time."""
    env.tolerate_unseen()
    programs = [Program(env, "execs", 300) for _ in range(4)]
    for program in programs:
        program.go()
    most = dict.fromkeys((program.pid for program in programs), 0)
    for _ in range(8):
        recorder = Recorder(env, "-p", ",".join(str(program.pid) for program in programs), "--exact", "-d", "0.1")
        recorder.wait()
        report = recorder.report()
        # thousands of mappings a second, whose rings a recorder that waits for a CPU lets run over: names, and no time
        check_account(env.check, report, allowed_losses=(*EDGE_LOSSES, "mmap_events"))
        env.check.equal(report.coverage["stacks"]["none_ns"], 0, "time of stacks that are neither there nor lost")
        for program in programs:
            rows = report.rows[program.pid, program.pid]
            most[program.pid] = max(most[program.pid], len(rows))
            env.check.equal({(row["comm"], row["process"]) for row in rows} - {("execs", "execs"), ("exe", "exe")}, set(),
                            "names of rows")
            env.check.equal(sum(row["observed_ns"] for row in rows), report.window["duration_ns"],
                            f"process {program.pid}: time observed")
    if min(most.values()) <= 10:
        raise TooLate(f"{most} rows at most, one for each program")


@case
def ended_before_the_window(env):
    """What has ended and was not waited for does not wait, and runs no more."""
    env.tolerate_unseen()
    recorder, zombies, open_at, before = Recorder(env, "-a", "--exact"), [], None, 0
    # from before the window until it has been open for a while, and for enough of them
    while recorder.process.poll() is None and (open_at is None or time.monotonic() < open_at + 0.8 or len(zombies) < before + 60):
        zombies.append(subprocess.Popen(["true"]))
        time.sleep(0.001)
        if open_at is None and links_and_ticks(recorder.process.pid):
            open_at, before = time.monotonic(), len(zombies)
    recorder.stop()
    report = recorder.report()
    pids = {zombie.pid for zombie in zombies}
    rows = [row for row in report.threads if row["pid"] in pids]
    env.check.that(len(rows) > 20, f"only {len(rows)} rows of processes that ended in the window")
    long_ns = report.window["duration_ns"] / 2
    env.check.equal([row for row in rows if row["observed_ns"] > long_ns], [], "rows of processes that had ended before the window")
    for zombie in zombies:
        zombie.wait()


@case
def threads_beyond_a_recording(env):
    """When no more fit a recording it ends, with what it has, and says so."""
    env.tolerate_unseen()
    program = Program(env, "churn", 3000, 20, 1000)
    recorder = Recorder(env, "-p", program.pid, "-d", "30", "--test-rows-max", "500")
    recorder.wait_attached()
    program.go()
    recorder.wait()
    report = recorder.report()
    check_account(env.check, report, allowed_losses=EDGE_LOSSES)
    # the first of threads, their states and their waits to be 500
    env.check.that(100 <= len(report.threads) < 3000, f"{len(report.threads)} rows of threads")
    env.check.that(report.window["duration_ns"] < 20e9, f"a window of {report.window['duration_ns']} ns")
    env.check.that("ends here" in recorder.said(), "stderr does not say so")


@case
def threads_beyond_a_recording_as_events(env):
    """Lines of waits need no account: however many threads there were, they go on."""
    program = Program(env, "churn", 3000, 20, 1000)
    recorder = Recorder(env, "-p", program.pid, "--test-rows-max", "500", verb="events")
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    with open(recorder.out, encoding="utf-8", errors="replace") as f:
        tids = {line.split("[", 1)[1].split("/", 1)[0] for line in f if "[" in line and "TID" not in line}
    env.check.that(len(tids) > 2900, f"lines of {len(tids)} threads")
    env.check.that("ends here" not in recorder.said(), "the run ended before its time")


@case
def threads_beyond_a_recording_as_histograms(env):
    """Nor do histograms: those of each thread, and what is said at the end of who still waits."""
    program = Program(env, "churn", 3000, 20, 1000)
    recorder = Recorder(env, "-p", program.pid, "-L", "--json", "--test-rows-max", "500", verb="hist")
    recorder.wait_attached()
    program.go()
    program.wait_done()
    env.check.equal(recorder.stop(), 0, "exit status")
    with open(recorder.out, encoding="utf-8", errors="replace") as f:
        rows = json.load(f)["histograms"]
    env.check.that(len({row["tid"] for row in rows}) > 2900, f"rows of {len(rows)} threads")
    env.check.that("ends here" not in recorder.said(), "the run ended before its time")
    open_cnt = int(re.search(r"(\d+) waits? had not ended", recorder.said())[1])
    env.check.that(open_cnt < 100, f"{open_cnt} waits had not ended")


@case
@nightly
def threads_beyond_the_first_table(env):
    """More threads alive at once than there was room for at the start, on a machine of few CPUs: each has its account."""
    cnt = 20_000
    if int(open("/proc/sys/kernel/threads-max", encoding="ascii").read()) < 2 * cnt:
        raise Skip("the kernel allows too few threads")
    env.tolerate_unseen()
    report, truth, program = env.record("churn", cnt, cnt, 900_000)
    check_account(env.check, report, allowed_losses=(*EDGE_LOSSES, "wait_map_full", "ring_stack"))
    env.check.equal(report.coverage["lost"].get("storage", 0), 0, "threads without room")
    seen = {row["tid"] for row in report.threads if row["pid"] == program.pid}
    env.check.equal(len({line["tid"] for line in of_kind(truth, "life")} - seen), 0, "threads without a row")


@case
@nightly
def threads_that_end_beyond_the_ring(env):
    """More threads end than the ring buffer has room for, while the reader has no CPU: each has its account."""
    cnt = 15_000
    env.tolerate_unseen()
    program = Program(env, "churn", cnt, 50, 0)
    recorder = Recorder(env, "-p", program.pid, "--exact")
    recorder.wait_attached()
    recorder.process.send_signal(signal.SIGSTOP)
    program.go()
    program.wait_done()
    recorder.process.send_signal(signal.SIGCONT)
    recorder.stop()
    report = recorder.report()
    program.finish()
    check_account(env.check, report, allowed_losses=(*EDGE_LOSSES, "wait_map_full", "ring_stack", "mmap_events", "lock", "waker"))
    check_rows(env, report, program.pid, of_kind(program.truth(), "life"))


@case
def a_zombie_is_no_thread(env):
    """What has ended and was not waited for has no time, and is not blocked."""
    zombie = subprocess.Popen(["true"])
    time.sleep(0.2)
    env.check.that(" Z " in open(f"/proc/{zombie.pid}/stat", encoding="ascii").read(), "it is no zombie")
    recorder = Recorder(env, "-a", "--exact")
    recorder.wait_attached()
    time.sleep(0.3)
    recorder.stop()
    report = recorder.report()
    zombie.wait()
    env.check.equal([row for row in report.threads if row["pid"] == zombie.pid], [], "rows of a zombie")


@case
def exec_from_the_first_thread(env):
    report, program = exec_program(env, "main")
    observed_ns = sum(row["observed_ns"] for row in report.rows[program.pid, program.pid])
    env.check.equal(observed_ns, report.window["duration_ns"], "observed by both rows together")


@case
def exec_from_another_thread(env):
    """The thread that calls execve takes the first thread's id; all others die."""
    report, program = exec_program(env, "thread")
    gone = [row for row in report.threads if row["tid"] != program.pid]
    env.check.equal(len(gone), 2, "rows of the two other threads")
    env.check.equal([row["open_at_end"] for row in gone], [False] * 2, "open at the end, of threads that are gone")


def vfork_program(env, mode):
    report, truth, _ = env.record("vfork", mode, 10, 10000)
    check_account(env.check, report)
    check_truth(env.check, report, truth[0], busy=True)


@case
def vfork_until_exit(env):
    vfork_program(env, "exit")


@case
def vfork_until_exec(env):
    vfork_program(env, "exec")


@case
def vfork_children(env):
    """With the children in sight: they slept in the parent's frame, then became /bin/true."""
    report, truth = env.record_command("vfork", "exec", 10, 10000)
    check_account(env.check, report)
    check_truth(env.check, report, truth[0])
    parent = truth[0]["pid"]
    children = {row["pid"] for row in report.threads} - {parent}
    env.check.equal(len(children), 10, "children")
    for pid in children:
        env.check.equal({row["comm"] for row in report.rows[pid, pid]}, {"vfork", "true"}, f"names of child {pid}")
        waits = [wait for wait in report.ended(pid, pid, ["main", "vfork_run", "vfork_site"]) if wait["state"] == "S"]
        env.check.equal(sum(wait["count"] for wait in waits), 1, f"sleeps of child {pid} in its parent's frame")
        check_time(env.check, f"child {pid}", sum(wait["off_cpu_ns"] for wait in waits), 10_000_000,
                   truth[0]["max_ns"], 100_000)


@case
def tree_of_processes(env):
    """Forty processes gone before the recording ends: every one has its account and its names."""
    report, truth = env.record_command("tree", 3, 3, 20000)
    check_account(env.check, report)
    env.check.equal(len(truth), 27, "leaves that told their truth")
    for line in truth:
        check_truth(env.check, report, line)
    env.check.equal(len({row["pid"] for row in report.threads if row["comm"] == "tree"}), 1 + 3 + 9 + 27, "processes")


def last_moments(env, *options):
    """A process that was there, asleep, wakes, takes part in a few milliseconds' work and is gone: its frames have names."""
    report, truth, program = env.record("pipe", "processes", 100, options=options)
    env.check.that(len(of_kind(truth, "pipe")) == 2, f"pipe told {truth}")
    for wait in report.waits:
        if wait["pid"] in program.pids:
            unnamed = [frame["why"] for frame in wait["user"] if frame.get("why") == "process gone or hidden"]
            env.check.equal(unnamed, [], f"unnamed frames of a wait of {wait['pid']} in {wait['state']}")


@case
def last_moments_of_a_process(env):
    last_moments(env, "-a")


@case
def last_moments_by_frame_pointers(env):
    last_moments(env, "-a", "--unwind", "fp")


@case
def process_id_used_again(env):
    report, truth = env.record_command("pidreuse", 20000)
    if of_kind(truth, "refused"):
        raise Skip(f"clone3 with set_tid: error {of_kind(truth, 'refused')[0]['errno']}")
    check_account(env.check, report)
    old, new = of_kind(truth, "old")[0], of_kind(truth, "new")[0]
    env.check.equal(old["pid"], new["pid"], "the process id")
    check_truth(env.check, report, old)
    check_truth(env.check, report, new)
    rows = report.rows[old["pid"], old["tid"]]
    env.check.equal(sorted(row["comm"] for row in rows), ["reuse-new", "reuse-old"], "rows of the id used twice")


@case
def threads_that_die_as_the_window_ends(env):
    """Those that die after its end and before they are asked have an account all the same."""
    report, truth, program = env.record("dying", 400)
    env.tolerate_unseen()
    check_account(env.check, report, allowed_losses=EDGE_LOSSES)
    env.check.equal([row["comm"] for row in report.threads if row["comm"] == "[lost]"], [], "threads without an account")
    for line in truth:
        rows = report.rows[program.pid, line["tid"]]
        env.check.equal([row["comm"] for row in rows], ["dying"], f"rows of thread {line['tid']}")
        naps = [wait for wait in report.ended(program.pid, line["tid"], line["chain"]) if wait["state"] == "S"]
        env.check.equal(sum(wait["count"] for wait in naps), line["slept"], f"sleeps of thread {line['tid']}")
