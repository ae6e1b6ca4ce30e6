# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Sampling by duration: the same load exact and sampled at once, and the governor."""

import collections
import math
import os
import re
import subprocess
import time
from pathlib import Path

from check import EDGE_LOSSES, check_account, names, off_cpu_ns, scale_ns
from lib import Program, Recorder, case, fork_children, nightly, until_switched

ERRORS = 4  # standard errors that an estimate may be off


def by_stack(report):
    """{(thread, state, user stack): [off-CPU ns, error squared, count, error squared]} of what ended in the window."""
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    for wait in report.waits:
        if wait["open_at_start"] or wait["open_at_end"]:
            continue
        entry = sums[wait["pid"], wait["tid"], wait["state"], tuple(names(wait["user"]))]
        entry[0] += wait["off_cpu_ns"]
        entry[1] += wait["off_cpu_se_ns"] ** 2
        entry[2] += wait["count"]
        entry[3] += wait["count_se"] ** 2
    return sums


def both(env, program, *options):
    """One load seen by an exact and by a sampling recorder at the same time; (exact, sampled)."""
    pids = ",".join(map(str, program.pids))
    recorders = [Recorder(env, "-p", pids, "--exact"), Recorder(env, "-p", pids, *options)]
    for recorder in recorders:
        recorder.wait_attached()
    program.go()
    program.wait_done()
    for recorder in recorders:
        recorder.stop()
    program.finish()
    return [recorder.report() for recorder in recorders]


FEW = 4     # waits kept


def compare_stacks(env, exact, sampled):
    """Every stack's time and count within three of its errors.  One that hardly ever was kept knows little of those that were not: three of its scale."""
    scale, seen = scale_ns(sampled), by_stack(sampled)
    compared = 0
    for key, (truth_ns, _, truth, _) in by_stack(exact).items():
        estimate_ns, variance, count, count_variance = seen.get(key, [0, 0, 0, 0])
        if count < FEW:
            variance, count_variance = max(variance, scale ** 2), max(count_variance, (scale * truth / truth_ns) ** 2)
        # two recorders see the ends of one wait some hundred ns apart, and the edges of the window differ
        slack_ns, slack = 3 * math.sqrt(variance) + truth_ns * 0.02 + truth * 500, 3 * math.sqrt(count_variance) + truth * 0.02 + 2
        env.check.that(abs(estimate_ns - truth_ns) <= slack_ns,
                       f"{key[:3]} {key[3][-2:]}: {estimate_ns} ns sampled, {truth_ns} exact, +- {slack_ns:.0f}")
        env.check.that(abs(count - truth) <= slack,
                       f"{key[:3]} {key[3][-2:]}: {count} waits sampled, {truth} exact, +- {slack:.0f}")
        compared += 1
    env.check.that(compared >= 2, f"only {compared} stacks to compare")


def check_adds_up(env, report):
    """What is listed of a thread and state is its exact total, also where it was sampled."""
    listed = collections.Counter()
    for wait in report.waits:
        for what in ("blocked_ns", "runnable_ns", "preempted_ns", "count"):
            listed[wait["pid"], wait["tid"], wait["state"], what] += wait[what]
    for row in report.threads:
        if row["lost_ns"] or sum(other["tid"] == row["tid"] for other in report.threads) > 1:
            continue
        for state in row["states"]:
            for what in ("blocked_ns", "runnable_ns", "preempted_ns", "count"):
                env.check.equal(listed[row["pid"], row["tid"], state["state"], what], state[what],
                                f"listed {what} of {row['comm']} {row['tid']} in {state['state']}")


