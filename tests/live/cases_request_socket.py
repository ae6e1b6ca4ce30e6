# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu request socket:PORT` against a server and clients that read the clock at both ends of each request."""

import contextlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

from cases_request import PARTS, check_between, refused
from check import names
from lib import Broken, Program, Recorder, Skip, case, read_truth


def has_tracepoint():
    """The kernel's types name the tracepoint: Linux 6.3."""
    with open("/sys/kernel/btf/vmlinux", "rb") as f:
        return b"btf_trace_sock_recv_length\0" in f.read()


class Served:
    """The server under `offcpu request`: what both say.  form "-q": as text."""

    def __init__(self, env, mode, count, *options, form="--json"):
        if not has_tracepoint():
            raise Skip("this kernel does not tell what sockets receive (Linux 6.3)")
        program = Program(env, "served", mode, count)
        port = read_truth(program.truth_path)[0]["port"]
        out = env.temporary("served.json")
        recorder = Recorder(env, "-p", program.pid, form, *options, f"socket:{port}", verb="request", out=out)
        recorder.wait_attached()
        program.go()
        program.wait_done()
        time.sleep(0.05)
        recorder.stop()
        program.finish()
        if recorder.process.returncode != 0:
            raise Broken(f"`{recorder.line}` exited with {recorder.process.returncode}: {recorder.stderr()}")
        with open(out, encoding="utf-8") as f:
            self.text = f.read()
        self.truth = read_truth(program.truth_path)[1]
        if form != "--json":
            return
        self.json = json.loads(self.text)
        self.row = self.json["functions"][0]
        self.lost = {name: one for name, one in self.json["not_counted"].items() if one["count"]}

    def check_no_loss(self, env, *allowed):
        lost = {name: one["count"] for name, one in self.lost.items() if name not in ("residual", *allowed)}
        env.check.equal(lost, {}, "requests in no sum")


def check_served(env, seen, wanted):
    """Count and wall time are the program's; the parts are the whole."""
    row = seen.row["requests"]
    missed_ns = seen.lost.get("residual", {}).get("time_ns", 0)
    env.check.equal(row["count"], wanted, "requests")
    check_between(env.check, "wall", row["wall_ns"], seen.truth["in_ns"], seen.truth["around_ns"], 1000)
    parts = sum(row[part] for part in PARTS)
    env.check.that(abs(parts - row["wall_ns"]) <= missed_ns + row["wall_ns"] * 0.001,
                   f"the parts are {parts} of {row['wall_ns']} ns, {missed_ns} ns in no class")
    env.check.equal(sum(count for _, count in seen.row["latency_ns"]), row["count"], "sum of the distribution")


@case
def request_by_connection(env):
    """Each request sleeps 2 ms and burns 0.3 ms, on two connections."""
    seen = Served(env, "plain", 100)
    check_served(env, seen, 200)
    seen.check_no_loss(env)
    row = seen.row["requests"]
    # a thread may lose its CPU between the start of its timer and its sleep, which is then shorter
    off_ns = row["blocked_ns"] + row["runnable_ns"] + row["preempted_ns"] + seen.lost.get("residual", {}).get("time_ns", 0)
    env.check.that(off_ns >= 200 * 1_980_000, f"off CPU {off_ns} ns in 200 sleeps of 2 ms")
    env.check.that(row["blocked_ns"] >= 200 * 1_600_000, f"blocked {row['blocked_ns']} ns of 200 sleeps of 2 ms")
    env.check.that(row["on_cpu_ns"] >= 200 * 300_000, f"on CPU {row['on_cpu_ns']} ns of 200 times 0.3 ms")


@case
def request_by_connection_in_pieces(env):
    """A request that comes in two halves begins with the first; the pause between them is the client's, and in it."""
    seen = Served(env, "pieces", 50)
    check_served(env, seen, 100)
    seen.check_no_loss(env)


