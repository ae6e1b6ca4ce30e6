# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""offcpu io --slower and --stacks: slow file operations against the program's own clock and count."""

import fcntl
import json
import mmap
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import threading
import time

import check as bounds
from cases_whole import Database
from lib import Broken, Program, Skip, case, default_signals, wait_until

SLOWER_NS = 10_000_000
UNITS = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9, "m": 60e9}
ROUNDING = 0.006    # of three digits
DURATION = r"(>?[\d.]+(?: (?:ns|us|ms|s|m))?|-)"
LINE = re.compile(r"\d\d:\d\d:\d\d\.\d{3} +(\d+) +(\d+) (.{22}) (\S+) +(\S+) +" + " +".join([DURATION] * 4) + r"  (.*)$")
ROW = re.compile(r"(\S+) +([\d,]+) +" + " +".join([DURATION] * 6) + r"  (/.*|-)$")
READS = 300
BLOCK = 4096


def nanoseconds(text):
    value, _, unit = text.lstrip(">").partition(" ")
    return 0 if value in ("-", "0") else float(value) * UNITS[unit]


class Line:
    """One operation as it was printed."""

    def __init__(self, match):
        self.pid, self.tid = int(match[1]), int(match[2])
        self.who, self.op, self.bytes = match[3].strip(), match[4], match[5]
        self.is_open = match[6].startswith(">")
        self.ns, self.blocked_ns, self.runq_ns, self.disk_ns = (nanoseconds(match[i]) for i in range(6, 10))
        self.path = match[10]


class Watched:
    """`offcpu io` in the background, with its output in a file; it has attached when it has printed its heading."""

    def __init__(self, env, *options):
        self.path = env.temporary("io.txt")
        self.errors = env.temporary("io.stderr")
        with open(self.path, "wb") as out, open(self.errors, "wb") as errors:
            self.process = subprocess.Popen([env.offcpu, "io", *options], stdin=subprocess.DEVNULL, stdout=out, stderr=errors,
                                            preexec_fn=default_signals)
        env.running.append(self.process)
        if "--stacks" in options or "--json" in options:
            if not wait_until(self._is_asleep_with_links, 60):
                raise Broken("offcpu io attached nothing")
        elif not wait_until(lambda: self.text() or self.process.poll() is not None, 60):
            raise Broken("offcpu io printed no heading")

    def _is_asleep_with_links(self):
        folder = f"/proc/{self.process.pid}"
        try:
            links = sum("bpf_link" in os.readlink(f"{folder}/fd/{fd}") or "bpf-link" in os.readlink(f"{folder}/fd/{fd}")
                        for fd in os.listdir(f"{folder}/fd"))
            with open(f"{folder}/wchan", encoding="ascii") as f:
                return links >= 5 and "nanosleep" in f.read()
        except OSError:
            return False

    def text(self):
        with open(self.path, encoding="utf-8", errors="replace") as f:
            return f.read()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        if self.process.returncode != 0:
            with open(self.errors, encoding="utf-8", errors="replace") as f:
                raise Broken(f"offcpu io exited with {self.process.returncode}: {f.read()[-400:]}")
        self.out = self.text()
        matches = [LINE.match(line) for line in self.out.splitlines()]
        self.lines = [Line(match) for match in matches if match]
        return self.out

    def rows(self):
        """Of the table at the end: (operation, path) -> how many."""
        matches = [ROW.match(line) for line in self.out.splitlines()]
        return {(match[1], match[9]): int(match[2].replace(",", "")) for match in matches if match}


