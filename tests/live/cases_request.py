# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu request` against programs that read the clock around each request of theirs."""

import json
import os
import re
import shutil
import subprocess
import time

from check import check_account, names
from lib import Broken, Program, Recorder, Skip, case, read_truth, stolen_ns

FUNCTION = {"jump": "jumping_request"}
GO_SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "go_requests.go")
PARTS = ("on_cpu_ns", "blocked_ns", "runnable_ns", "preempted_ns")


class Requests:
    """A program of requests under `offcpu request`: what both say."""

    def __init__(self, env, mode, count=100, threads=4, options=(), functions=None, begun=0):
        program = Program(env, "requests", mode, count, threads)
        self.env = env
        self.out = env.temporary("requests.json")
        functions = functions or [FUNCTION.get(mode, "service::handle_request")]
        recorder = Recorder(env, "-p", program.pid, "--json", *options, *functions, verb="request", out=self.out)
        recorder.wait_attached()
        time.sleep(begun)
        before = stolen_ns()
        program.go()
        program.wait_done()
        self.stolen_ns = stolen_ns() - before
        time.sleep(0.05)
        recorder.stop()
        program.finish()
        self.pid = program.pid
        if recorder.process.returncode != 0:
            raise Broken(f"`{recorder.line}` exited with {recorder.process.returncode}: {recorder.stderr()}")
        with open(self.out, encoding="utf-8") as f:
            self.json = json.loads(f.read())
        self.rows = {row["function"]: row for row in self.json["functions"]}
        self.row = self.json["functions"][0]
        self.lost = {name: one["count"] for name, one in self.json["not_counted"].items()}
        truth = read_truth(program.truth_path)
        start = self.json["start_ns"]
        self.lines = [line for line in truth if line["kind"] == "requests"]
        warm = [line for line in truth if line["kind"] == "warm"]
        # one whose clocks were read before the window and in it, and that is not told to have begun before: its call began in the window, or the
        # thread lost its CPU between the call's end and its clock
        across = [] if self.lost["at_start"] else [line for line in warm if line["start_ns"] < start < line["start_ns"] + line["wall_ns"]]
        self.warm = [line for line in warm if line["start_ns"] >= start]
        if self.row["requests"]["count"] + self.lost["no_site"] > sum(line["count"] for line in self.lines) + len(self.warm):
            self.warm = across + self.warm
        # where the program got no CPU before the window opened, the first calls in it end before the place they return to is known
        self.early = min(self.lost["no_site"], len(self.warm))
        self.warm = self.warm[self.early:]
        self.lost["no_site"] -= self.early

    def sum(self, name):
        warm = {"count": len(self.warm), "thrown": 0, "left": 0}.get(name)
        return sum(line[name] for line in self.lines) + \
            (sum(line[name] for line in self.warm) if warm is None else warm)


def check_between(check, what, seen, low, high, slack_ns):
    check.that(low - slack_ns <= seen <= high + slack_ns, f"{what} {seen} ns, truth {low} to {high} ns, +- {slack_ns:.0f}")


def check_sums(check, seen, wanted_count):
    """Count, wall time and CPU time are the program's; the parts are the whole."""
    row = seen.row["requests"]
    missed = seen.json["not_counted"]["residual"]["time_ns"]
    check.equal(row["count"], wanted_count, "requests")
    check_between(check, "wall", row["wall_ns"], seen.sum("in_wall_ns"), seen.sum("wall_ns"), 1000)
    # the scheduler's clock, which the program's CPU time is read from, and ours are two
    slack_ns = missed + row["on_cpu_ns"] * 0.01 + wanted_count * 5_000 + stolen(seen)
    # where a switch to a thread is hidden a request that ends before the next one lacks time, and no sum of requests says so
    seen.env.unseen |= row["on_cpu_ns"] < seen.sum("in_cpu_ns") - slack_ns
    check_between(check, "on CPU", row["on_cpu_ns"], seen.sum("in_cpu_ns"), seen.sum("cpu_ns"), slack_ns)
    parts = sum(row[part] for part in PARTS)
    check.that(abs(parts - row["wall_ns"]) <= missed + row["wall_ns"] * 0.001,
               f"the parts are {parts} of {row['wall_ns']} ns, {missed} ns in no class")
    check.equal(sum(count for _, count in seen.row["latency_ns"]), row["count"], "sum of the distribution")
    check.that(seen.row["p50_ns"] <= seen.row["p99_ns"] <= seen.row["max_ns"], "percentiles are in order")