@case
def request_by_connection_overlapping(env):
    """One thread with a request of each of two connections at a time: both are told, in full."""
    recording = env.temporary("overlap.offcpu")
    seen = Served(env, "overlap", 50, "-o", recording)
    check_served(env, seen, 100)
    seen.check_no_loss(env)
    with contextlib.closing(sqlite3.connect(recording)) as db:
        spans = db.execute("select s.blocked_ns, s.runnable_ns + s.preempted_ns, total(w.blocked_ns), total(w.runnable_ns + w.preempted_ns) "
                           "from span s left join span_wait w on w.span_id = s.id group by s.id").fetchall()
    env.check.equal(len(spans), 100, "single requests")
    wrong = [span for span in spans if span[0] != span[2] or span[1] != span[3]]
    missed = seen.lost.get("residual", {}).get("count", 0)
    env.check.that(len(wrong) <= missed, f"each one's waits are its own: {wrong[:4]}")


@case
def request_by_connection_within_another(env):
    """Of a slow request only its own waits are listed, not those that its thread had before, in another one that is still open."""
    recording = env.temporary("within.offcpu")
    seen = Served(env, "within", 50, "--slower", "4ms", "-o", recording)
    check_served(env, seen, 50)
    env.check.equal(seen.row["slow"]["count"], 50, "slow requests")
    seen.check_no_loss(env, "unanswered")
    listed = {"wait_before": 0, "wait_within": 0}
    for wait in env.report(recording).waits:
        for name in listed:
            listed[name] += wait["count"] if name in names(wait["user"]) else 0
    env.check.equal(listed, {"wait_before": 0, "wait_within": 50}, "waits that are listed")


@case
def request_by_connection_handed_on(env):
    """What another thread answers is in no sum, and is counted as that."""
    seen = Served(env, "handed", 50)
    env.check.equal(seen.row["requests"]["count"], 0, "requests")
    env.check.equal(seen.lost.get("handed", {}).get("count"), 50, "requests that were handed on")
    env.check.that(seen.lost.get("handed", {}).get("time_ns", 0) >= 50 * 2_000_000, f"their time: {seen.lost}")
    seen.check_no_loss(env, "handed")
    told = Served(env, "handed", 50, form="-q").text.strip().splitlines()
    env.check.equal(told[0], "50 of 50 requests moved between threads and are not in these sums", "the first line")


@case
def request_by_connection_first_line(env):
    """Where no request moves between threads no line says so."""
    told = Served(env, "plain", 50, form="-q").text
    env.check.that("100 requests in" in told.strip().splitlines()[0] and "moved between" not in told, f"the first line: {told}")


@case
def request_by_connection_unanswered(env):
    """A connection that is closed with its request read."""
    seen = Served(env, "unanswered", 50)
    env.check.equal(seen.row["requests"]["count"], 0, "requests")
    env.check.equal(seen.lost.get("unanswered", {}).get("count"), 50, "requests that nobody answered")
    seen.check_no_loss(env, "unanswered")


@case
def request_by_connection_abandoned(env):
    """The thread that received it ends: counted once, whoever answers or closes the connection, or if nobody does."""
    seen = Served(env, "abandoned", 50)
    env.check.equal(seen.row["requests"]["count"], 0, "requests")
    # joined is not yet off the CPU for the last time: what comes before that is another thread's answer
    counted = {name: seen.lost.get(name, {}).get("count", 0) for name in ("left", "handed", "unanswered")}
    env.check.equal(sum(counted.values()), 50, f"requests in no sum, {counted}")
    env.check.that(counted["left"] >= 2, f"those of the last two connections were left: {counted}")
    seen.check_no_loss(env, *counted)


@case
def request_by_datagram(env):
    """A server of datagrams, as one of DNS."""
    seen = Served(env, "datagrams", 50)
    check_served(env, seen, 50)
    seen.check_no_loss(env)


@case
def request_by_connection_slower(env):
    """Only waits of requests that took longer than any did: none is listed."""
    seen = Served(env, "plain", 50, "--slower", "1ms")
    env.check.equal(seen.row["slow"]["count"], 100, "requests of 1 ms or more")
    env.check.equal(seen.row["slow"]["wall_ns"], seen.row["requests"]["wall_ns"], "all were slow")
    seen = Served(env, "plain", 50, "--slower", "20s")
    env.check.equal(seen.row["slow"]["count"], 0, "requests of 20 s or more")


