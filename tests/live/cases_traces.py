# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""For which requests threads wait, as their trace contexts say, of programs that measure the waits of each route."""

import collections
import json
import os
import shutil
import subprocess
import time

from cases_languages import build_go
from check import names
from cases_request_socket import has_tracepoint
from lib import Program, Recorder, Skip, case, exact, fetched, nightly, read_truth

SHARE = 0.99
REQUESTS = 60
LOADED = ("general", "descriptor")  # libraries that a program opens while it runs


def programs(env):
    """One of each way to have the variable that this compiler makes."""
    def has(name):
        return os.path.exists(os.path.join(env.programs, name))

    for model in "own", "general", "initial", "descriptor":
        if has(f"traces_{model}"):
            yield Program(env, f"traces_{model}", REQUESTS)
    for model in LOADED:
        library = os.path.join(env.programs, f"libtrace_{model}.so")
        if os.path.exists(library):
            yield Program(env, "traces_loaded", REQUESTS, library)


def check_routes(env, report, program):
    truth, seen = collections.Counter(), collections.Counter()
    for line in program.truth():
        if line["kind"] == "route":
            truth[line["route"]] += line["wall_ns"] - line["cpu_ns"]
    for wait in report.waits:
        if wait["pid"] == program.pid and "serve" in names(wait["user"]):
            seen[wait.get("route")] += wait["off_cpu_ns"]
    for route, ns in truth.items():
        slack_ns = 2_000_000 + ns * (1 - SHARE)  # preemptions of its computing count as computing
        env.check.that(abs(seen[route] - ns) <= slack_ns, f"{os.path.basename(program.path)}: {route}: {seen[route]} of {ns} ns")
    env.check.equal(sorted(map(str, set(seen) - {None})), sorted(truth), "the routes")


def check_traces(env, report, program):
    """The longest wait of each row has a trace of its own route: traces_N.c numbers requests, and routes go round."""
    order = ["POST /order/create", "GET /stock/{id}", "GET /search"]
    rows = [w for w in report.waits if w["pid"] == program.pid and "longest_trace" in w]
    env.check.that(rows, f"{program.path}: traces")
    for wait in rows:
        number = int.from_bytes(bytes.fromhex(wait["longest_trace"]["trace_id"])[:8], "little") - 1
        thread, request = divmod(number, REQUESTS)
        env.check.equal(wait["longest_trace"]["span_id"], wait["longest_trace"]["trace_id"][:16], "its span")
        env.check.equal(wait["route"], order[(thread + request) % 3], f"the route of request {number}")
        env.check.that(wait["longest_trace"]["ns"] <= wait["max_ns"], "the longest is no longer than the longest")


@case
def trace_routes(env):
    """Each wait is under the route that its thread worked for, whatever model of thread-local storage says so."""
    running = list(programs(env))
    recorder = Recorder(env, "-p", ",".join(str(program.pid) for program in running), *exact())
    recorder.wait_attached()
    for program in running:
        program.go()
    for program in running:
        program.wait_done()
    recorder.stop()
    recorder.wait()
    report = recorder.report()
    for program in running:
        program.finish()
        check_routes(env, report, program)
        check_traces(env, report, program)
    text = subprocess.check_output([env.offcpu, "report", "--by", "route", recorder.out], text=True)
    env.check.that("POST /order/create" in text and "(no request)" in text, text)
    one = json.loads(subprocess.check_output([env.offcpu, "report", "--json", "--attribute", "http.route=/sea*", recorder.out]))
    env.check.equal({wait["route"] for wait in one["waits"]}, {"GET /search"}, "what --attribute leaves")


@case
def trace_hostile(env):
    """Records that are none: waits are shown without them, and what could not be read is counted."""
    program = Program(env, "traces_own", 300, "hostile")
    recorder = Recorder(env, "-p", str(program.pid), *exact())
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    recorder.wait()
    report = recorder.report()
    program.finish()
    mine = [wait for wait in report.waits if "lie" in names(wait["user"])]
    env.check.that(sum(wait["count"] for wait in mine) >= 3 * 300 * 0.95, "its naps are there")
    env.check.equal({wait.get("route") for wait in mine}, {None}, "routes")
    losses = report.coverage["lost"]
    env.check.that(losses.get("trace_context", 0) >= 300, f"losses: {losses}")


def record_run(env, program, out, *arguments, verb):
    """What the command writes to `out` of the program's whole run."""
    recorder = Recorder(env, "-p", program.pid, "-o", out, *arguments, verb=verb, out=env.temporary("text"))
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    program.finish()