def stolen(seen):
    """What the hypervisor took is in the time between two switches, and not in the thread's CPU time."""
    return seen.stolen_ns


def check_clean(check, seen, allowed=()):
    lost = {name: count for name, count in seen.lost.items() if count and name not in ("at_start", "at_end", "residual", *allowed)}
    check.equal(lost, {}, "requests in no sum")


@case
def request_plain(env):
    seen = Requests(env, "plain")
    check_sums(env.check, seen, seen.sum("count"))
    check_clean(env.check, seen)


@case
def request_first_call(env):
    """
    Whose first call of a thread returned before there was a probe, and that sleeps in the caller then: that sleep is in no request.
    """
    recording = env.temporary("first.offcpu")
    # the window opens within 0.3 s if nothing is called; where it was late no switch was seen since the call
    seen = Requests(env, "once", count=1, options=("-o", recording), functions=["service::short_request"], begun=0.5)
    lost = seen.json["not_counted"]
    env.check.equal(seen.row["requests"]["count"] + lost["no_site"]["count"] + lost["at_start"]["count"], 4, "calls")
    inside = [wait["off_cpu_ns"] for wait in env.report(recording).waits if not wait["open_at_start"] and
              any(name and "look_up" in name for name in names(wait["user"]))]
    env.check.equal(inside, [], "sleeps outside of requests")


@case
def request_throws(env):
    """Every fifth throws to its caller: the program lives, and each is counted at its end."""
    seen = Requests(env, "throw")
    check_sums(env.check, seen, seen.sum("count"))
    env.check.equal(seen.row["unwound"], seen.sum("thrown"), "ended by an exception")
    check_clean(env.check, seen)


@case
def request_recursive(env):
    """Six calls deep: the outermost is the request."""
    seen = Requests(env, "deep")
    check_sums(env.check, seen, seen.sum("count"))
    env.check.that(abs(seen.lost["nested"] - 5 * seen.sum("count")) <= 10, f"{seen.lost['nested']} calls inside")
    check_clean(env.check, seen, ("nested",))


@case
def request_nested(env):
    """One probed function calls another: the outer one counts."""
    seen = Requests(env, "nested", functions=["service::handle_request", "service::inner_request"])
    check_sums(env.check, seen, seen.sum("count"))
    env.check.equal(seen.rows["service::inner_request"]["requests"]["count"], 0, "requests of the inner one")
    check_clean(env.check, seen, ("nested",))


def check_calls(check, seen):
    """Of several functions: their own times add up to those of the requests, part by part and to the nanosecond."""
    rows = seen.rows.values()
    for part in ("wall_ns", *PARTS):
        check.equal(sum(row["self"][part] for row in rows), sum(row["requests"][part] for row in rows), f"own times, {part}")
    for row in rows:
        check.that(row["calls"]["count"] >= row["requests"]["count"], f"{row['function']}: as many calls as requests")
        for part in ("wall_ns", *PARTS):
            check.that(row["self"][part] <= row["calls"][part], f"{row['function']}: its own {part} is part of all")


