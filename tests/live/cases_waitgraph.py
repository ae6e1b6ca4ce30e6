# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Who waits for whom, as a graph and as a critical path, of programs of which that is known."""
import json
import subprocess

import stories
from lib import Program, Recorder, case


def record(env, *words, wakers="--wakers"):
    """The program under a recording of its processes: the recording's path, its report and the program's truth."""
    program = Program(env, *words)
    recorder = Recorder(env, "-p", ",".join(map(str, program.pids)), wakers, "--exact")
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    report = recorder.report()
    program.finish()
    return recorder.out, report, program.truth()


def printed(env, path, *options):
    """What `offcpu report` prints as JSON with these options."""
    result = subprocess.run([env.offcpu, "report", *options, path], stdin=subprocess.DEVNULL, capture_output=True,
                            timeout=60, check=True)
    return json.loads(result.stdout)


def check_path(env, report, path, subject):
    """All of the observed time is in the parts, and what is below a part is it."""
    parts = path["parts"]
    observed_ns = sum(thread["observed_ns"] for thread in report.threads
                      if thread["comm"] == subject or str(thread["tid"]) == subject)
    top_ns = sum(part["time_ns"] for part in parts if part["parent"] is None)
    env.check.that(top_ns == path["subject"]["observed_ns"] == observed_ns,
                   f"the path of {subject} sums to {top_ns}, observed were {observed_ns}")
    for i, part in enumerate(parts):
        below = [other["time_ns"] for other in parts if other["parent"] == i]
        env.check.that(not below or sum(below) == part["time_ns"],
                       f"part {i} of the path of {subject} is {part['time_ns']} ns, below it are {sum(below)}")


@case
def graph_and_path_of_a_pipe(env):
    """Two processes that wait for each other: a knot of the two, and each one's path leads to the other."""
    recording, report, truth = record(env, "pipe", "processes", 5000)
    places = [line for line in truth if "chain" in line]
    tids = {line["tid"] for line in places}
    pong = "|".join(sorted({line["chain"][-1] for line in places}))  # not how they are started and ended
    graph = printed(env, recording, "--graph", "json", "--by", "thread", "--grep", pong)
    nodes = {node["id"]: node for node in graph["nodes"]}
    knots = [{nodes[n]["tid"] for n in knot["nodes"]} for knot in graph["knots"]]
    env.check.that(tids in knots, f"the knots are of {knots}, not of {tids}")
    between_ns = sum(edge["blocked_ns"] for edge in graph["edges"]
                     if {nodes[edge["from"]]["tid"], nodes[edge["to"]]["tid"]} == tids)
    env.check.that(between_ns >= 0.99 * graph["blocked_ns"] > 0,
                   f"{between_ns} of {graph['blocked_ns']} ns blocked are between the two")
    for tid in tids:
        path = printed(env, recording, "--critical", str(tid), "--json", "--by", "thread")
        check_path(env, report, path, str(tid))
        waited_for = {node["tid"] for node in path["nodes"] for part in path["parts"] if part.get("node") == node["id"]}
        env.check.that(tids - {tid} <= waited_for, f"{tid} waited for {waited_for}")


@case
def path_of_a_pipeline(env):
    """A sleeps and works, B works, C works, D waits for all of that: its path says so, by name and time."""
    recording, report, lines = record(env, "waking", "pipeline", "pipe", 40, wakers="--wakers=8")
    truth, sleepers = stories.sleepers_of(report, lines, {line["pid"] for line in lines})
    last = next(sleeper for sleeper in sleepers if sleeper.name.startswith("stageD "))
    path = printed(env, recording, "--critical", "stageD", "--json", "--by", "comm")
    check_path(env, report, path, "stageD")
    names = {node["id"]: node["name"] for node in path["nodes"]}
    shares = {names[share["node"]]: share for share in path["shares"]}
    env.check.that({"stageA", "stageB", "stageC", "timer"} <= set(shares), f"the path leads to {sorted(shares)}")
    for tid, span in stories.ran_meanwhile(last).items():
        if tid != stories.TIMER:
            stage = truth.logs[tid].comm
            stories.check_time(env.check, f"{stage} ran on D's path", shares.get(stage, {"ran_ns": 0})["ran_ns"], span,
                               len(last.stories), last.unclear_ns)
    graph = printed(env, recording, "--graph", "json", "--by", "comm")
    node = {node["name"]: node["id"] for node in graph["nodes"]}
    for sleeper, waker in (("stageD", "stageC"), ("stageC", "stageB"), ("stageB", "stageA"), ("stageA", "timer")):
        out = [edge for edge in graph["edges"] if edge["from"] == node[sleeper]]
        heaviest = max(out, key=lambda edge: edge["blocked_ns"], default=None)
        env.check.that(heaviest is not None and heaviest["to"] == node.get(waker),
                       f"{sleeper} waited longest for {heaviest and heaviest['to']}, not for {waker}")


@case
def healthy_pool_is_no_knot(env):
    """Workers wait for jobs and a collector for results, each for the other: that is much of the time, and holds up nobody."""
    recording, _, _ = record(env, "pool", 400)
    graph = printed(env, recording, "--graph", "json", "--by", "comm")
    node = {node["id"]: node["name"] for node in graph["nodes"]}
    pool = {"pool-worker", "pool-collector"}
    between_ns = sum(edge["blocked_ns"] for edge in graph["edges"] if {node[edge["from"]], node[edge["to"]]} == pool)
    held_ns = sum(knot["held_ns"] for knot in graph["knots"] if pool & {node[n] for n in knot["nodes"]})
    env.check.that(between_ns >= 0.3 * graph["blocked_ns"] > 0, f"the pool waits for itself {between_ns} of {graph['blocked_ns']} ns")
    env.check.that(held_ns <= 0.1 * between_ns, f"of {between_ns} ns that a healthy pool waits for itself {held_ns} are in knots")