def recorded_spans(env, program, out, *arguments):
    record_run(env, program, out, "-q", *arguments, verb="request")
    return json.loads(subprocess.check_output([env.offcpu, "report", "--json", out]))["spans"]


@case
def trace_requests(env):
    """Calls of one function, that two routes make and the others, too, are told apart by route, with the trace of the slowest."""
    program = Program(env, "traces_own", REQUESTS)
    out = env.temporary("routes.offcpu")
    spans = recorded_spans(env, program, out, "--by", "route", "--attributes", "enduser.id", "nap_site")
    routes = collections.defaultdict(list)
    for span in spans:
        routes[span.get("route")].append(span)
    env.check.equal(sorted(map(str, routes)), ["GET /search", "GET /stock/{id}", "None"], "routes")
    for route, nap_ns in ("GET /search", 4_000_000), ("GET /stock/{id}", 3_000_000):
        calls = sum(line["calls"] for line in program.truth() if line["kind"] == "route" and line["route"] == route)
        env.check.that(calls * 0.8 <= len(routes[route]) <= calls, f"{route}: {len(routes[route])} of {calls} calls: those before a call's place is known lack")
        env.check.that(all(span["wall_ns"] >= nap_ns for span in routes[route]), f"{route}: none is shorter than its nap")
        env.check.that("trace_id" in routes[route][0], f"{route}: the slowest has its trace: {routes[route][0]}")
    text = subprocess.check_output([env.offcpu, "report", "--by", "request route", out], text=True)
    env.check.that("The slowest of GET /search" in text and routes["GET /search"][0]["trace_id"][:16] in text, text)
    for attribute, value in ("http.request.method", "GET"), ("enduser.id", "user-"):
        by = subprocess.check_output([env.offcpu, "report", "--by", f"attribute:{attribute}", out], text=True)
        env.check.that(value in by and "(not told)" in by, by)


@case
@nightly
def trace_requests_by_connection(env):
    """Requests of connections have the route and the trace that the thread says as it answers, also those that wait for nothing."""
    if not has_tracepoint():
        raise Skip("this kernel does not tell what sockets receive (Linux 6.3)")
    program = Program(env, "served_routes", "routes", 5 * REQUESTS)
    out = env.temporary("connections.offcpu")
    port = read_truth(program.truth_path)[0]["port"]
    spans = recorded_spans(env, program, out, f"socket:{port}")
    routes = collections.Counter(span.get("route") for span in spans)
    env.check.equal(dict(routes), {"POST /order/create": 5 * REQUESTS, "GET /stock/{id}": 5 * REQUESTS}, "routes")
    numbers = [int.from_bytes(bytes.fromhex(span["trace_id"])[:8], "little") for span in spans if "trace_id" in span]
    env.check.equal(sorted(numbers), list(range(1, 10 * REQUESTS + 1)), "each request has its own trace")
    env.check.that(all(span["span_id"] == span["trace_id"][:16] for span in spans), "and its span")


@case
def trace_events(env):
    """Each wait that is told by itself says its route, its trace and its span."""
    program = Program(env, "traces_own", REQUESTS)
    out = env.temporary("events.json")
    record_run(env, program, out, "-f", "json", verb="events")
    order = ["POST /order/create", "GET /stock/{id}", "GET /search"]
    seen = set()
    with open(out, encoding="utf-8") as file:
        waits = [wait for wait in map(json.loads, file) if "trace_id" in wait]
    for wait in waits:
        number = int.from_bytes(bytes.fromhex(wait["trace_id"])[:8], "little") - 1
        thread, request = divmod(number, REQUESTS)
        if (thread + request) % 3:   # the first route's need not wait: a byte may be there
            seen.add(number)
        env.check.equal(wait["span_id"], wait["trace_id"][:16], f"the span of request {number}")
        # a stack that could not be walked has no frames, so no route
        env.check.that(wait.get("route") in (None, order[(thread + request) % 3]), f"the route of request {number}: {wait}")
    env.check.that(len(seen) >= 2 * REQUESTS * SHARE, f"waits of {len(seen)} of {2 * REQUESTS} requests that sleep")
    env.check.that(sum("route" in wait for wait in waits) >= len(waits) * 0.9, f"routes of {len(waits)} waits")


# what a thread waits in, and the route that this is called for: the outermost counts
CALLED_FOR = {"main.bare": None, "main.nap": "POST /order/create", "main.read": "GET /stock/{id}", "main.lockFile": "GET /search",
              "main.napInC": "PUT /c"}