@case
def sampled_and_exact_agree(env):
    """Totals by stack agree within three errors, and add up to the accounts, which are exact in both."""
    program = Program(env, "pipe", "processes", 20000)
    # a budget that is never exceeded: the scale stays
    exact, sampled = both(env, program, "--sample", "200us", "--max-overhead", "100")
    env.tolerate_unseen()
    for report in (exact, sampled):
        check_account(env.check, report, allowed_losses=EDGE_LOSSES)
        check_adds_up(env, report)
    env.check.equal(scale_ns(exact), 0, "scale of the exact recording")
    env.check.equal([wait for wait in exact.waits if wait["off_cpu_se_ns"]], [], "errors in the exact recording")
    env.check.equal(scale_ns(sampled), 200_000, "scale of the sampled recording")
    env.check.that(sampled.coverage["sampling"]["listed_se_ns"] > 0, "no standard error of what was listed")
    compare_stacks(env, exact, sampled)
    kept = sum(1 for wait in sampled.waits if wait["off_cpu_se_ns"])
    env.check.that(kept > 0, "no sum says that it is an estimate")
    sleeps = {name: sum(state["count"] for row in report.threads for state in row["states"] if state["state"] == "S")
              for name, report in (("exact", exact), ("sampled", sampled))}
    env.check.that(abs(sleeps["exact"] - sleeps["sampled"]) <= 4, f"exact counts of sleeps differ: {sleeps}")
    env.notes.append(f"{sleeps['sampled']} sleeps, {sampled.coverage['sampling']}")


@case
def sampling_of_new_threads(env):
    """A thread's first wait is for a CPU, and kept by chance like all others."""
    recorder = Recorder(env, "-a", "--sample", "20ms", "--max-overhead", "100")
    recorder.wait_attached()
    fork_children(3000)
    recorder.stop()
    report = recorder.report()
    born = {(thread["pid"], thread["tid"]) for thread in report.threads if thread["process"] == "sh" and thread["exited"]}
    account_ns = sum(thread["off_cpu_ns"] for thread in report.threads if (thread["pid"], thread["tid"]) in born)
    waits = [wait for wait in report.waits if (wait["pid"], wait["tid"]) in born]
    listed_ns, error_ns = sum(wait["off_cpu_ns"] for wait in waits), math.sqrt(sum(wait["off_cpu_se_ns"] ** 2 for wait in waits))
    env.notes.append(f"{len(born)} processes, {account_ns / 1e6:.1f} ms off CPU; listed {listed_ns / 1e6:.1f} +- {error_ns / 1e6:.1f}")
    env.check.that(len(born) > 2500, f"only {len(born)} processes of 3000")
    # What was kept tells its own error; where nothing was, one wait of the scale would have been likely.
    env.check.that(abs(listed_ns - account_ns) <= ERRORS * max(error_ns, scale_ns(report) / 2),
                   f"{account_ns} ns off CPU, listed {listed_ns} +- {error_ns:.0f}")


def governed(env, *options, seconds=4, switches=0):
    """A ping-pong as fast as it goes under a budget nobody can keep, for so long and so many switches; (report, what record said)."""
    program = Program(env, "pipe", "threads", 10_000_000)
    recorder = Recorder(env, "-p", program.pid, *options)
    recorder.wait_attached()
    program.go()
    end = time.monotonic() + seconds
    until_switched(switches, program.pid)
    time.sleep(max(0, end - time.monotonic()))
    recorder.stop()
    report = recorder.report()
    program.process.kill()
    return report, recorder.stderr()


@case
@nightly
def sampling_at_the_highest_scale(env):
    """Where nearly no wait is kept, one counts for 16,384 at most; time and number are known as well as that allows."""
    report, _ = governed(env, "--sample", "52.4288s", "--max-overhead", "100", seconds=8, switches=16384 * 16)
    env.tolerate_unseen()
    check_account(env.check, report, allowed_losses=EDGE_LOSSES)
    env.check.equal(scale_ns(report), 52_428_800_000, "scale")
    states = [state for row in report.threads for state in row["states"] if state["state"] == "S"]
    account_ns, sleeps = sum(map(off_cpu_ns, states)), sum(state["count"] for state in states)
    waits = [wait for wait in report.waits if wait["state"] == "S" and not wait["open_at_end"]]
    listed_ns, count = (sum(wait[what] for wait in waits) for what in ("off_cpu_ns", "count"))
    # of the number, and of the time where all sleeps are alike; what was kept tells the rest
    error, told_ns = math.sqrt(16384 * sleeps), math.sqrt(sum(wait["off_cpu_se_ns"] ** 2 for wait in waits))
    error_ns = max(told_ns, error / sleeps * account_ns)
    env.notes.append(f"{sleeps} sleeps of {account_ns / 1e6:.1f} ms, listed {count} of {listed_ns / 1e6:.1f} +- {told_ns / 1e6:.1f} ms")
    env.check.that(sleeps > 16384 * 8, f"only {sleeps} sleeps, of which too few are kept")
    env.check.that(abs(count - sleeps) <= ERRORS * error, f"{sleeps} sleeps, listed {count} +- {error:.0f}")
    env.check.that(abs(listed_ns - account_ns) <= ERRORS * error_ns, f"{account_ns} ns asleep, listed {listed_ns} +- {error_ns:.0f}")


