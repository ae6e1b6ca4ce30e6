# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The whole machine, and the same load seen by another tool."""

import collections
import contextlib
import os
import re
import shutil
import signal
import subprocess
import time

from check import EDGE_LOSSES, check_account, check_truth
from lib import Program, Recorder, Skip, case, default_signals, descriptors, guarded_processes, nightly, threads_of_machine, wait_until


@case
def whole_machine(env):
    """Under a mixed load: every thread that lived throughout is there, in full, and nothing is left over."""
    programs = [Program(env, "hog", os.cpu_count(), 1500), Program(env, "pipe", "processes", 5000),
                Program(env, "nanosleep", 200, 5000), Program(env, "churn", 300, 20, 2000),
                Program(env, "sleeper")]
    env.tolerate_unseen()
    before = threads_of_machine()
    recorder = Recorder(env, "-a", "--exact")
    recorder.wait_attached()
    for program in programs[:-1]:
        program.go()
    for program in programs[:-1]:
        program.wait_done()
    after = threads_of_machine()
    recorder.stop()
    report = recorder.report()
    check_account(env.check, report, allowed_losses=EDGE_LOSSES)
    throughout = {key for key, (start, _) in before.items() if after.get(key, (None,))[0] == start}
    hidden = guarded_processes()
    throughout = {key for key in throughout if key[0] != recorder.process.pid and key[0] not in hidden}
    env.notes.append(f"{len(throughout)} threads lived throughout")
    env.check.equal({key: name_of(key) for key in throughout - set(report.rows)}, {}, "threads missing")
    duration_ns = report.window["duration_ns"]
    for key in throughout & set(report.rows):
        observed_ns = sum(row["observed_ns"] for row in report.rows[key])
        env.check.equal(observed_ns, duration_ns, f"thread {report.rows[key][0]['comm']} {key}: observed")
    env.check.equal([row["comm"] for row in report.threads if row["pid"] == 0], [], "idle threads in the report")
    env.check.equal([row["comm"] for row in report.threads if row["pid"] == recorder.process.pid], [],
                    "the tracer's own threads")
    on_cpu_ns = sum(row["on_cpu_ns"] for row in report.threads)
    env.check.that(on_cpu_ns <= duration_ns * os.cpu_count(), f"{on_cpu_ns} ns on CPU exceed what the CPUs have")
    for program in (programs[1], programs[2]):
        for line in program.truth():
            check_truth(env.check, report, line, busy=program is programs[1])
    for program in programs:
        program.finish()


def name_of(key):
    try:
        with open(f"/proc/{key[0]}/task/{key[1]}/comm", encoding="utf-8", errors="replace") as f:
            return f.read().strip()
    except OSError:
        return "gone"


# -- the same load seen by libbpf-tools' offcputime ------------------------------