@case
def slow_file_operations(env):
    """Each slow operation is one line with its own latency; a pipe that is as slow is none, and fast reads are none."""
    folder = env.temporary("files")
    os.mkdir(folder)
    program = Program(env, "slow_files", folder, 4)
    watched = Watched(env, "--slower", "10ms", "-p", str(program.pid), "--top", "100")
    program.go()
    program.wait_done()
    out = watched.stop()
    program.finish()
    truth = program.truth()
    ops = [t for t in truth if t["kind"] == "op"]
    if not truth[0]["is_there"]:
        env.notes.append("no FUSE here: a lock only")
    if "page faults on mapped files (" in out:     # it says that this kernel does not tell of them
        env.notes.append("no page faults on this kernel")
        ops = [t for t in ops if t["op"] != "fault"]
    check = env.check
    check.that("lost" not in out, out[-2000:])
    rows = watched.rows()
    shares = []
    for key in sorted({(t["op"], t["path"]) for t in ops}):
        mine = [t for t in ops if (t["op"], t["path"]) == key]
        seen = [line for line in watched.lines if (line.op, line.path) == key and line.tid == mine[0]["tid"]]
        if not check.that(len(seen) == len(mine), f"{key}: {len(seen)} lines for {len(mine)} operations:\n{out[-3000:]}"):
            continue
        check.that(rows.get(key) == len(mine), f"{key}: a count of {rows.get(key)} for {len(mine)}:\n{out[-2000:]}")
        for line, true in zip(seen, mine):
            what = f"{key}: {line.ns} ns, by its own clock {true['ns']}, at least {true['least_ns']}"
            check.that(true["least_ns"] * (1 - ROUNDING) <= line.ns <= true["ns"] * (1 + ROUNDING), what)
            check.that(line.blocked_ns + line.runq_ns <= line.ns * (1 + 2 * ROUNDING), what)
            # the other side sleeps for so long, and so does this thread
            check.that(line.blocked_ns + line.runq_ns >= true["least_ns"] * 0.9, f"{what}; blocked {line.blocked_ns}")
            wanted = {"read": "4096", "pwrite": "512", "stat": "ENOENT"}.get(true["op"], "-")
            check.that(line.bytes == wanted, f"{key}: bytes {line.bytes}")
            shares.append(line.ns / true["ns"])
    if shares:
        check.that(statistics.median(shares) > 1 - 2 * bounds.TOLERANCE, f"half of the latencies are below {statistics.median(shares):.3f} of their own")
    fast = [line for line in watched.lines if line.op == "pread" and line.ns < SLOWER_NS * (1 - ROUNDING)]
    check.that(not fast, f"{len(fast)} fast reads are listed")
    check.that(all(line.path.startswith("/") for line in watched.lines), "a pipe is listed as a file")
    check.that(re.search(r"\d slow calls? on (a socket|sockets), pipe", out) is not None, f"no word of the pipe: {out[-800:]}")


@case
def file_operations_are_counted(env):
    """Of direct reads every one is listed, with the time that the disk was at work for it."""
    path = env.disk_file()
    memory = mmap.mmap(-1, BLOCK)
    try:
        with open(path, "wb") as f:
            f.write(os.urandom(1024 * BLOCK))
            os.fsync(f.fileno())
        try:
            fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
        except OSError as error:
            raise Skip(f"no direct I/O here: {error}") from error
        watched = Watched(env, "--slower", "0", "-p", str(os.getpid()))
        begin = time.monotonic_ns()
        for i in range(READS):
            os.preadv(fd, [memory], i * 7919 % 1024 * BLOCK)
        took_ns = time.monotonic_ns() - begin
        out = watched.stop()
        os.close(fd)
    finally:
        os.unlink(path)
    mine = [line for line in watched.lines if line.op in ("preadv", "preadv2") and line.path == path]
    env.check.that(len(mine) == READS, f"{len(mine)} lines for {READS} reads")
    env.check.that("lost" not in out, out[-800:])
    env.check.that(all(line.bytes == str(BLOCK) for line in mine), "not all have their bytes")
    env.check.that(sum(line.ns for line in mine) <= took_ns * (1 + ROUNDING), f"more than the {took_ns} ns that all took")
    with_disk = [line for line in mine if line.disk_ns]
    env.check.that(all(line.disk_ns <= line.ns * (1 + ROUNDING) for line in mine), "the disk took longer than the operation")
    if not with_disk:
        env.notes.append("no requests to disks are seen here")
    else:
        env.check.that(len(with_disk) > 0.98 * READS, f"{len(with_disk)} of {READS} reads have the disk's time")
        env.check.that(sum(line.disk_ns for line in mine) > 0.5 * sum(line.blocked_ns for line in mine), "the disk's time is little")