@case
def governor_raises_the_scale(env):
    """Above the budget it samples more, says so, and drops no account."""
    report, said = governed(env, "--max-overhead", "0.01", seconds=8)
    env.tolerate_unseen()
    check_account(env.check, report, allowed_losses=EDGE_LOSSES)
    sampling = report.coverage["sampling"]
    env.check.that(sampling["raised"] >= 1, f"the scale was not raised: {sampling}")
    env.check.that(sampling["scale_max_ns"] > sampling["scale_start_ns"], f"the scale did not rise: {sampling}")
    env.check.that(sampling["used_ppm"] > sampling["budget_ppm"] == 100, f"cost and budget: {sampling}")
    env.check.that("sampling was raised" in said, f"record did not say so: {said}")
    env.notes.append(str(sampling))


@case
def exact_within_the_budget(env):
    """Some thousand waits a second are no reason to sample, and a report of an exact recording speaks of no error.  Nor
    is there one of which `--estimate` had not said what it costs."""
    program = Program(env, "pipe", "threads", 10_000_000)
    recorder = Recorder(env, "-p", program.pid, "--max-overhead", "100")
    recorder.wait_attached()
    program.go()
    time.sleep(3)
    said = subprocess.run([env.offcpu, "record", "--estimate", "--max-overhead", "100", "-p", str(program.pid)],
                          stdout=subprocess.PIPE, text=True, check=True).stdout
    recorder.stop()
    report = recorder.report()
    program.process.kill()
    env.tolerate_unseen()
    check_account(env.check, report, allowed_losses=EDGE_LOSSES)
    check_adds_up(env, report)
    env.check.equal(report.coverage["sampling"]["scale_max_ns"], 0, "highest scale")
    env.check.that(report.coverage["switches"] > 10000, "too few switches to tell")
    cost = re.search(r"^cost +about ([0-9.]+)% of", said, re.M)
    percent, used = float(cost.group(1)) if cost else 0, report.coverage["sampling"]["used_ppm"] / 10000
    env.check.that(used / 2 <= percent <= used * 2, f"estimated {percent}%, used {used}%: {said}")
    env.check.that(not os.path.exists("trace.offcpu"), "an estimate left a recording")
    text = subprocess.run([env.offcpu, "report", recorder.out], stdout=subprocess.PIPE, check=True).stdout.decode()
    for word in ("\u00b1", "about ", "sampled"):
        env.check.that(word not in text, f"the report of an exact recording says {word!r}")


@case
def governor_leaves_exact_alone(env):
    """With --exact it only says that the budget was exceeded."""
    report, said = governed(env, "--exact", "--max-overhead", "0.01")
    env.tolerate_unseen()
    check_account(env.check, report, allowed_losses=EDGE_LOSSES)
    sampling = report.coverage["sampling"]
    env.check.equal((sampling["raised"], sampling["scale_max_ns"]), (0, 0), "raised, highest scale")
    env.check.equal([wait for wait in report.waits if wait["off_cpu_se_ns"]], [], "errors in an exact recording")
    env.check.that("exceeded" in said, f"record did not say so: {said}")


@case
def bpf_time_by_bursts(env):
    """The time in the programs is reckoned from bursts; where the kernel counts all the time, it is measured."""
    switch = Path("/proc/sys/kernel/bpf_stats_enabled")
    before, each_ns = switch.read_text(), {}
    try:
        for how in ("0", "1"):
            switch.write_text(how)
            coverage = governed(env, "--exact")[0].coverage
            bpf_ns = coverage["tracer"]["bpf_ns"]
            env.check.that(bpf_ns, f"BPF time is not known with bpf_stats_enabled {how}")
            each_ns[how] = (bpf_ns or 0) / coverage["switches"]
    finally:
        switch.write_text(before)
    env.notes.append(f"ns a switch, by bursts and measured: {each_ns}")
    # Two recordings on a machine that may be busy: this would see a factor of the CPUs, or of a burst's share.
    env.check.that(1 / 3 < each_ns["0"] / max(each_ns["1"], 1) < 3, f"by bursts and measured: {each_ns}")