class Database:
    """A MariaDB of its own in a temporary folder, with one new thread for each connection."""

    def __init__(self, env, *options, load="oltp_read_write"):
        self.env, self.load = env, load
        self.folder = env.temporary("mariadb")
        os.mkdir(self.folder)
        self.data, self.socket = os.path.join(self.folder, "data"), os.path.join(self.folder, "s")
        self._run(["mariadb-install-db", "--no-defaults", "--user=root", "--auth-root-authentication-method=normal",
                   "--skip-test-db", f"--datadir={self.data}"], 60)
        self.process = subprocess.Popen(
            ["mariadbd", "--no-defaults", "--user=root", f"--datadir={self.data}", f"--socket={self.socket}",
             "--skip-networking", "--thread-cache-size=0", "--innodb-flush-log-at-trx-commit=2",
             f"--pid-file={self.folder}/pid", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=default_signals)
        env.running.append(self.process)
        if not wait_until(lambda: os.path.exists(self.socket), 20, 0.05):
            raise Skip("mariadbd did not come up")
        self._run(["mariadb", "--no-defaults", f"--socket={self.socket}", "-uroot", "-e", "create database sbtest"], 20)
        self._run(self.sysbench_command("prepare"), 60)

    def number(self, name):
        """Of the server's own counters."""
        result = subprocess.run(["mariadb", "--no-defaults", f"--socket={self.socket}", "-uroot", "-N", "-e",
                                 f"show global status like '{name}'"], capture_output=True, text=True, timeout=20, check=False)
        words = result.stdout.split()
        if len(words) != 2 or not words[1].isdigit():
            raise Skip(f"no counter {name} here")
        return int(words[1])

    @staticmethod
    def _run(command, timeout_s):
        result = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s,
                                check=False)
        if result.returncode != 0:
            raise Skip(f"{command[0]} failed: {(result.stderr or result.stdout).strip()[-200:]}")

    def sysbench_command(self, verb, *options):
        return ["sysbench", self.load, f"--mysql-socket={self.socket}", "--mysql-user=root",
                "--mysql-db=sbtest", "--tables=2", "--table-size=5000", *options, verb]

    def client(self, *options):
        """A process that will be sysbench, but stands still: its number is known before it runs."""
        client = subprocess.Popen(["sh", "-c", 'kill -STOP $$; exec "$@"', "sh", *self.sysbench_command("run", *options)],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.env.running.append(client)
        return client

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(20)


@contextlib.contextmanager
def real_time():
    """This process gets a CPU whenever it wants one; its children do not."""
    policy, param = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(2))
    except PermissionError as error:
        raise Skip("no real-time priority is to be had") from error
    try:
        yield
    finally:
        os.sched_setscheduler(0, policy, param)


