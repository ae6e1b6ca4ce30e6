# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu events` as files of other programs: each wait by the clock, with why, what for, and who ended it."""
import gzip
import importlib.util
import json
import re
import subprocess
from decimal import Decimal
from pathlib import Path

import pftrace
from lib import UNSEEN, Program, Recorder, case

EXCHANGE = Path(__file__).resolve().parent.parent / "exchange"


def walk_schema(*args):
    spec = importlib.util.spec_from_file_location("schema", EXCHANGE / "schema.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return list(module.walk_schema(*args))


def told(env, program, *formats):
    """What `events` writes of all of the program's work, in each of these formats at once; {format: path}."""
    recorders = {}
    for words in formats:
        options = ["-p", ",".join(map(str, program.pids)), "-s", "--wakers", "--objects", "-f", words]
        recorders[words] = Recorder(env, *options, verb="events")
    for recorder in recorders.values():
        recorder.wait_attached()
    program.go()
    program.wait_done()
    for recorder in recorders.values():
        status = recorder.stop()
        env.check.equal(status, 0, f"exit status: {recorder.stderr()}")
        env.unseen |= any(re.search(f"lost: .*\\b{loss} ", recorder.said()) for loss in UNSEEN)
    program.finish()
    return {words: recorder.out for words, recorder in recorders.items()}


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def by_thread(rows):
    """{tid: (number, sum)} of (tid, ns)."""
    found = {}
    for tid, ns in rows:
        number, total = found.get(tid, (0, 0))
        found[tid] = number + 1, total + ns
    return found


def check_trace(env, trace):
    """Slices and switches come by different records of the kernel, and tell the same to the nanosecond."""
    check = env.check
    check.equal(trace.unknown, [], "fields that are in no .proto")
    check.that(not trace.has_lost, "switches were lost")
    check.equal(trace.broken_cpus(), [], "switches from a thread that had not got the CPU")
    wrong = [w for w in trace.waits if w["end"] - w["start"] != w["blocked_ns"] + w["runnable_ns"] + w["preempted_ns"]]
    check.equal(wrong[:3], [], "slices that are not as long as their parts")
    waits = {(w["tid"], w["start"], w["end"]): w for w in trace.waits if "open" not in w}
    seen = {wait[:3]: wait for wait in trace.off_cpu()}
    new = {key for key in waits if key not in seen and waits[key]["state"] == "R" and not waits[key]["preempted_ns"]}
    check.equal([waits[k] for k in waits.keys() - seen.keys() - new][:3], [], "slices that no switches agree with")
    check.equal(list(seen.keys() - waits.keys())[:3], [], "waits by switches that are no slices")
    for key in waits.keys() & seen.keys():
        w, (_, start, end, state, woken, by) = waits[key], seen[key]
        if state != w["state"] or (state != "R" and woken is not None and
                                   (woken - start != w["blocked_ns"] or end - woken != w["runnable_ns"])):
            check.that(False, f"{w} is {seen[key]} by switches")
        if "woken_by_tid" in w and by != w["woken_by_tid"]:
            check.that(False, f"{w} was woken by {by} by the wakings")
    check.equal([a for a in trace.arrows.values() if not a[0] or a[0][1] != a[1][1]][:3], [], "arrows that are not of one instant")
    check.equal(len(trace.begins), len(trace.arrows), "arrows that end")
    return by_thread((w["tid"], w["end"] - w["start"]) for w in trace.waits)


@case
def arrows_of_a_recording(env):
    """The longest wait of a row of many has an arrow that ends where it was woken: not where the wait begins."""
    # when a row's longest wait began is kept of long ones
    program = Program(env, "locks", 20, 3000, env.temporary("locked"))
    recorder = Recorder(env, "-p", str(program.pid), "--exact", "--wakers")
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    program.finish()
    out = env.temporary("trace.pftrace")
    subprocess.run([env.offcpu, "export", recorder.out, "-f", "perfetto", "-o", out], check=True, capture_output=True, timeout=60)
    trace = pftrace.Trace(out)
    env.check.equal(trace.unknown, [], "fields that are in no .proto")
    env.check.that(len(trace.arrows) >= 1, f"arrows: {trace.arrows}")
    env.check.equal(len(trace.begins), len(trace.arrows), "arrows that end")
    env.check.equal([a for a in trace.arrows.values() if not a[0] or a[0][1] != a[1][1]][:3], [], "arrows that are not of one instant")
    env.check.that(any(w["longest_of"] > 1 for w in trace.waits if "longest_of" in w), "no row of several waits")


@case
def a_perfetto_trace_of_two_threads(env):
    """
    A byte goes to and fro: each sleep in read() was ended by the other thread.  The trace says so as the kernel's own
    tracing would, and as slices; both are what JSON of another run at the same time says.
    """
    program = Program(env, "pipe", "threads", 300)
    paths = told(env, program, "perfetto", "json")
    truth = {line["chain"][0]: line for line in program.truth()}
    trace = pftrace.Trace(paths["perfetto"])
    sums, lines = check_trace(env, trace), read_lines(paths["json"])
    tids = {name: line["tid"] for name, line in truth.items()}
    others = {tids["ping_main"]: tids["pong_main"], tids["pong_main"]: tids["ping_main"]}
    for name, tid in tids.items():
        reads = [w for w in trace.waits if w["tid"] == tid and w["reason"] == "pipe" and "open" not in w and
                 name.replace("main", "read") in trace.stacks.get(w["stack"], [])]
        waked = [w for w in reads if w.get("woken_by_tid") == others[tid]]
        # the thread of the program that asks the other one first, and waits for the test's byte, are apart
        env.check.that(abs(len(reads) - truth[name]["slept"]) <= 2, f"{name} slept {truth[name]['slept']} times, of which {len(reads)} are told")
        env.check.that(len(waked) >= len(reads) - 2, f"{name}: {len(waked)} of {len(reads)} were ended by the other thread")
        env.check.equal([w for w in waked if w["by"] != others[tid]][:3], [], "arrows from the waker")
        env.check.that(all("pipe" in w.get("for", "") for w in reads), f"{name} waits for a pipe: {reads[:2]}")
        if name == "ping_main":     # it waits for the test
            still = [w.get("open") for w in trace.waits if w["tid"] == tid][-1:]
            env.check.equal(still, ["at the end"], "the wait that goes on")
        env.check.equal(trace.processes.get(tid), program.pid, "the thread's process")
        env.check.equal(trace.names.get(tid), "pipe", "the thread's name")
    json_sums = by_thread((line["tid"], line["blocked_ns"] + line["runnable_ns"] + line["preempted_ns"]) for line in lines)
    for tid in others:
        number, total = sums[tid]
        of_json, total_of_json = json_sums[tid]
        # the two windows do not begin at one instant
        env.check.that(abs(number - of_json) <= 3, f"{number} waits, and {of_json} in JSON")
        env.notes.append(f"{number} waits of {total} ns, in JSON {of_json} of {total_of_json} ns")


@case
def a_firefox_profile_of_two_threads(env):
    """A marker a wait, by the clock, with reason, object and waker."""
    program = Program(env, "pipe", "threads", 100)
    paths = told(env, program, "firefox")
    truth = {line["chain"][0]: line for line in program.truth()}
    with gzip.open(paths["firefox"]) as file:
        profile = json.loads(file.read(), parse_float=Decimal)
    schema = json.loads((EXCHANGE / "firefox.schema.json").read_text())
    env.check.equal(walk_schema(schema, profile)[:3], [], "against the schema")
    threads = {t["tid"]: t for t in profile["threads"]}
    tids = {name: line["tid"] for name, line in truth.items()}
    others = {tids["ping_main"]: tids["pong_main"], tids["pong_main"]: tids["ping_main"]}
    for name, tid in tids.items():
        thread = threads[tid]
        markers = list(zip(*(thread["markers"][key] for key in ("startTime", "endTime", "category", "data"))))
        reads = [m for m in markers if m[3]["reason"] == "pipe"]
        waked = [m for m in reads if m[3].get("wakerTid") == others[tid]]
        env.check.that(abs(len(reads) - truth[name]["slept"]) <= 3, f"{len(reads)} markers, slept {truth[name]['slept']} times")
        env.check.that(len(waked) >= truth[name]["slept"] - 2, f"{len(waked)} of {len(reads)} were ended by the other thread")
        env.check.that(all("pipe" in m[3]["object"] for m in waked), "objects")
        env.check.equal({profile["meta"]["categories"][m[2]]["name"] for m in reads}, {"Pipe"}, "category")
        env.check.that(all(end - start == m["total"] for start, end, _, m in markers), "a marker is as long as its wait")
        starts = [m[0] for m in markers]
        env.check.that(starts == sorted(starts) and all(a[1] <= b[0] for a, b in zip(markers, markers[1:])), "they follow one another")
        env.check.equal(sum(thread["samples"]["weight"]), sum(m[3]["total"] for m in markers), "samples and markers")