@case
def request_calls_recursive(env):
    """A function that calls itself six deep, that calls another one, that sleeps in a third."""
    seen = Requests(env, "deep", functions=["service::handle_request", "work", "nap"])
    count = seen.sum("count")
    check_sums(env.check, seen, count)
    check_calls(env.check, seen)
    outer, work, nap = (seen.rows[name] for name in ("service::handle_request", "work", "nap"))
    env.check.that(abs(outer["calls"]["count"] - 6 * count) <= 10, f"{outer['calls']['count']} calls of {count} requests")
    env.check.equal(outer["calls"]["wall_ns"], outer["requests"]["wall_ns"], "time of calls in one another counts once")
    env.check.equal(work["calls"]["count"], count, "calls of work()")
    env.check.that(work["self"]["on_cpu_ns"] >= count * 490_000, f"work() spins for {work['self']['on_cpu_ns']} ns in {count} calls")
    env.check.that(work["calls"]["blocked_ns"] >= count * 900_000, f"work() has {work['calls']['blocked_ns']} ns of sleep in it")
    env.check.that(work["self"]["blocked_ns"] <= work["calls"]["blocked_ns"] // 10, f"of which {work['self']['blocked_ns']} ns of its own")
    env.check.that(nap["self"]["blocked_ns"] >= count * 900_000, f"nap() sleeps for {nap['self']['blocked_ns']} ns in {count} calls")
    check_clean(env.check, seen)


@case
def request_calls_thrown_through(env):
    """Every fifth request ends by an exception, after the calls in it have returned."""
    seen = Requests(env, "throw", functions=["service::handle_request", "work", "nap"])
    check_sums(env.check, seen, seen.sum("count"))
    check_calls(env.check, seen)
    env.check.equal(seen.row["unwound"], seen.sum("thrown"), "ended by an exception")
    env.check.equal(seen.row["calls"]["count"], seen.sum("count"), "calls")
    check_clean(env.check, seen)


@case
def request_calls_many(env):
    """By patterns and names: the table has each.  The outermost one's place is not known at its first calls; those inside count."""
    seen = Requests(env, "plain", options=("--every",), functions=["service::*", "nap", "work", "call"])
    for name in ("service::handle_request", "work"):
        missed = seen.lost["calls"]
        truth = seen.sum("count") + seen.early
        told = seen.rows[name]["calls"]["count"]
        env.check.that(0 <= truth - told <= missed, f"{told} of {truth} calls of {name}, {missed} not seen to return")
    env.check.equal(seen.rows["service::inner_request"]["calls"]["count"], 0, "calls of what is not called")


@case
def request_longjmp(env):
    """Every fifth leaves by longjmp: noticed, and told apart from those that return."""
    seen = Requests(env, "jump")
    check_sums(env.check, seen, seen.sum("count"))
    env.check.equal(seen.lost["left"], seen.sum("left"), "left without a return")
    check_clean(env.check, seen, ("left",))


@case
def request_thread_exit(env):
    """The last request of each thread ends that."""
    seen = Requests(env, "leave", count=20, threads=6)
    check_sums(env.check, seen, seen.sum("count"))
    env.check.equal(seen.lost["left"] + seen.row["unwound"], seen.sum("left"), "left without a return")
    check_clean(env.check, seen, ("left",))


def check_slow_goroutines(env, program):
    """What slow requests were parked for is listed, with the goroutine's stack; one that ends within its request is told, and its place is another's."""
    out = env.temporary("go.txt")
    recorder = Recorder(env, "-p", program.pid, "-q", "--slower", "2ms", "main.handleRequest", "main.endingRequest", verb="request", out=out)
    recorder.wait_attached()
    time.sleep(0.5)
    recorder.stop()
    with open(out, encoding="utf-8") as f:
        text = f.read()
    env.check.that(re.search(r"for goroutine sleep\n +runtime.gopark\n +time.Sleep\n +=> main.handleRequest\n", text), f"the stack that requests are parked in: {text}")
    gone = re.search(r"(\d+) \(.*\) ended with their goroutine", text)
    env.check.that(gone and int(gone[1]) >= 10, f"goroutines that ended within a request: {text}")
    env.check.that(not re.search("no room|no_room", text), f"all had a place: {text}")


@case
def request_of_goroutines(env):
    """Calls of goroutines that move between threads: each once, as long as the program says, with its waits in system calls."""
    if not shutil.which("go"):
        raise Skip("go is not installed")
    path, out = env.temporary("go_requests"), env.temporary("go.json")
    built = subprocess.run(["go", "build", "-o", path, GO_SOURCE], capture_output=True, text=True, check=False,
                           env={**os.environ, "GO111MODULE": "off", "GOTOOLCHAIN": "local"})
    if built.returncode:
        raise Skip(f"go failed: {built.stderr.strip()[-200:]}")
    program = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    env.running.append(program)
    program.stdout.readline()
    recorder = Recorder(env, "-p", program.pid, "--json", "main.handleRequest", verb="request", out=out)
    recorder.wait_attached()
    time.sleep(0.5)
    recorder.stop()
    check_slow_goroutines(env, program)
    truth = [(one["Before"], one["Within"], one["After"]) for one in json.loads(program.communicate()[0])]
    with open(out, encoding="utf-8") as f:
        seen = json.loads(f.read())
    row, lost = seen["functions"][0]["requests"], {name: one["count"] for name, one in seen["not_counted"].items() if one["count"]}
    start, stop = seen["start_ns"], seen["start_ns"] + seen["duration_ns"]
    within = [one for one in truth if one[0] >= start and one[2] <= stop]
    # at its edges the call may lie in the window and the clock that was read around it not
    most = [one for one in truth if one[1] >= start and one[0] <= stop]
    early = lost.get("no_site", 0)
    env.check.that(len(within) > 200, f"{len(within)} requests in the window")
    env.check.that(len(within) - early <= row["count"] <= len(most) - early, f"{row['count']} requests, {len(within)} to {len(most)} by the program, {lost}")
    least, around = (sum(after - one for one, after in pairs) / len(pairs) for pairs in
                     ([(w, a) for _, w, a in within], [(b, a) for b, _, a in within]))
    mean = row["wall_ns"] / row["count"]
    env.check.that(0.97 * least <= mean <= 1.03 * around, f"the mean is {mean} ns, {least} to {around} by the program")
    env.check.that(row["blocked_ns"] >= 0.9e6 * row["count"], f"blocked {row['blocked_ns'] / row['count']} ns each, which sleep for 1 ms in a system call")
    parked = {one["for"]: one for one in seen["functions"][0]["parked"]}
    env.check.equal(sum(row[part] for part in PARTS) + seen["functions"][0]["parked_ns"], row["wall_ns"], "the parts and what is parked are the whole")
    env.check.that(sum(one["ns"] for one in parked.values()) <= seen["functions"][0]["parked_ns"], f"parked {parked} of {seen['functions'][0]['parked_ns']}, {row}, {lost}")
    env.check.that(parked["sleep"]["count"] == row["count"] and parked["sleep"]["ns"] >= 2.9e6 * row["count"], f"parked {parked}, though each sleeps for 3 ms")
    env.check.that(row["on_cpu_ns"] <= 1e6 * row["count"], f"on CPU {row['on_cpu_ns'] / row['count']} ns each, which do nearly nothing")
    env.check.that(abs(lost.pop("nested", 0) - 2 * row["count"]) <= 2 * (len(most) - len(within)) + 2 * early + 60, f"calls inside: {seen['not_counted']}")
    env.check.equal({name: n for name, n in lost.items() if name not in ("no_site", "at_start", "at_end")}, {}, "requests in no sum")


@case
def request_lists_its_own_waits(env):
    """The thread sleeps as often outside of requests: only what is inside is in the recording."""
    env.tolerate_unseen()
    recording = env.temporary("in.offcpu")
    seen = Requests(env, "cold", options=("-o", recording))
    report = env.report(recording)
    check_account(env.check, report, filtered=True, allowed_losses=("snapshot", "kernel_stack", "user_stack", "request_residual"))
    slept = [wait for wait in report.waits if wait["state"] == "S"]
    env.check.that(slept, "no wait inside of requests")
    for wait in slept:
        env.check.that("nap" not in names(wait["user"]) or
                       any(name and "handle_request" in name for name in names(wait["user"])),
                       f"a wait outside of requests: {names(wait['user'])}")
    inside = sum(wait["off_cpu_ns"] for wait in report.waits if not wait["open_at_end"])
    row = seen.row["requests"]
    off = row["wall_ns"] - row["on_cpu_ns"]
    env.check.that(abs(inside - off) <= off * 0.01 + 3_000_000 + seen.json["not_counted"]["residual"]["time_ns"], f"{inside} ns in waits, {off} ns off CPU inside of requests")


def duration_ns(text):
    number, _, unit = text.strip().partition(" ")
    return float(number) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "": 1}[unit]


