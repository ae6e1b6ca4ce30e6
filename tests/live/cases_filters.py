# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Targets, filters and captures: what is asked for is there, what is not is not, and nothing is unaccounted."""

import os
import shutil
import subprocess
import time

from check import EDGE_LOSSES, check_account, check_time, check_truth, names, of_kind, tolerance_ns
from lib import Program, Recorder, Skip, TooLate, case, enter_cgroup, nightly, threads_of_machine, wait_until


def together(env, programs, *options):
    """Runs programs that are ready under one recording."""
    recorder = Recorder(env, *options, "--exact")
    recorder.wait_attached()
    for program in programs:
        program.go()
    for program in programs:
        program.wait_done()
    recorder.stop()
    report = recorder.report()
    for program in programs:
        program.finish()
    return report


def processes(report):
    return {row["pid"] for row in report.threads}


@case
def filter_processes(env):
    programs = [Program(env, "nanosleep", 20, 10000) for _ in range(3)]
    asked = programs[:2]
    report = together(env, programs, "-p", ",".join(str(program.pid) for program in asked))
    check_account(env.check, report)
    env.check.equal(processes(report), {program.pid for program in asked}, "processes in the report")
    for program in asked:
        check_truth(env.check, report, program.truth()[0])


@case
def filter_process_by_name(env):
    """A name means the executable's file, too, which is longer than a thread's name may be; children come with --follow."""
    shell = env.temporary("a-shell-with-a-long-name")
    shutil.copy(os.path.realpath("/bin/sh"), shell)
    script = "read go; for i in 1 2 3 4 5; do sleep 0.05; done; echo done; read end"
    for follow in ((), ("--follow",)):
        with subprocess.Popen([shell, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
            recorder = Recorder(env, "-p", os.path.basename(shell), *follow, "--exact")
            recorder.wait_attached()
            program.stdin.write(b"go\n")
            program.stdin.flush()
            program.stdout.readline()
            recorder.stop()
            program.stdin.close()
        report = recorder.report()
        children = {row["pid"] for row in report.threads} - {program.pid}
        env.check.equal(len(children), 5 if follow else 0, f"children in the report ({follow})")
        env.check.equal(program.pid in processes(report), True, "the named process in the report")
        screen = subprocess.run([env.offcpu, "report", recorder.out], stdout=subprocess.PIPE, text=True, check=True).stdout
        env.check.equal("Not recorded: 5 processes" in screen, not follow, f"children are missed ({follow}): {screen}")
        asleep = sum(row["blocked_ns"] for row in report.threads if row["comm"] == "sleep")
        env.check.equal(not follow or 250e6 <= asleep < 400e6, True, f"time that the children slept ({asleep})")
    # a server's first process is recorded alone, which is said; with --follow its children are in, too
    script = "exec 3<&0; for i in 1 2 3; do (read wait <&3; :) & done; echo forked; read end; wait"
    with subprocess.Popen([shell, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        server.stdout.readline()
        some = env.temporary("some.offcpu")
        said = [subprocess.run([env.offcpu, "record", "-d", "0.1", "-o", some, "-p", *target],
                               stderr=subprocess.PIPE, text=True, check=False).stderr
                for target in ((str(server.pid),), (os.path.basename(shell),), (str(server.pid), "--follow"))]
        server.stdin.close()
    env.check.that("has forked 3 processes of that name" in said[0] and not any("has forked" in s for s in said[1:]), f"left out: {said}")
    env.check.equal(len(processes(env.report(some))), 4, "processes of a server recorded with --follow")
    refused = subprocess.run([env.offcpu, "record", "-p", "no-such-name", "-d", "0.1", "-o", env.temporary("none.offcpu")],
                             stderr=subprocess.PIPE, text=True, check=False)
    env.check.equal((refused.returncode, refused.stderr), (1, "offcpu record: no process is called 'no-such-name'\n"), "a name of none")


def check_outsiders(env):
    """Of what is not in the tracer's pid namespace it has no names, and nothing to tell."""
    out = env.temporary("all.offcpu")
    with subprocess.Popen(["unshare", "--pid", "--fork", "--mount-proc", env.offcpu, "record", "-a", "-d", "0.5", "-o", out],
                          stderr=subprocess.PIPE, text=True) as inside:
        while inside.poll() is None:
            subprocess.run(["true"], check=True)
        if not env.check.equal(inside.returncode, 0, f"status of a recording of all in a namespace ({inside.stderr.read()})"):
            return
    env.check.equal([row["comm"] for row in env.report(out).threads if row["comm"] == "true" or not row["tid"]], [],
                    "threads from outside the namespace")


@case
def filter_process_in_pid_namespace(env):
    """-p means the process id as the tracer sees it; who held the CPU can be asked there, too."""
    truth, out = env.temporary("truth"), env.temporary("inner.offcpu")
    script = (f"'{env.programs}/nanosleep' '{truth}' 10000 20000 </dev/null >/dev/null & "
              f"'{env.offcpu}' record --runq-blame -p $! -d 1 -o '{out}' 2>/dev/null && echo $! && kill $!")
    result = subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "sh", "-c", script],
                            capture_output=True, text=True, timeout=30, check=False)
    if not env.check.equal(result.returncode, 0, f"status inside the namespace ({result.stderr.strip()})"):
        return
    inner = int(result.stdout.split()[0])
    report = env.report(out)
    check_account(env.check, report)
    env.check.equal(processes(report), {inner}, "processes in the report")
    check_outsiders(env)
    waits = [wait for wait in report.waits if wait["state"] == "S" and "do_nanosleep" in names(wait["kernel"])]
    count, window_ns = sum(wait["count"] for wait in waits), report.window["duration_ns"]
    off_ns = sum(wait["off_cpu_ns"] for wait in waits)
    # those at the two edges are cut, so there may be two more than fit
    env.check.that(window_ns // 100_000_000 <= count <= window_ns // 20_000_000 + 2,
                   f"{count} sleeps of 20 ms seen in {window_ns} ns")
    outer = subprocess.run(["unshare", "--pid", "--fork", env.offcpu, "record", "-a", "-d", "0.1", "-o", env.temporary("outer.offcpu")],
                           capture_output=True, text=True, timeout=30, check=False)
    env.check.that("/proc is of another pid namespace" in outer.stderr, f"with the outer /proc: {outer.stderr}")
    blocked_ns = sum(row["blocked_ns"] for row in report.threads)
    env.check.that(0.5 * window_ns <= blocked_ns and off_ns >= 0.95 * blocked_ns, f"{off_ns} ns asleep of {blocked_ns} in {window_ns}")
    named = [wait for wait in waits if names(wait["user"])[-3:] == ["main", "sleep_run", "sleep_first"]]
    env.check.that(named, "no sleep has the program's own functions")


@case
def filter_thread(env):
    program = Program(env, "futex", 3, 30, 5000)
    tids = sorted(int(tid) for tid in os.listdir(f"/proc/{program.pid}/task"))
    asked = tids[2]  # the second waiter
    report = together(env, [program], "-t", asked)
    check_account(env.check, report)
    env.check.equal({row["tid"] for row in report.threads}, {asked}, "threads in the report")
    lines = [line for line in program.truth() if line["tid"] == asked]
    env.check.equal(len(lines), 1, "truths of that thread")
    check_truth(env.check, report, lines[0])


@case
def filter_comm(env):
    programs = [Program(env, "nanosleep", 20, 10000, 0, comm) for comm in ("live-cat", "live-cow", "live-dog")]
    report = together(env, programs, "--comm", "live-c*")
    check_account(env.check, report)
    env.check.equal(processes(report), {program.pid for program in programs[:2]}, "processes in the report")
    for program in programs[:2]:
        check_truth(env.check, report, program.truth()[0])


@case
def filter_comm_of_renamed(env):
    """Thread by thread, as pools name theirs after they are made: a row holds the time under a name that was asked for."""
    report, truth, program = env.record("renamed", 400_000, options=["--comm", "chosen-*"])
    check_account(env.check, report)
    rows = {row["comm"]: row for row in report.threads}
    env.check.equal(set(rows), {"chosen-itself", "chosen-asleep", "chosen-left"}, "names of rows")
    env.check.equal({row["process"] for row in report.threads}, {"renamed"}, "processes of rows")
    for line in of_kind(truth, "chosen"):
        check_truth(env.check, report, line)
    asleep = rows.get("chosen-asleep")
    if asleep:
        named_ns = of_kind(truth, "named")[0]["wall_ns"]
        late_ns = report.window["duration_ns"]
        env.check.that(named_ns - 1_000_000 <= asleep["blocked_ns"] <= late_ns,
                       f"the sleeper was blocked {asleep['blocked_ns']} ns, {named_ns} of them under its name")
        env.check.equal(asleep["runnable_ns"] + asleep["preempted_ns"], 0, "time the sleeper wanted to run")
    env.check.that(report.rows[program.pid, program.pid] == [], "the first thread, whose name was not asked for, has a row")


@case
def filter_comm_of_execs(env):
    """A name that an exec gives."""
    report, truth, program = env.record("exec", "main", 20, 10000, os.path.join(env.programs, "exec_after"),
                                        options=["--comm", "exec_aft*"])
    check_account(env.check, report)
    env.check.equal([row["comm"] for row in report.threads if row["pid"] == program.pid], ["exec_after"], "names of rows")
    check_truth(env.check, report, of_kind(truth, "after")[0])


def has_links(pid):
    """It has begun to attach its BPF programs."""
    folder = f"/proc/{pid}/fd"
    try:
        return any("bpf_link" in os.readlink(os.path.join(folder, fd)) for fd in os.listdir(folder))
    except OSError:
        return False


@case
def filter_cgroup_left_before_any_switch(env):
    """Who has run without a pause since before the window leaves the group, and has been in it for as long as the window, no longer."""
    group = env.cgroup(f"offcpu-live-{os.getpid()}")
    script = ("import os, sys, time; os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)); print('ready', flush=True); "
              "sys.stdin.readline(); begin = time.time()\nwhile time.time() < begin + 0.9: pass\nprint(begin, flush=True); time.sleep(3)")
    process = subprocess.Popen(["python3", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=lambda: enter_cgroup(group, 0))
    env.running.append(process)
    if process.stdout.readline() != b"ready\n":
        raise Skip("no real-time priority")
    recorder = Recorder(env, "--cgroup", group, "--exact")
    # it runs from when the tracer has begun to attach: no longer than real-time threads may
    wait_until(lambda: recorder.process.poll() is not None or has_links(recorder.process.pid), 20, 0.001)
    process.stdin.write(b"\n")
    process.stdin.flush()
    recorder.wait_attached()
    enter_cgroup(os.path.dirname(group), process.pid)
    left = time.time()
    begin = float(process.stdout.readline())
    time.sleep(0.3)
    recorder.stop()
    report = recorder.report()
    if not begin < report.window["start_unix_ns"] / 1e9 < left < begin + 0.9:
        raise TooLate("the program did not run from before the window until it had left the group")
    check_account(env.check, report, allowed_losses=("interpreter_stale",))  # it is preempted anywhere in Python
    env.check.equal(processes(report), {process.pid}, "processes in the report")


def of_cgroup(env, choose, cnt):
    """choose: of the paths of a group and of the one below it, the argument of --cgroup, which means the last cnt."""
    outer = env.cgroup(f"offcpu-live-{os.getpid()}")
    inner = os.path.join(outer, f"inner-{os.getpid()}")
    os.mkdir(inner)
    env.cgroups.append(inner)
    programs = [Program(env, "nanosleep", 20, 10000, cgroup=group) for group in (None, outer, inner)]
    report = together(env, programs, "--cgroup", choose(outer, inner))
    check_account(env.check, report)
    env.check.equal(processes(report), {program.pid for program in programs[-cnt:]}, "processes in the report")
    for program in programs[-cnt:]:
        check_truth(env.check, report, program.truth()[0])


@case
def filter_cgroup(env):
    of_cgroup(env, lambda outer, inner: outer, 2)


@case
def filter_cgroup_by_its_name(env):
    of_cgroup(env, lambda outer, inner: os.path.basename(inner), 1)


def user_or_kernel(env, option, kernel):
    env.tolerate_unseen()
    machine = threads_of_machine()
    program = Program(env, "fsync", env.disk_file(), 40)
    report = together(env, [program], "-a", option)
    check_account(env.check, report, filtered=True, allowed_losses=EDGE_LOSSES)
    wrong = [row["comm"] for row in report.threads if machine.get((row["pid"], row["tid"]), (0, kernel))[1] != kernel]
    env.check.equal(wrong, [], "threads of the other kind")
    env.check.equal(program.pid in processes(report), not kernel, "the program is in the report")
    env.check.that(len(report.threads) > 1, f"only {len(report.threads)} threads")


@case
def filter_user_threads(env):
    user_or_kernel(env, "-u", False)


@case
def filter_kernel_threads(env):
    user_or_kernel(env, "-k", True)


@case
def filter_state(env):
    """Of a program that sleeps in S and one that waits in D, only D is listed; the rest is filtered time."""
    programs = [Program(env, "fsync", env.disk_file(), 40), Program(env, "nanosleep", 20, 10000)]
    report = together(env, programs, "-p", ",".join(str(program.pid) for program in programs), "--state", "D")
    check_account(env.check, report, filtered=True)
    env.check.equal({wait["state"] for wait in report.waits}, {"D"}, "states listed")
    check_truth(env.check, report, programs[0].truth()[0], busy=True)
    slept_ns = programs[1].truth()[0]["wall_ns"]
    env.check.that(report.coverage["filtered_ns"] >= slept_ns * 0.99,
                   f"filtered {report.coverage['filtered_ns']} ns do not hold the {slept_ns} ns slept")
    env.check.equal(processes(report), {program.pid for program in programs}, "processes with an account")


@case
def filter_each_state(env):
    """Each letter lists that state and no other; bcc's numbers are the kernel's bits."""
    programs = [Program(env, "nanosleep", 60_000, 10000), Program(env, "hog", 2 * os.cpu_count(), 600_000)]  # until the case ends
    seen = {}
    for states in ("S", "R", "0", "1"):
        recorder = Recorder(env, "-p", ",".join(str(program.pid) for program in programs), "--state", states, "--exact")
        recorder.wait_attached()
        if not seen:
            for program in programs:
                program.go()
        time.sleep(0.1)
        recorder.stop()
        report = recorder.report()
        seen[states] = {wait["state"] for wait in report.waits}
    env.check.equal(seen, {"S": {"S"}, "R": {"R"}, "0": {"R"}, "1": {"S"}}, "states listed")


def check_bounds(env, report, line, low_ns, high_ns):
    """
    Of one site, just the waits within the bounds are listed.  A wait's truth is known to 1% or
    100 us, so one as near as that to a bound may be on either side of it.
    """
    within, perhaps = [], []
    for wait_ns in line["waits_ns"]:
        slack_ns = tolerance_ns(wait_ns, 1)
        if low_ns + slack_ns <= wait_ns <= high_ns:
            within.append(wait_ns)
        elif low_ns <= wait_ns <= high_ns + slack_ns:
            perhaps.append(wait_ns)
    listed = [wait for wait in report.ended(line["pid"], line["tid"], line["chain"]) if wait["state"] == "S"]
    count = sum(wait["count"] for wait in listed)
    env.check.that(len(within) <= count <= len(within) + len(perhaps),
                   f"{line['kind']}: {count} waits listed, {len(within)} within the bounds, {len(perhaps)} near them")
    check_time(env.check, line["kind"], sum(wait["off_cpu_ns"] for wait in listed),
               sum(within) - report.preempted_ns(line["pid"], line["tid"]), sum(within) + sum(perhaps),
               tolerance_ns(sum(within), count))
    return line["wall_ns"] - sum(within) - sum(perhaps)


def bounded(env, low_ns, high_ns, *options):
    """Sleeps of 20 ms and of 2 ms: what the bounds leave out is filtered time."""
    program = Program(env, "nanosleep", 30, 20000, 2000)
    report = together(env, [program], "-p", program.pid, *options)
    check_account(env.check, report, filtered=True)
    hidden_ns = sum(check_bounds(env, report, line, low_ns, high_ns) for line in program.truth())
    env.check.that(report.coverage["filtered_ns"] >= hidden_ns - 60 * 100_000,
                   f"filtered {report.coverage['filtered_ns']} ns do not hold the {hidden_ns} ns left out")
    for wait in report.waits:
        env.check.that(wait["max_ns"] <= high_ns and wait["off_cpu_ns"] >= low_ns * wait["count"],
                       f"a wait beyond the bounds is listed: {wait['state']} maximum {wait['max_ns']}")


@case
@nightly
def bound_minimum(env):
    bounded(env, 10_000_000, 1 << 62, "-m", "10ms")


@case
def bound_maximum(env):
    bounded(env, 0, 10_000_000, "-M", "10000")  # a bare number is microseconds


@case
def bound_both(env):
    bounded(env, 5_000_000, 15_000_000, "-m", "5ms", "-M", "15ms")


@case
def capture_user_stacks(env):
    report, truth, _ = env.record("nanosleep", 20, 10000, options=["--comm", "nanosleep", "-U"])
    check_account(env.check, report)
    check_truth(env.check, report, truth[0], kernel=False)
    env.check.equal(sum(len(wait["kernel"]) for wait in report.waits), 0, "kernel frames")


@case
def capture_kernel_stacks(env):
    report, _, program = env.record("nanosleep", 20, 10000, options=["--comm", "nanosleep", "-K"])
    check_account(env.check, report)
    env.check.equal(sum(len(wait["user"]) for wait in report.waits), 0, "user frames")
    waits = [wait for wait in report.by_thread[program.pid, program.pid]
             if wait["state"] == "S" and any(name and "do_nanosleep" in name for name in names(wait["kernel"]))]
    env.check.equal(sum(wait["count"] for wait in waits), 20, "sleeps under do_nanosleep")


def depths(report, truth):
    """Depths of the user stacks below which the program slept."""
    return {len(wait["user"]) for wait in report.ended(truth["pid"], truth["tid"], truth["chain"])}


@case
def depth_as_asked(env):
    program = Program(env, "deep", 60, 20, 5000)
    report = together(env, [program], "-p", program.pid, "--max-depth", "20")
    check_account(env.check, report)
    line = program.truth()[0]
    check_truth(env.check, report, line, kernel=False)
    env.check.equal(depths(report, line), {20}, "user frames")
    env.check.that(report.coverage["stacks"]["truncated_ns"] >= line["wall_ns"] * 0.95,
                   f"{report.coverage['stacks']} says little of what was cut")


@case
def depth_by_default(env):
    program = Program(env, "deep", 300, 20, 5000)
    report = together(env, [program], "-p", program.pid)
    check_account(env.check, report)
    line = program.truth()[0]
    check_truth(env.check, report, line)
    env.check.equal(depths(report, line), {127}, "user frames")


@case
def depth_complete(env):
    """A stack of 60 frames is there from main to the sleep."""
    program = Program(env, "deep", 60, 20, 5000)
    report = together(env, [program], "-p", program.pid)
    check_account(env.check, report)
    line = program.truth()[0]
    chain = ["main"] + ["descend"] * 60 + ["bottom_site"]
    stacks = [names(wait["user"]) for wait in report.ended(line["pid"], line["tid"], line["chain"])]
    env.check.that(stacks, "no wait at bottom_site")
    for stack in stacks:
        env.check.equal(stack[-len(chain):], chain, "user stack")


@case
def open_though_unlisted(env):
    """What a thread was doing at the window's edges its row tells, too, where a filter keeps the wait out of the list."""
    for option in ("-m", "100s"), ("--state", "D"):
        program = Program(env, "sleeper")
        recorder = Recorder(env, "-p", program.pid, "-d", "0.3", *option)
        recorder.wait()
        report = recorder.report()
        check_account(env.check, report, filtered=True)
        duration_ns = report.window["duration_ns"]
        for line in of_kind(program.truth(), "sleeper"):
            key = line["pid"], line["tid"]
            row = report.rows[key][0]
            env.check.equal((row["open_at_start"], row["open_at_end"]), (True, True), f"{option} {key}: open at start, at end")
            env.check.equal((row["filtered_ns"], row["switches"]), (duration_ns, 0), f"{option} {key}: filtered, switches")
            env.check.equal(report.by_thread[key], [], f"{option} {key}: waits")
        program.finish()


@case
def duration(env):
    """-d ends by itself, near the time asked for."""
    program = Program(env, "sleeper")
    begin = time.monotonic()
    recorder = Recorder(env, "-p", program.pid, "-d", "0.5")
    recorder.wait()
    took_s = time.monotonic() - begin
    report = recorder.report()
    if report.window["duration_ns"] > 5.5e8 or took_s >= 3:
        raise TooLate(f"a window of {report.window['duration_ns']} ns, which took {took_s:.1f} s")
    env.check.that(report.window["duration_ns"] >= 5e8, f"window of {report.window['duration_ns']} ns")
    check_account(env.check, report)
    program.finish()