def check_label_traces(env, report, program, routes, what):
    """Trace and span are labels, too: requests are numbered from 1 on, and routes go round."""
    rows = [w for w in report.waits if w["pid"] == program.pid and "longest_trace" in w]
    env.check.equal({w["route"] for w in rows}, set(routes), f"{what}: routes of rows with a trace")
    for wait in rows:
        trace = wait["longest_trace"]
        env.check.equal(int(trace["span_id"], 16), int(trace["trace_id"], 16), f"{what}: its span")
        env.check.equal(wait["route"], routes[(int(trace["trace_id"], 16) - 1) % len(routes)], f"{what}: the route of trace {trace['trace_id']}")


def check_labels(env, go, *options, sources=("go_routes.go", "go_routes_c.go")):
    """At least 99% of the time that threads waited in functions of one route is under that, and the program's own clocks say as much."""
    what = f"{os.path.basename(go)} {options} {len(sources)}"
    programs, env.programs = env.programs, build_go(env, go, *options, sources=sources)
    program = Program(env, "go_routes", REQUESTS)
    env.programs = programs
    recorder = Recorder(env, "-p", program.pid, "--attributes", "part", *exact())
    recorder.wait_attached()
    time.sleep(2)   # its function table is to be read first
    program.go()
    program.wait_done()
    recorder.stop()
    recorder.wait()
    report = recorder.report()
    program.finish()
    seen, right = collections.Counter(), collections.Counter()
    for wait in report.waits:
        function = next((name for name in names(wait["user"]) if name in CALLED_FOR), None)
        if wait["pid"] == program.pid and function:
            route = CALLED_FOR[function]
            part = any(frame["name"] == "wait" and frame["module"] == "[part]" for frame in wait["user"])
            seen[route] += wait["off_cpu_ns"]
            right[route] += wait["off_cpu_ns"] * (wait.get("route") == route and part == (route is not None))
    for line in program.truth():
        route, ns = line["route"] or None, line["wall_ns"] - line["cpu_ns"]
        env.check.that(right[route] >= SHARE * seen[route], f"{what}: {route}: {right[route]} of {seen[route]} ns are under it")
        # a thread that comes back may have to wait for Go's scheduler, in no function of these
        env.check.that(0.9 * ns - 20_000_000 <= right[route] <= ns + 2_000_000, f"{what}: {route}: {right[route]} of {ns} ns")
    env.check.equal(report.coverage["lost"].get("trace_context", 0), 0, f"{what}: labels that could not be read")
    check_label_traces(env, report, program, [route for route in CALLED_FOR.values() if route][:2 + len(sources)], what)
    text = subprocess.check_output([env.offcpu, "report", "--by", "route", recorder.out], text=True)
    env.check.that("POST /order/create" in text and "(no request)" in text, text)
    one = json.loads(subprocess.check_output([env.offcpu, "report", "--json", "--attribute", "http.route=GET /sea*", recorder.out]))
    env.check.equal({wait["route"] for wait in one["waits"]}, {"GET /search"}, f"{what}: what --attribute leaves")


@case
@nightly
def label_routes(env):
    """Each wait of a Go program's thread is under the route of the goroutine that it runs for, as its labels say."""
    compilers = [path for path in [shutil.which("go"), *fetched("go1.*")] if path]
    if not compilers:
        raise Skip("go is not installed")
    for go in compilers:
        check_labels(env, go)
        check_labels(env, go, "-ldflags=-s -w", sources=("go_routes.go",))
        check_labels(env, go, "-ldflags=-s -w", "-buildmode=pie")


@case
@nightly
def label_requests(env):
    """Calls of a Go function have the route and the trace of the goroutine's labels."""
    go = shutil.which("go")
    if not go:
        raise Skip("go is not installed")
    programs, env.programs = env.programs, build_go(env, go, sources=("go_routes.go",))
    program = Program(env, "go_routes", REQUESTS)
    env.programs = programs
    out = env.temporary("labels.offcpu")
    spans = recorded_spans(env, program, out, "main.serve")
    routes = [route for route in CALLED_FOR.values() if route][:3]
    seen = collections.Counter(span.get("route") for span in spans)
    calls = {line["route"]: line["waits"] for line in program.truth() if line["route"]}
    env.check.equal(set(seen) - {None}, set(calls), "routes")   # those without come once, from a place of their own
    for route, cnt in calls.items():
        env.check.that(cnt * 0.8 <= seen[route] <= cnt, f"{route}: {seen[route]} of {cnt} calls: those before a call's place is known lack")
    for span in spans:
        if "trace_id" in span:
            env.check.equal(span["route"], routes[(int(span["trace_id"], 16) - 1) % 3], f"the route of trace {span['trace_id']}")
        else:
            env.check.that("route" not in span, f"a call with a route has a trace: {span}")