@case
def file_operations_at_the_edges(env):
    """What began before the window and what goes on after it are told of, and marked."""
    path = env.temporary("lock")
    fds = [os.open(path, os.O_RDWR | os.O_CREAT) for _ in range(3)]
    fcntl.flock(fds[0], fcntl.LOCK_EX)
    waiters = [threading.Thread(target=fcntl.flock, args=(fd, fcntl.LOCK_EX)) for fd in fds[1:]]
    waiters[0].start()
    time.sleep(0.3)
    watched = Watched(env, "--slower", "50ms", "-p", str(os.getpid()))
    time.sleep(0.5)
    fcntl.flock(fds[0], fcntl.LOCK_UN)      # the first one has it
    waiters[0].join()
    waiters[1].start()
    time.sleep(0.5)
    out = watched.stop()
    fcntl.flock(fds[1], fcntl.LOCK_UN)
    waiters[1].join()
    for fd in fds:
        os.close(fd)
    mine = [line for line in watched.lines if line.op == "flock" and line.path == path]
    env.check.that(len(mine) == 2 and all(line.is_open for line in mine), f"not two marked lines: {out}")
    env.check.that(all(line.ns > 0.4e9 for line in mine), f"too short: {out}")
    env.check.that("1 of them still going on" in out and "1 begun before" in out, out[-800:])


@case
def file_operations_by_stack(env):
    """By place: the program's functions, the wait in the kernel; folded, and as a recording that says what it is."""
    folder = env.temporary("files")
    os.mkdir(folder)
    program = Program(env, "slow_files", folder, 3)
    recording = env.temporary("files.offcpu")
    watched = Watched(env, "--stacks", "--slower", "10ms", "-p", str(program.pid), "-o", recording, "--top", "50")
    program.go()
    program.wait_done()
    out = watched.stop()
    program.finish()
    truth = program.truth()
    locks = [t for t in truth if t["kind"] == "op" and t["op"] == "flock"]
    place = re.search(rf"  flock of {re.escape(locks[0]['path'])}\n     (\d+) operations?; blocked .*\n((?:       .*\n)+)", out)
    if not env.check.that(place is not None, f"no place of the lock: {out[:3000]}"):
        return
    env.check.that(int(place[1]) == len(locks), f"{place[1]} operations for {len(locks)}")
    env.check.that("flock" in place[2] and "lock_round" in place[2] and "main" in place[2], place[2])
    report = subprocess.run([env.offcpu, "report", recording], capture_output=True, text=True, timeout=60, check=False)
    env.check.that(report.returncode == 0 and "Recorded  offcpu io: file operations" in report.stdout and "off CPU" not in report.stdout and "lock_round" in report.stdout,
                   report.stdout[:800] + report.stderr[-400:])


@case
def file_faults_of_cold_pages(env):
    """Each page of a mapped file that had to be read is one operation, of the place that touched it, within the program's own time."""
    pages = 120
    path = env.disk_file()
    program = Program(env, "fault", path, pages)
    watched = Watched(env, "--slower", "0", "-p", str(program.pid))
    program.go()
    program.wait_done()
    out = watched.stop()
    program.finish()
    own = next(t for t in program.truth() if t["kind"] == "fault")
    lines = [line for line in watched.lines if line.op == "fault" and line.path == f"{path} (deleted)"]
    # a disk that is fast may be done before the thread would have slept
    if own["slept"] < pages / 2:
        raise Skip(f"only {own['slept']} of {pages} pages were waited for")
    env.check.that("lost" not in out, out[-800:])
    env.check.that(own["slept"] * 0.98 <= len(lines) <= pages, f"{len(lines)} lines for {pages} pages, of which {own['slept']} slept: {out[-800:]}")
    took_ns = sum(line.ns for line in lines)
    env.check.that(0.6 * own["wall_ns"] <= took_ns <= own["wall_ns"] * (1 + ROUNDING), f"{took_ns} ns of {own['wall_ns']}")
    env.check.that(all(line.bytes == "-" and line.tid == own["tid"] for line in lines), out[:600])
    env.notes.append(f"{len(lines)} of {pages}, {took_ns / own['wall_ns']:.3f} of the time by its own clock")


