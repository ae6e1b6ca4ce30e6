# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`[request NAME]` of the agent: latencies of each window against the clock of the server itself."""

import json
import subprocess

from cases_agent import Agent
from cases_request import check_between
from cases_request_socket import has_tracepoint
from lib import Program, Skip, case, nightly, read_truth

SLOT = 1 / 16  # of the distribution, relative
CLOCK_NS = 100_000  # between the kernel's receive and the server's look at its clock, and back


@case
def agent_requests(env):
    """1,800 requests on two connections over several windows: count and wall time are the server's, so are percentiles to a slot;
    what they were spent on adds up."""
    if not has_tracepoint():
        raise Skip("this kernel does not tell what sockets receive (Linux 6.3)")
    store, config = env.temporary("history"), env.temporary("agent.conf")
    count = 900  # of each; two seconds at least: two windows whose middles, a second apart, lie in two steps
    program = Program(env, "served", "tail", count)
    with open(config, "w", encoding="ascii") as file:
        file.write(f"[request served]\nsocket = {read_truth(program.truth_path)[0]['port']}\n[alert busy]\nwhen = request=served p50 > 1ms\nfor = 1\n")
    agent = Agent(env, store, "--config", config)
    env.check.that(agent.await_log("recording, "), f"it records: {agent.log()}")
    program.go()
    program.wait_done()
    env.check.that(agent.await_log("alert busy: request=served p50 > 1ms: it is "), f"it is told: {agent.log()}")
    env.check.equal(agent.end(), 0, "status")
    program.finish()
    truth = {name: value for line in read_truth(program.truth_path) for name, value in line.items()}
    line = json.loads(subprocess.check_output([env.offcpu, "report", "--history", store, "--requests", "--json"]))
    row = line["requests"][0]
    env.check.equal((row["name"], row["count"]), ("served", truth["requests"]), "requests")
    env.check.equal(sum(step["count"] for step in row["steps"]), truth["requests"], "of all steps")
    env.check.that(sum(step["count"] > 0 for step in row["steps"]) > 1, "they are of several windows")
    check_between(env.check, "wall", row["wall_ns"], truth["in_ns"], truth["around_ns"], 1000)
    split = row["on_cpu_ns"] + row["blocked_ns"] + row["runnable_ns"] + row["preempted_ns"]
    env.check.that(abs(split - row["wall_ns"]) <= row["wall_ns"] * 0.001, f"the parts are {split} of {row['wall_ns']} ns")
    for share in "p50_ns", "p99_ns":
        low, high = truth[share] * (1 - SLOT) - CLOCK_NS, truth[share] * (1 + SLOT) + CLOCK_NS
        env.check.that(low <= row[share] <= high, f"{share} is {row[share]}, by the server's clock {truth[share]}")
    looked_up = sum(cause["ns"] for cause in row["causes"] if cause["reason"] == "sleep" and "look_up" in cause["where"])
    slow = 2 * (count // 50)
    env.check.that(slow * 4_000_000 <= looked_up <= slow * 12_000_000, f"{slow} requests slept for 6 ms more: {looked_up} ns of {row['causes'][:3]}")
    slowest = sum(cause["slowest_ns"] for cause in row["causes"])
    env.check.that(abs(slowest - row["slowest"]["wall_ns"]) <= slowest * 0.01, f"of the slowest {slowest} of {row['slowest']} ns are told")
    told = sum(cause["ns"] for cause in row["causes"])
    env.check.that(abs(told - row["wall_ns"]) <= row["wall_ns"] * 0.01, f"causes are {told} of {row['wall_ns']} ns")


@case
@nightly
def agent_routes(env):
    """Requests by route: each is under the route that its thread says as it answers, also those that wait for nothing."""
    if not has_tracepoint():
        raise Skip("this kernel does not tell what sockets receive (Linux 6.3)")
    count, store, config = 1500, env.temporary("history"), env.temporary("agent.conf")
    program = Program(env, "served_routes", "routes", count)
    with open(config, "w", encoding="ascii") as file:
        file.write("[request create]\nroute = POST /order/* of served*\n[request stock]\nroute = /stock/* of served*\n"
                   "[request elsewhere]\nroute = * of another\n")
    agent = Agent(env, store, "--config", config)
    env.check.that(agent.await_log("recording, "), f"it records: {agent.log()}")
    program.go()
    program.wait_done()
    env.check.equal(agent.end(), 0, "status")
    program.finish()
    truth = {line["route"]: line for line in read_truth(program.truth_path) if "route" in line}
    line = json.loads(subprocess.check_output([env.offcpu, "report", "--history", store, "--requests", "--json"]))
    rows = {row["name"]: row for row in line["requests"]}
    env.check.equal(rows.pop("elsewhere")["count"], 0, "requests of another service")
    env.check.equal(sorted(rows), sorted(truth), "names")
    for name, row in rows.items():
        # its port is known from the second window on, of which there are several
        env.check.that(count / 2 <= row["count"] <= count, f"{name}: {row['count']} of {count}")
        env.check.that((row["p50_ns"] >= 2_000_000) == (name == "create"), f"{name}: p50 is {row['p50_ns']} ns")
    env.check.that(line["without_route"] <= count * 0.01, f"{line['without_route']} had no route")
    env.check.that(line["not_counted"] <= count * 0.2, f"{line['not_counted']} ended before their route was known")