@case
def request_tells_the_slowest(env):
    """One request in a hundred sleeps for 200 ms in a function of its own: that is what the slowest 1% have and the others have not."""
    program = Program(env, "requests", "tail", 300, 2)
    out = env.temporary("requests.txt")
    recorder = Recorder(env, "-p", program.pid, "service::handle_request", verb="request", out=out)
    recorder.wait_attached()
    program.go()
    program.wait_done()
    time.sleep(0.05)
    recorder.stop()
    program.finish()
    with open(out, encoding="utf-8") as file:
        text = file.read()
    head = re.search(r"The slowest ([\d.]+)% of service::handle_request[^(]*\(.*?(\d+), from .*?\) take ([^,]+), the middle half ([^;]+);", text)
    env.check.that(head, f"a section on the slowest: {text}")
    # six of six hundred and those before the window; others that a busy machine held up may stand beside them, up to 1% in all
    env.check.that(6 <= int(head[2]) and float(head[1]) <= 1, f"how many: {head[0]}")
    env.check.that(duration_ns(head[3]) >= 10 * duration_ns(head[4]), f"how long: {head[0]}")
    first = text[head.end():].splitlines()[2]
    slow, middle, cause = first[:10], first[10:20], first[20:]
    env.check.that(0.95 * 6 * 200e6 <= int(head[2]) * duration_ns(slow) <= int(head[2]) * duration_ns(head[3]), f"what they have: {first}")
    env.check.that(duration_ns(middle) <= 5e6, f"what the others have: {first}")
    env.check.that("sleep" in cause and "service::look_up" in cause, f"the cause: {first}")


