# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Chains of wakers in the agent's windows: against a program that wrote down its events, and while an alert fires."""

import json
import subprocess
import time

import stories
from cases_agent import Agent, windows
from check import Report
from lib import Program, TooLate, case, nightly, stolen_ns

ROUNDS = 60
TRIES = 3


def run_pipeline(env):
    """A sleeps 60 ms and works 3, B works 5, C 8, and D waits for all of that; what it wrote down, and what a hypervisor stole."""
    program = Program(env, "waking", "pipeline", "pipe", ROUNDS)
    before_ns = stolen_ns()
    program.go()
    program.wait_done()
    program.finish()
    return program, stolen_ns() - before_ns


def read(env, *options):
    return Report(json.loads(subprocess.check_output([env.offcpu, "report", *options, "--json"])))


def told(report):
    """(time of sleeps that somebody ended, how much of that chains tell)"""
    wakers = [waker for wait in report.waits for waker in wait["wakers"] if not waker["irq"]]
    return sum(w["blocked_ns"] for w in wakers), sum(s["blocked_ns"] for w in wakers for s in w.get("stories", []))


def clock(unix_ns):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(unix_ns // 10**9)) + f".{unix_ns // 10**6 % 1000:03}"


def check_sleeper(env, sleeper, slack_ns):
    """Each waker of each path has the time that the program says, but for what a cut may have taken from it.  Returns what has another path."""
    seen, parts = stories.sum_seen(sleeper.waits), stories.sum_told(sleeper.stories)
    slack_ns += sleeper.unclear_ns
    elsewhere_ns = sum(of.awake + of.rest for path, of in seen.items() if path not in parts)
    for path, of in parts.items():
        if not of.count:
            continue
        who = f"{sleeper.name} <- {' <- '.join(map(str, path))}"
        stories.check_time(env.check, f"{who}: awake", seen[path].awake, of.awake, of.count, slack_ns)
        stories.check_time(env.check, f"{who}: without a CPU", seen[path].ready, of.ready, of.count, slack_ns)
        stories.check_time(env.check, f"{who}: rest", seen[path].rest, of.rest, of.count, slack_ns)
    return max(0, elsewhere_ns - slack_ns)


@case
@nightly
def agent_chains(env):
    """`chains = yes`, over several windows: the stories of all sleeps are the program's own, but for the part of one that lies before a cut."""
    for _ in range(TRIES):
        store = env.temporary("history")
        agent = Agent(env, store, settings=["agent.window=1s", "record.chains=yes"])
        env.check.that(agent.await_log("recording"), f"it records: {agent.log()}")
        program, stolen = run_pipeline(env)
        env.check.equal(agent.end(), 0, "status")
        report = read(env, "--history", store)
        _, sleepers = stories.sleepers_of(report, program.truth(), program.pids)
        if stories.is_clear(sleepers):
            break
    else:
        raise TooLate("the program itself does not know enough")
    cuts = len(windows(store)) - 1
    env.check.that(cuts >= 2, f"{cuts} cuts")
    elsewhere_ns = sum(check_sleeper(env, s, stolen + cuts * max(story.blocked.hi for story in s.stories)) for s in sleepers if s.stories)
    all_ns = sum(sleeper.told_ns for sleeper in sleepers)
    env.check.that(elsewhere_ns <= stories.SHARE * all_ns, f"of {all_ns} ns asleep {elsewhere_ns} are told with chains that are none")
    long = [story for s in sleepers if s.name.startswith("stageD ") for story in s.stories if stories.length(story) >= 4]
    env.check.that(long, "there are chains of four")
    asleep_ns, by_chains_ns = told(report)
    env.check.that(by_chains_ns >= 0.99 * asleep_ns > 0, f"chains tell {by_chains_ns} of {asleep_ns} ns")
    text = subprocess.check_output([env.offcpu, "report", "--history", store, "--comm", "stage*", "--wakers"], text=True)
    env.check.that("Chains of wakers" in text and "of which nothing was kept" in text, f"they are shown, and what cuts took: {text[-600:]}")


@case
@nightly
def agent_chains_of_an_alert(env):
    """Chains are there while an alert holds, in the history and in what is put aside; before and after it there are none."""
    store, config = env.temporary("history"), env.temporary("agent.conf")
    with open(config, "w", encoding="ascii") as file:
        file.write("[alert asleep]\nwhen = process=waking reason=any threads > 1\nfor = 1\nkeep = 2s before, 1s after\n")
    agent = Agent(env, store, "--config", config)
    env.check.that(agent.await_log("recording") and agent.await_windows(1), f"it records: {agent.log()}")
    run_pipeline(env)
    env.check.that(agent.await_log("alert asleep is over"), f"an alert holds, and is over: {agent.log()}")
    agent.await_windows(len(windows(store)) + 3)
    env.check.equal(agent.end(), 0, "status")
    shares = []
    for _, length_ns, start_ns in windows(store):
        inside = clock(start_ns + 10_000_000), clock(start_ns + length_ns - 10_000_000)
        asleep_ns, by_chains_ns = told(read(env, "--history", store, "--from", inside[0], "--to", inside[1]))
        shares.append(by_chains_ns / max(asleep_ns, 1))
    env.check.equal((shares[0], shares[-1]), (0, 0), "before the alert and after it")
    env.check.that(max(shares) >= 0.9, f"while it holds: {shares}")
    listed = json.loads(subprocess.check_output([env.offcpu, "report", "--history", store, "--incidents", "--json"]))["incidents"]
    asleep_ns, by_chains_ns = told(read(env, "--history", store, "--incident", listed[0]["id"], "--comm", "stage*"))
    env.check.that(by_chains_ns >= 0.5 * asleep_ns > 0, f"in the incident chains tell {by_chains_ns} of {asleep_ns} ns")
