# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Sampling together with wakers, chains, locks, blame and storms: what is exact stays so, what is estimated is unbiased."""

import collections
import math
import os

import cases_crowd
import stories
from cases_sampling import ERRORS
from cases_wakers import record_chains
from check import EDGE_LOSSES, check_account, names, scale_ns
from lib import Program, Recorder, case

SAMPLE = ("--sample", "2ms", "--max-overhead", "100")  # a budget that is never exceeded: the scale stays
SHORT = ("--sample", "200us", *SAMPLE[2:])  # for sleeps that are short themselves


def both(env, program, *options, sample=SAMPLE):
    """One load seen by an exact and by a sampling recorder at the same time; (exact, sampled)."""
    pids = ",".join(map(str, program.pids))
    recorders = [Recorder(env, "-p", pids, *options, *more) for more in (("--exact",), sample)]
    for recorder in recorders:
        recorder.wait_attached()
    program.go()
    program.wait_done()
    for recorder in recorders:
        recorder.stop()
    program.finish()
    env.tolerate_unseen()
    reports = [recorder.report() for recorder in recorders]
    for report in reports:
        check_account(env.check, report, allowed_losses=(*EDGE_LOSSES, "waker_sampled"))
    env.check.that(scale_ns(reports[1]) > 0, "it was not sampled")
    return reports


def compare(env, exact, sampled, scale, what, missing_ns=0):
    """
    Sums by key: each within four standard errors, of which no estimate is needed: of a wait of duration d, kept with
    probability d / scale and then counted as scale, a part p has the variance p^2 (scale / d - 1), at most p scale.
    Two recorders see the ends of one wait some hundred ns apart.  missing_ns: of which the wakers are not known.
    """
    compared = 0
    for key in set(exact) | set(sampled):
        truth_ns, estimate_ns = exact.get(key, 0), sampled.get(key, 0)
        slack_ns = ERRORS * math.sqrt(scale * max(truth_ns, 1)) + scale + 0.02 * truth_ns
        env.check.that(-slack_ns - missing_ns <= estimate_ns - truth_ns <= slack_ns,
                       f"{what} of {key}: {estimate_ns} ns sampled, {truth_ns} exact, +- {slack_ns:.0f}, {missing_ns} unknown")
        compared += truth_ns > 2 * slack_ns
    env.check.that(compared >= 2, f"only {compared} sums of {what} are large enough to compare")


def ended(report):
    return [wait for wait in report.waits if not wait["open_at_start"] and not wait["open_at_end"]]


def by_waker(report):
    """{(sleeper, where, waker): off-CPU ns}; a waker None: not known."""
    sums = collections.Counter()
    for wait in ended(report):
        key = wait["tid"], wait["state"], tuple(names(wait["user"])[-2:])
        known_ns = 0
        for waker in wait["wakers"]:
            ns = waker["blocked_ns"] + waker["runnable_ns"]
            known_ns += ns
            sums[(*key, waker["irq"] or waker["tid"], tuple(names(waker["user"])[-2:]))] += ns
        if wait["state"] != "R":
            sums[(*key, None)] += wait["off_cpu_ns"] - known_ns
    return sums


def by_hop(report):
    """
    {(sleeper, part): ns}: what the wakers did, and all before that.  With sampling a chain ends where a short sleep was not
    looked at, so what others did is not to be compared.
    """
    sums = collections.Counter()
    for wait in ended(report):
        for waker in wait["wakers"]:
            for story in waker["stories"]:
                first = story["hops"][0]
                for part in ("ran_ns", "ready_ns"):
                    sums[wait["tid"], part] += first[part]
                sums[wait["tid"], "before"] += story["blocked_ns"] - first["ran_ns"] - first["ready_ns"]
    return sums


def check_stories_add_up(env, report):
    """The parts of a story are its blocked time, and the stories of a waker are what it ended."""
    for wait in report.waits:
        for waker in wait["wakers"]:
            told_ns = sum(story["blocked_ns"] for story in waker["stories"])
            env.check.equal(told_ns, waker["blocked_ns"], f"stories of {waker['comm']} for {wait['comm']}")
            for story in waker["stories"]:
                parts_ns = story["rest_ns"] + sum(hop["ran_ns"] + hop["ready_ns"] + hop["earlier_ns"] for hop in story["hops"])
                env.check.equal(parts_ns, story["blocked_ns"], f"parts of a story of {wait['comm']}: {story}")


def short_sleeps(env):
    """Two threads and a socket between them: one sleeps 300 us by a timer, the other until it writes."""
    return Program(env, "sock", "unix", 5000, 300)