@case
def request_slower(env):
    """No request is slow; then each is: the waits of none, of all."""
    env.tolerate_unseen()
    for slower, is_all in (("10s", False), ("1ms", True)):
        recording = env.temporary("slow.offcpu")
        seen = Requests(env, "cold", count=50, options=("--slower", slower, "-o", recording))
        report = env.report(recording)
        check_account(env.check, report, filtered=True,
                      allowed_losses=("snapshot", "kernel_stack", "user_stack", "request_until_end", "request_residual"))
        missed = seen.json["not_counted"]["residual"]["time_ns"]
        inside = sum(wait["off_cpu_ns"] for wait in report.waits if not wait["open_at_end"])
        slow = seen.row["slow"]
        env.check.equal(slow["count"], seen.row["requests"]["count"] if is_all else 0, f"slow at {slower}")
        off = slow["wall_ns"] - slow["on_cpu_ns"]
        # the last one of a thread is listed at its next switch
        env.check.that(off * 0.95 - missed <= inside <= off + missed + 1_000_000 or not is_all and not inside, f"{slower}: {inside} ns in waits of {off}")


@case
def request_spans(env):
    """Each of a few hundred requests is in the recording, as the program's own clock has it; the reports tell the slowest."""
    recording = env.temporary("spans.offcpu")
    seen = Requests(env, "tail", count=300, threads=2, options=("-o", recording))
    shown = json.loads(subprocess.run([env.offcpu, "report", "--json", recording], capture_output=True, text=True, timeout=60, check=True).stdout)
    spans, row = shown["spans"], seen.row["requests"]
    env.check.equal(len(spans), row["count"], "spans")
    env.check.equal(sum(span["wall_ns"] for span in spans), row["wall_ns"], "wall time of all spans")
    env.check.equal(sum(span["blocked_ns"] for span in spans), row["blocked_ns"], "blocked time of all spans")
    env.check.that(all(span["slowest"] for span in spans), "so few are all among the slowest")
    env.check.equal([span["wall_ns"] for span in spans], sorted((span["wall_ns"] for span in spans), reverse=True), "order")
    env.check.equal(spans[0]["wall_ns"], seen.row["max_ns"], "the slowest")
    asleep = [span for span in spans if span["most"]["reason"] == "sleep" and "service::look_up" in span["most"].get("function", "")]
    env.check.that(len(asleep) >= 6 and all(190e6 < span["most"]["ns"] for span in asleep), f"the planted sleeps: {asleep}")
    for by, wanted in (("request", "service::look_up"), ("request percentile", "sleep in service::look_up")):
        text = subprocess.run([env.offcpu, "report", "--by", by, recording], capture_output=True, text=True, timeout=60, check=True).stdout
        env.check.that(wanted in text, f"--by '{by}': {text}")