# Sends the first bytes of cold pages of a mapped file over a socket: the kernel faults them in.  How often it slept, and how long all took.
SENDS = """
import mmap, os, resource, socket, sys, time
pages, path, apart = int(sys.argv[1]), sys.argv[2], 65536
with open(path, "wb") as f:
    f.write(os.urandom(pages * apart))
    os.fsync(f.fileno())
file = os.open(path, os.O_RDONLY)
os.unlink(path)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
memory = mmap.mmap(file, pages * apart, prot=mmap.PROT_READ)
memory.madvise(mmap.MADV_RANDOM)
ours, theirs = socket.socketpair()
print("ready", flush=True)
sys.stdin.readline()
slept = took = 0
for i in range(pages):
    page = memoryview(memory)[i * apart:i * apart + 512]
    switches, start = resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw, time.monotonic_ns()
    ours.send(page)
    took += time.monotonic_ns() - start
    slept += resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw > switches
    theirs.recv(4096)
print(slept, took, flush=True)
sys.stdin.readline()
"""


@case
def file_faults_in_a_call_on_no_file(env):
    """send() from a mapped file: the fault in it is an operation of its own if it had to wait."""
    pages, path = 60, env.disk_file()
    program = subprocess.Popen([sys.executable, "-c", SENDS, str(pages), path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                               preexec_fn=default_signals)
    env.running.append(program)
    program.stdout.readline()
    watched = Watched(env, "--slower", "0", "-p", str(program.pid))
    program.stdin.write("go\n")
    program.stdin.flush()
    slept, took_ns = map(int, program.stdout.readline().split())
    out = watched.stop()
    program.communicate()
    if slept < pages / 2:
        raise Skip(f"only {slept} of {pages} pages were waited for")
    lines = [line for line in watched.lines if line.op == "fault" and line.path == f"{path} (deleted)"]
    env.check.that(slept * 0.9 <= len(lines) <= pages, f"{len(lines)} lines for {pages} pages, of which {slept} slept: {out[-800:]}")
    env.check.that(sum(line.ns for line in lines) <= took_ns * (1 + ROUNDING), f"{sum(line.ns for line in lines)} ns of {took_ns}")
    env.notes.append(f"{len(lines)} of {pages}, {slept} of them slept")


@case
def file_operations_as_json(env):
    """Each operation is a JSON object, and the last line adds them up; by stack the places add up to the same."""
    folder = env.temporary("files")
    os.mkdir(folder)
    for options, has_lines in ((("--slower", "10ms"), True), (("--stacks", "--slower", "10ms"), False)):
        program = Program(env, "slow_files", folder, 2)
        watched = Watched(env, *options, "--json", "-p", str(program.pid), "-o", env.temporary("json.offcpu"))
        program.go()
        program.wait_done()
        out = watched.stop()
        program.finish()
        rows = [json.loads(line) for line in out.splitlines()]
        ops = [row for row in rows if row["type"] == "operation"]
        end = rows[-1]
        env.check.that(all(row["schema"] == "offcpu.io/1" for row in rows) and end["type"] == "files", out[:400])
        truth = [t for t in program.truth() if t["kind"] == "op"]
        for t in truth if has_lines else []:
            mine = [op for op in ops if op["op"] == t["op"] and op["file"] == t["path"] and op["tid"] == t["tid"]]
            env.check.that(any(t["least_ns"] <= op["latency_ns"] <= t["ns"] for op in mine), f"{t}: {mine}")
            env.check.that(all(op["latency_ns"] == op["blocked_ns"] + op["runq_ns"] + op["on_cpu_ns"] for op in mine), f"{mine}")
        parts = ops if has_lines else end["places"]
        for key in ("latency_ns", "blocked_ns", "runq_ns", "on_cpu_ns", "disk_requests"):
            env.check.that(sum(part[key] for part in parts) == end[key], f"{key}: {end[key]}, {sum(part[key] for part in parts)}")
            env.check.that(sum(part[key] for part in end["files"]) == end[key], f"{key} by file")
        env.check.that(end["count"] == len(ops) or not has_lines, f"{end['count']} operations in {len(ops)} lines")
        if not has_lines:
            locks = [place for place in parts if place["op"] == "flock"]
            env.check.that(locks and "lock_round" in locks[0]["user"] and locks[0]["user"].index("main") < locks[0]["user"].index("lock_round"), f"{locks}")
            env.check.that(sum(cnt for place in parts for _, cnt in place["log2_ns"]) == end["count"], "the distributions are of other numbers")


@case
def file_operations_of_mariadb(env):
    """The server counts its fsyncs itself, and so many are seen; those of its log are as many as its writes to it at least."""
    if not all(map(shutil.which, ("mariadbd", "mariadb-install-db", "sysbench"))):
        raise Skip("MariaDB or sysbench is not installed")
    database = Database(env, "--innodb-flush-log-at-trx-commit=1", load="oltp_write_only")
    watched = Watched(env, "--slower", "0", "-p", str(database.process.pid), "--top", "1000")
    before = database.number("Innodb_data_fsyncs")
    load = subprocess.run(database.sysbench_command("run", "--threads=4", "--time=3"), stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=120, check=False)
    after = database.number("Innodb_data_fsyncs")
    out = watched.stop()
    database.stop()
    if load.returncode != 0:
        raise Skip(f"sysbench: {load.stderr[-200:]}")
    fsyncs = [line for line in watched.lines if line.op in ("fsync", "fdatasync")]
    rows = sum(cnt for (op, _), cnt in watched.rows().items() if op in ("fsync", "fdatasync"))
    told = after - before
    env.notes.append(f"{told} fsyncs by the server's counter, {len(fsyncs)} seen")
    env.check.that("lost" not in out, out[-2000:])
    env.check.that(told > 20, f"only {told} fsyncs")
    # the window is a little longer than the time between the two readings
    env.check.that(0 <= len(fsyncs) - told <= 5 + 0.005 * told, f"{len(fsyncs)} for {told}")
    env.check.that(rows == len(fsyncs), f"{rows} in the table for {len(fsyncs)} lines")
    env.check.that(all("ib_logfile0" in line.path or line.path.startswith(database.data) or "/#" in line.path for line in fsyncs),
                   {line.path for line in fsyncs})


@case
def file_operations_by_io_uring(env):
    """Each read that a worker of io_uring's does is a line of the submitter's, within the time that the submitter waited for it."""
    cnt = 500
    program = Program(env, "io_worker", cnt)
    watched = Watched(env, "--slower", "0", "-p", str(program.pid))
    program.go()
    program.wait_done()
    out = watched.stop()
    program.finish()
    own = next(t for t in program.truth() if t["kind"] == "io_uring")
    lines = [line for line in watched.lines if line.op == "uring_read"]
    env.check.that("lost" not in out, out[-600:])
    # the program may try a call once more that a signal ended
    env.check.that(cnt <= len(lines) <= cnt * 1.1, f"{len(lines)} lines for {cnt} reads: {out[-600:]}")
    env.check.that(all(line.bytes == str(BLOCK) and line.path.endswith("/io_worker") for line in lines), out[:600])
    env.check.that(all(line.tid == own["tid"] for line in lines), out[:600])
    took_ns = sum(line.ns for line in lines)
    env.check.that(0 < took_ns <= own["wall_ns"] * (1 + ROUNDING), f"{took_ns} ns of {own['wall_ns']}")
    env.notes.append(f"{took_ns / own['wall_ns']:.3f} of the time from the call to its return")


@case
def direct_operations_by_io_uring(env):
    """Slow ones that are submitted inline, with the disk's part: the same number of requests as of operations."""
    path = env.disk_file()
    program = Program(env, "uring_files", path, READS)
    watched = Watched(env, "--slower", "0", "-p", str(program.pid), "--top", "20")
    program.go()
    program.wait_done()
    out = watched.stop()
    program.finish()
    truth = program.truth()
    if not truth:
        raise Skip("no direct I/O or no io_uring here")
    rows = watched.rows()
    for own in truth:
        lines = [line for line in watched.lines if (line.op, line.path) == (own["op"], path)]
        what = f"{own['op']}: {len(lines)} lines of {sum(line.ns for line in lines)} ns for {own['calls']} of {own['ns']} ns"
        env.check.that(len(lines) == own["calls"] and rows.get((own["op"], path)) == own["calls"], f"{what}: {out[-1500:]}")
        env.check.that(sum(line.ns for line in lines) <= own["ns"] * (1 + ROUNDING), what)
        env.check.that(all(line.disk_ns <= line.ns * (1 + ROUNDING) for line in lines), f"{what}: the disk took longer")
        if own["op"] != "uring_fsync":
            with_disk = sum(line.disk_ns > 0 for line in lines)
            env.check.that(with_disk in (0, len(lines)) or with_disk > 0.98 * len(lines), f"{what}: {with_disk} with a disk")
        env.notes.append(what)