@case
@nightly
def ends_among_ten_thousand(env):
    """
    Ten thousand threads that want 10 ms of sleep each and hardly get a turn between: the scheduler forgets who
    asks seldom, and RCU waits seconds for whoever was preempted.  The recorder ends all the same, with every thread.
    """
    cnt = 10000
    load = subprocess.Popen([os.path.join(env.programs, "sleepers"), str(cnt), "10"], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    env.running.append(load)
    if load.stdout.readline() != b"ready\n":
        raise Skip(f"{cnt} threads cannot be made")
    with real_time():
        load.send_signal(signal.SIGSTOP)  # the dynamic linker alone would need up to a minute among them
        recorder = Recorder(env, "-a")
        attached = wait_until(lambda: any("bpf_link" in target or "bpf-link" in target
                                          for target in descriptors(recorder.process.pid).values()), 60)
        load.send_signal(signal.SIGCONT)
        time.sleep(3)
        begin = time.monotonic()
        status = recorder.stop(timeout_s=120)  # 8 s with two busy threads of the highest priority beside it
        env.notes.append(f"ended after {time.monotonic() - begin:.1f} s")
    load.kill()
    load.wait()
    env.check.that(attached, "not attached within 60 s")
    env.check.equal(status, 0, "exit status")
    report = recorder.report()
    rows = [row for row in report.threads if row["pid"] == load.pid]
    env.check.that(len(rows) >= cnt, f"{len(rows)} of {cnt} threads")
    # A switch that the kernel hides from tracing (see tolerate_unseen) leaves a little.
    share = report.coverage["residual_abs_ns"] / max(1, report.coverage["observed_ns"])
    env.check.that(share < 0.001, f"residual {100 * share:.3f}% of the time observed")


class Peer:
    """libbpf-tools' offcputime on one process: it takes but one."""

    def __init__(self, env, path, pid):
        self.output = env.temporary("peer.txt")
        with open(self.output, "wb") as f:
            self.process = subprocess.Popen(
                [path, "-p", str(pid), "--stack-storage-size", "65536", "--perf-max-stack-depth", "1"],
                stdin=subprocess.DEVNULL, stdout=f, stderr=subprocess.DEVNULL, preexec_fn=default_signals)
        env.running.append(self.process)
        if not wait_until(lambda: self.attached() or self.process.poll() is not None, 15) or not self.attached():
            raise Skip("the peer attached nothing")

    def attached(self):
        return any("bpf_link" in target for target in descriptors(self.process.pid).values())

    def totals_us(self):
        """{tid: microseconds}, from blocks that end in `-  COMM (TID)` and the value on a line of its own."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(60)
        with open(self.output, encoding="utf-8", errors="replace") as f:
            found = re.findall(r"^ +- +.* \((\d+)\)\n +(\d+)$", f.read(), re.MULTILINE)
        if len(found) > 9000:
            raise Skip(f"the peer's table was full or nearly so, with {len(found)} sums")
        totals = collections.Counter()
        for tid, value in found:
            totals[int(tid)] += int(value)
        return totals


@case
def peer_agrees(env):
    """
    A MariaDB under sysbench, seen at once by us and by libbpf-tools' offcputime: the time
    off CPU of the server and of the client agree within 2%.

    The two differ at the edges, by SEMANTICS.md: we count a wait that began before the window
    or lasts beyond it, the peer only one that began and ended while it traced.  So the threads
    compared are those that were born and died while both were tracing: the client's, and the
    server's connection threads (its thread cache is off), not the first threads of either.
    Their waits are the same set but for
    - the first one, from fork to first run: we count it as runnable, the peer has seen no
      switch-out and does not.  It is the only wait of state R with runnable time, and is left
      out here;
    - the last one: a dead thread is switched out and never in again; neither counts it;
    - what the peer rounds: it divides each wait by 1000 before it adds, so it loses half a
      microsecond a wait on average and drops waits below 1 us.  Half a microsecond for each of
      our waits is taken off.
    The peer keeps 10,240 sums, one for each thread and pair of stacks, and loses silently what
    is beyond.  So it walks one frame only, which is enough for totals, the load is held at 150
    transactions (some 6,000 waits) a second, and the case is skipped if the table was full.
    It prints thread ids, which our threads map to processes.
    """
    peer = shutil.which("offcputime", path="/usr/sbin:/usr/share/bcc/tools:" + os.environ.get("PATH", ""))
    for tool, path in (("libbpf-tools' offcputime", peer), ("mariadbd", shutil.which("mariadbd")),
                       ("sysbench", shutil.which("sysbench"))):
        if not path:
            raise Skip(f"{tool} is not installed")
    if b"stack-storage-size" not in subprocess.run([peer, "--help"], capture_output=True, check=False).stdout:
        raise Skip(f"{peer} is not libbpf-tools'")
    env.tolerate_unseen()
    database = Database(env)
    client = database.client("--threads=8", "--time=5", "--rate=150")
    processes = {database.process.pid: "server", client.pid: "client"}
    recorder = Recorder(env, "-p", ",".join(map(str, processes)), "--exact")
    recorder.wait_attached()
    peers = [Peer(env, peer, pid) for pid in processes]
    time.sleep(0.5)
    client.send_signal(signal.SIGCONT)
    if client.wait(30) != 0:
        raise Skip(f"sysbench ended with {client.returncode}")
    time.sleep(0.3)
    recorder.stop()
    theirs_us = collections.Counter()
    for one in peers:
        theirs_us += one.totals_us()
    report = recorder.report()
    database.stop()
    check_account(env.check, report)
    compare_processes(env, report, theirs_us, processes)


def compare_processes(env, report, theirs_us, processes):
    ours_ns, peer_ns, threads = collections.Counter(), collections.Counter(), collections.Counter()
    for key, rows in report.rows.items():
        row = rows[0]
        name = processes.get(row["pid"])
        whole_life = len(rows) == 1 and not row["open_at_start"] and not row["open_at_end"] and \
            row["observed_ns"] < report.window["duration_ns"]
        if not name or not whole_life:
            continue
        threads[name] += 1
        peer_ns[name] += theirs_us[key[1]] * 1000
        for wait in report.by_thread[key]:
            born = wait["state"] == "R" and wait["preempted_ns"] == 0
            if not born and not wait["open_at_end"]:
                ours_ns[name] += wait["off_cpu_ns"] - 500 * wait["count"]
    for name in ("server", "client"):
        env.check.that(threads[name] >= 8, f"{name}: only {threads[name]} threads lived inside the window")
        env.notes.append(f"{name}: {threads[name]} threads, ours {ours_ns[name]} ns, peer {peer_ns[name]} ns")
        env.check.that(abs(ours_ns[name] - peer_ns[name]) <= 0.02 * ours_ns[name],
                       f"{name}: ours {ours_ns[name]} ns, peer {peer_ns[name]} ns")