def refused(env, *arguments):
    result = subprocess.run([env.offcpu, "request", "-d", "1", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                            timeout=30, check=False)
    lines = result.stderr.strip().splitlines()
    env.check.that(result.returncode in (1, 2), f"{arguments}: exit status {result.returncode}")
    env.check.equal(len(lines), 1, f"sentences for {arguments}: {lines}")
    return lines[0] if lines else ""


@case
def request_bad_input(env):
    program = Program(env, "requests", "plain", 1, 1)
    pid = str(program.pid)
    stripped = env.temporary("stripped")
    subprocess.run(["strip", "-o", stripped, program.path], check=True)
    for arguments, words in (
            (("-p", pid, "no_such_function"), "there is no function 'no_such_function'"),
            (("-p", pid, "handle_request"), "it has service::handle_request"),
            (("-p", pid, "jumping_reqest"), "it has jumping_request"),
            (("-p", pid, "*_request"), "match '*_request'"),
            (("-p", pid, "no_lib:f"), "no_lib"),
            (("-p", pid, ""), "the name of a function is wanted"),
            (("-p", pid, "libc:memcpy"), "IFUNC"),
            (("-p", pid, "/nowhere/x:f"), "there is no such file"),
            ((stripped + ":jumping_request",), "stripped"),
            (("-p", pid, "usdt:libc:no:start,done"), "no probe no:start"),
            (("-p", pid, "usdt:libc"), "is wanted"),
            (("-p", "4194304", "f"), "does not exist"),
            (("-p", pid,), "which function"),
            (("f",), "which program"),
            ((os.path.join(os.path.dirname(program.truth_path), "nofile") + ":f",), "no such file")):
        said = refused(env, *arguments)
        env.check.that(words in said, f"{arguments}: said {said!r}, not {words!r}")
    program.go()
    program.wait_done()
    program.finish()


@case
def request_of_a_link(env):
    """A program that was started by a link beside it, as Debian's redis-server, is called as the process is."""
    folder = env.temporary("linked")
    os.mkdir(folder)
    shutil.copy(os.path.join(env.programs, "requests"), os.path.join(folder, "real"))
    os.symlink("real", os.path.join(folder, "called"))
    with subprocess.Popen([os.path.join(folder, "called"), env.temporary("truth"), "plain", "1", "1"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as program:
        program.stdout.readline()
        out = subprocess.run([env.offcpu, "request", "--json", "-d", "0.1", "-p", str(program.pid), "service::handle_request"], capture_output=True,
                             text=True, timeout=60, check=True).stdout
        program.kill()
    env.check.equal(json.loads(out)["functions"][0]["file"], "called", "the program's name")


@case
def request_process_ends(env):
    """Tracing ends with the last process."""
    program = Program(env, "requests", "plain", 20, 2)
    out = env.temporary("ends.json")
    recorder = Recorder(env, "-p", program.pid, "--json", "service::handle_request", verb="request", out=out)
    recorder.wait_attached()
    program.go()
    program.wait_done()
    program.finish()
    env.check.equal(recorder.wait(10), 0, "exit status")
    env.check.that("has ended" in recorder.said(), f"said {recorder.said()!r}")
    with open(out, encoding="utf-8") as f:
        env.check.that(json.loads(f.read())["functions"][0]["requests"]["count"] >= 40, "requests")


@case
def request_of_a_library(env):
    """A function of libc, by the library's name, with several callers."""
    program = Program(env, "requests", "plain", 50, 2)
    out = env.temporary("libc.json")
    recorder = Recorder(env, "-p", program.pid, "--json", "libc:nanosleep", verb="request", out=out)
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    program.finish()
    if recorder.process.returncode:
        raise Skip(f"libc has no such symbol here: {recorder.stderr()}")
    with open(out, encoding="utf-8") as f:
        row = json.loads(f.read())["functions"][0]["requests"]
    env.check.that(row["count"] >= 100, f"{row['count']} calls")
    env.check.that(row["blocked_ns"] + row["runnable_ns"] >= 0.8 * row["wall_ns"], f"{row}")