def without_waker(report):
    """(off-CPU, blocked) time of ended sleeps that has no waker."""
    sleeps = [wait for wait in ended(report) if wait["state"] != "R"]
    return [sum(wait[part] for wait in sleeps) - sum(sum(map(waker.get, parts)) for wait in sleeps for waker in wait["wakers"])
            for part, parts in (("off_cpu_ns", ("blocked_ns", "runnable_ns")), ("blocked_ns", ("blocked_ns",)))]


def check_sampled_wakers(env, exact, sampled):
    """
    Of a sleep so short that it will hardly be kept the waker is not looked at.  If then it has to wait for a CPU for
    long enough to be kept its waker is unknown, which is counted: not more than a quarter of its time it slept.
    A waking that was not seen leaves a sleep of 300 us or a little more, which stands for the scale where it is kept.
    """
    unknown_ns, blocked_ns = without_waker(sampled)
    unseen_ns = 2 * scale_ns(sampled) * sampled.coverage["lost"].get("missed_wakeup", 0)
    env.check.that(not unknown_ns or {"waker_sampled", "missed_wakeup"} & set(sampled.coverage["lost"]),
                   f"{unknown_ns} ns without a waker, uncounted")
    env.check.that(blocked_ns <= unknown_ns / 4 + unseen_ns, f"of {unknown_ns} ns without a waker {blocked_ns} were slept")
    sums = [{key: ns for key, ns in by_waker(report).items() if key[3] is not None} for report in (exact, sampled)]
    compare(env, *sums, scale_ns(sampled), "time by waker", unknown_ns)
    env.notes.append(f"{unknown_ns} of {sum(sums[0].values())} ns have no waker")
    return unknown_ns


@case
def sampling_with_wakers(env):
    check_sampled_wakers(env, *both(env, short_sleeps(env), "--wakers"))


@case
def sampling_with_chains_of_short_sleeps(env):
    exact, sampled = both(env, short_sleeps(env), "--wakers=8")
    for report in (exact, sampled):
        check_stories_add_up(env, report)
    unknown_ns = check_sampled_wakers(env, exact, sampled)
    compare(env, by_hop(exact), by_hop(sampled), scale_ns(sampled), "time of hops", unknown_ns)


@case
def sampling_with_chains_of_long_sleeps(env):
    """Sleeps above the scale are kept as they are: their chains are those of the program's own clock."""
    _, program, report, lines, stolen = record_chains(env, "waking", "pipeline", "pipe", 40, options=SAMPLE)
    truth, sleepers = stories.sleepers_of(report, lines, program.pids)
    stories.check_stories(env.check, sleepers, stolen)
    stories.check_wakers(env.check, truth, sleepers, "pipe_write")
    check_stories_add_up(env, report)


@case
def sampling_with_locks(env):
    """The time waited for each lock, by kind, name and holder."""
    path = os.path.join("/dev/shm", f"offcpu-live-{os.getpid()}")
    try:
        exact, sampled = both(env, Program(env, "locks", 600, 300, path), "--locks", "--wakers", sample=SHORT)
    finally:
        os.unlink(path)
    sums = []
    for report in (exact, sampled):
        of = collections.Counter()
        for wait in ended(report):
            lock = wait.get("lock")
            if lock:
                of[wait["tid"], wait["object"], lock["kind"], lock["holder_tid"]] += wait["off_cpu_ns"]
        sums.append(of)
    compare(env, sums[0], sums[1], scale_ns(sampled), "time waited for locks")


@case
def sampling_with_blame(env):
    """Blame is not sampled: it adds up to the account, which is exact, to the nanosecond."""
    program = Program(env, "runq", 2, 600)
    exact, sampled = both(env, program, "--runq-blame")
    truth = {line["name"]: line for line in program.truth()}
    for report in (exact, sampled):
        cases_crowd.check_adds_up(env, report)
        for line in truth.values():
            cases_crowd.check_held(env, line, cases_crowd.held_by(report, line["tid"]))


@case
def sampling_with_storms(env):
    """A storm is found from counts of all wakings; only where its threads slept is estimated."""
    program = Program(env, "herd", "cond", 200, 5)
    recorder = Recorder(env, "-p", program.pid, "--storms", "--wakers=4", *SAMPLE)
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    report = recorder.report()
    program.finish()
    env.tolerate_unseen()
    check_account(env.check, report, allowed_losses=EDGE_LOSSES)
    storm = cases_crowd.check_storm(env, report, program.truth()[0], ("condition_broadcast",), cases_crowd.IN_VAIN)
    if storm:
        env.check.that("broadcast_site" in names(storm["waker"]["user"]), f"{names(storm['waker']['user'])}")
    check_stories_add_up(env, report)