# A server that forks a worker every few milliseconds, from before the tracer is there until it has long begun.  Its port first.
FORKING = """
import os, socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
for i in range(40):
    if os.fork() == 0:
        while True:
            with server.accept()[0] as s:
                s.sendall(s.recv(100) + str(os.getpid()).encode())
    time.sleep(0.01)
print("forked", flush=True)
sys.stdin.read()
"""


@case
def request_by_connection_of_workers_forked_meanwhile(env):
    """Each worker of a server is traced, whether it was forked before the tracer looked, as that began, or later."""
    if not has_tracepoint():
        raise Skip("this kernel does not tell what sockets receive (Linux 6.3)")
    server = subprocess.Popen([sys.executable, "-c", FORKING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True)
    env.running.append(server)
    try:
        port = int(server.stdout.readline())
        out = env.temporary("forking.json")
        recorder = Recorder(env, "-p", server.pid, "--json", f"socket:{port}", verb="request", out=out)
        server.stdout.readline()
        recorder.wait_attached()
        workers = set()
        for _ in range(400):
            with socket.create_connection(("127.0.0.1", port)) as s:
                s.sendall(b"x")
                workers.add(s.recv(100))
        time.sleep(0.05)
        recorder.stop()
    finally:
        os.killpg(server.pid, signal.SIGKILL)
        server.wait()
    with open(out, encoding="utf-8") as f:
        seen = json.loads(f.read())
    env.check.that(len(workers) > 5, f"{len(workers)} workers answered")
    env.check.equal(seen["functions"][0]["requests"]["count"], 400, f"requests of {len(workers)} workers, of 40")


GO = """
package main
import ("bufio"; "fmt"; "net"; "time")
func serve(c net.Conn) {
	r := bufio.NewReader(c)
	for { if _, err := r.ReadByte(); err != nil { return }; time.Sleep(5 * time.Millisecond); c.Write([]byte("y")) }
}
func main() {
	l, _ := net.Listen("tcp", "127.0.0.1:0")
	fmt.Println(l.Addr().(*net.TCPAddr).Port)
	for { c, _ := l.Accept(); go serve(c) }
}
"""


@case
def request_by_connection_of_go(env):
    """Goroutines move: that is said, and threads without one wait for no request."""
    if not has_tracepoint():
        raise Skip("this kernel does not tell what sockets receive (Linux 6.3)")
    if not shutil.which("go"):
        raise Skip("go is not installed")
    source, binary = env.temporary("mover.go"), env.temporary("mover")
    with open(source, "w", encoding="ascii") as f:
        f.write(GO)
    built = subprocess.run(["go", "build", "-o", binary, source], capture_output=True, text=True, check=False,
                           env={**os.environ, "GO111MODULE": "off", "GOTOOLCHAIN": "local"})
    if built.returncode:
        raise Skip(f"go failed: {built.stderr.strip()[-200:]}")
    server = subprocess.Popen([binary], stdout=subprocess.PIPE, text=True)
    env.running.append(server)
    port, out = int(server.stdout.readline()), env.temporary("mover.txt")
    recorder = Recorder(env, "-p", server.pid, "--quiet", f"socket:{port}", verb="request", out=out)
    recorder.wait_attached()
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", port))) for _ in range(8)]
        for _ in range(20):
            for client in clients:
                client.sendall(b"x")
            for client in clients:
                client.recv(1)
    recorder.stop()
    server.kill()
    server.wait()
    with open(out, encoding="utf-8") as f:
        text = f.read()
    env.check.that("is a program of Go" in recorder.stderr(), f"said: {recorder.stderr()[-300:]}")
    env.check.that(f"socket:{port}" in text, f"printed: {text[:300]}")
    for reason in ("pool_idle", "event_loop"):
        env.check.that(reason not in text, f"{reason} inside of requests")


@case
def request_by_connection_bad_input(env):
    """One sentence each."""
    if not has_tracepoint():
        raise Skip("this kernel does not tell what sockets receive (Linux 6.3)")
    for spec in ("socket:", "socket:0", "socket:65536", "socket:http", "socket:-1"):
        env.check.that("socket:PORT is wanted" in refused(env, "-p", "1", spec), f"'{spec}' is refused")
    text = refused(env, "-p", "1", "socket:80", "libc:poll")
    env.check.that("does not go with functions" in text, f"a port and probes are refused: {text}")
