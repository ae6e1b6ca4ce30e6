# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Samples of what threads do on CPU: shares against the program's own CPU clock, sums against the account."""

import collections
import json
import math
import os
import subprocess

from check import names
from lib import Recorder, case

ERRORS = 3.5  # standard errors that a share may be off: three, and the work around the functions themselves
FUNCTIONS = ("work_three", "work_one", "work_kernel")


def record(env, hz, rounds, *options):
    """(what the program says of itself, the report as JSON)."""
    truth = env.temporary("shares.json")
    recorder = Recorder(env, "-F", hz, "--exact", *options, command=[os.path.join(env.programs, "shares"), truth, rounds])
    env.check.equal(recorder.wait(60), 0, "exit status")
    done = subprocess.run([env.offcpu, "report", "--json", recorder.out], capture_output=True, check=True, timeout=60)
    with open(truth, encoding="ascii") as f:
        return json.load(f), json.loads(done.stdout), recorder


def check_sums(env, report):
    """Each thread's rows are its on-CPU time, to the nanosecond."""
    listed, samples = collections.Counter(), collections.Counter()
    for row in report["on_cpu"]["stacks"]:
        listed[row["pid"], row["tid"]] += row["on_cpu_ns"]
        samples[row["pid"], row["tid"]] += row["samples"]
    accounts = collections.Counter()
    for thread in report["threads"]:
        accounts[thread["pid"], thread["tid"]] += thread["on_cpu_ns"]
    for who, on_cpu_ns in accounts.items():
        env.check.equal(listed[who], on_cpu_ns, f"on-CPU time listed of {who}")
    return samples


def frames_of(row):
    return set(names(row["user"]))


@case
def on_cpu_shares(env):
    """What each function took is within its error of what the thread's own clock says; work in the kernel has its stack there."""
    truth, report, _ = record(env, 997, 25)
    samples = check_sums(env, report)
    rows = [row for row in report["on_cpu"]["stacks"] if row["tid"] == truth["tid"]]
    n = sum(row["samples"] for row in rows)
    all_ns = sum(row["on_cpu_ns"] for row in rows)
    env.check.that(n > 400, f"only {n} samples of {all_ns} ns")
    for name in FUNCTIONS:
        got = sum(row["on_cpu_ns"] for row in rows if name in frames_of(row))
        share = truth[name] / all_ns
        error = all_ns * math.sqrt(share * (1 - share) / n)
        env.check.that(abs(got - truth[name]) <= ERRORS * error + all_ns * 0.01,
                       f"{name}: {got} ns by {n} samples, {truth[name]} by its clock, standard error {error:.0f}")
    in_kernel = sum(row["on_cpu_ns"] for row in rows if "work_kernel" in frames_of(row) and row["kernel"])
    env.check.that(in_kernel > truth["work_kernel"] * 0.5, f"{in_kernel} of {truth['work_kernel']} ns have a kernel stack")
    env.check.that(all(who[0] == report["threads"][0]["pid"] for who in samples), "samples of another process")
    env.check.that(not any("cpu_idle" in name or "swapper" in name for row in rows for name in names(row["kernel"])), "the idle task")


@case
def on_cpu_ranges(env):
    """Samples are told apart by time: the two halves of the window have the whole's, and each its own account."""
    _, report, recorder = record(env, 499, 12, "--slice", "50ms")
    whole = sum(row["samples"] for row in report["on_cpu"]["stacks"])
    halves = 0
    for edges in (("--to", "0.3"), ("--from", "0.3")):
        done = subprocess.run([env.offcpu, "report", "--json", recorder.out, *edges], capture_output=True, check=True, timeout=60)
        half = json.loads(done.stdout)
        check_sums(env, half)
        halves += sum(row["samples"] for row in half["on_cpu"]["stacks"])
    env.check.equal(halves, whole, "samples of both halves")


@case
def on_cpu_budget(env):
    """A rate that costs too much is lowered, and said to be; sums stay exact."""
    _, report, recorder = record(env, 10000, 40, "--max-overhead", "0.01")
    check_sums(env, report)
    env.check.equal(report["on_cpu"]["hz"], 10000, "rate asked for")
    env.check.that(report["on_cpu"]["end_hz"] < 10000, "the rate was not lowered")
    env.check.that("to keep the budget" in recorder.said(), f"it does not say so: {recorder.said()!r}")


@case
def on_cpu_only_selected(env):
    """Without --cpu there are none."""
    truth = env.temporary("shares.json")
    recorder = Recorder(env, command=[os.path.join(env.programs, "shares"), truth, 2])
    env.check.equal(recorder.wait(60), 0, "exit status")
    done = subprocess.run([env.offcpu, "report", "--weight", "on_cpu", recorder.out], capture_output=True, check=False, timeout=60)
    env.check.equal(done.returncode, 1, "exit status of report")
    env.check.that(b"record it with --cpu" in done.stderr, f"stderr: {done.stderr!r}")
