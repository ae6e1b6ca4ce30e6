# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Servers under load, recorded by default options: nearly all of the time has a reason, and what pools are short of is the first finding."""

import os
import shutil
import socket
import subprocess
import sys
import time

from cases_java import begin_java
from cases_reasons import of_waits
from cases_request_servers import Postgres
from cases_whole import Database
from check import names
from lib import Recorder, Skip, case, default_signals, nightly, wait_until

MAX_OTHER = 0.03  # of the off-CPU time
SECONDS = 2


def share_of(report, reason):
    rows = report.data["reasons"]
    return sum(row["off_cpu_ns"] for row in rows if row["reason"] == reason) / max(1, sum(row["off_cpu_ns"] for row in rows))


def record(env, *options):
    recorder = Recorder(env, *options, "-d", SECONDS)
    recorder.wait()
    return recorder.report()


def with_children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return ",".join([str(pid), *file.read().split()])


def check_other(env, report, what):
    other = share_of(report, "other")
    env.notes.append(f"{what}: {100 * other:.2f}% other")
    env.check.that(other <= MAX_OTHER, f"{what}: {100 * other:.2f}% of the time has no reason")


def start(env, command, **more):
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               preexec_fn=default_signals, **more)
    env.running.append(process)
    return process


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


def need(*tools):
    for tool in tools:
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")


@case
def reasons_of_mariadb(env):
    """Commits that are written for good: who waits for another's write of the redo log waits for the disk, whatever the server was stripped of."""
    need("mariadbd", "mariadb-install-db", "sysbench")
    env.tolerate_unseen()
    database = Database(env, "--innodb-flush-log-at-trx-commit=1", load="oltp_write_only")
    start(env, database.sysbench_command("run", "--threads=8", "--time=30"))
    time.sleep(1)
    report = record(env, "-p", database.process.pid)
    check_other(env, report, "MariaDB")
    commits = [wait for wait in report.waits if wait["state"] == "S" and wait["object"] and str(wait["object"]).startswith("stack of thread")
               and names(wait["user"])[-1:] == ["syscall"]]
    env.notes.append(f"{sum(wait['off_cpu_ns'] for wait in commits) / 1e9:.2f} s for another's commit")
    env.check.equal({wait["reason"] for wait in commits} - {"disk.sync", "other"}, set(), "reasons of waits for another's commit")
    for client in env.running[1:]:
        client.kill()
    database.stop()


@case
def reasons_of_postgres(env):
    server = Postgres(env)
    env.tolerate_unseen()
    server.run("pgbench", "-h", server.folder, "-i", "-q", "postgres")
    start(env, [os.path.join(server.bin, "pgbench"), "-h", server.folder, "-n", "-c", "6", "-T", "30", "postgres"], user=server.user.pw_uid)
    time.sleep(1)
    report = record(env, "-p", with_children(server.process.pid))
    check_other(env, report, "PostgreSQL")
    within = [wait for wait in report.waits if "LWLockAcquire" in names(wait["user"]) and wait["state"] == "S"]
    env.check.equal({wait["reason"] for wait in within} - {"lock.rwlock", "other"}, set(), "reasons of lightweight locks")
    first = of_waits(report)[:1]
    env.check.equal([finding["reason"] for finding in first], ["lock.other"], f"a single branch of the bank is fought for: {first}")


@case
def reasons_of_redis_and_nginx(env):
    need("redis-server", "redis-benchmark", "nginx")
    env.tolerate_unseen()
    port = free_port()
    redis = start(env, ["redis-server", "--port", str(port), "--dir", env.directory, "--appendonly", "yes", "--appendfsync", "always",
                        "--save", ""])
    wait_until(lambda: answers(port), 20, 0.05)
    start(env, ["redis-benchmark", "-p", str(port), "-c", "8", "-n", "100000000", "-t", "set"])
    time.sleep(0.5)
    report = record(env, "-p", redis.pid)
    check_other(env, report, "Redis")
    env.check.equal([finding["reason"] for finding in of_waits(report)][:1], ["disk.sync"], "Redis waits for its log")
    port = free_port()
    configuration = env.temporary("nginx.conf")
    with open(configuration, "w", encoding="utf-8") as f:
        f.write(f"daemon off; pid {env.directory}/nginx.pid; error_log {env.directory}/nginx.log; events {{ }} "
                f"http {{ access_log off; client_body_temp_path {env.directory}/b; proxy_temp_path {env.directory}/p; "
                f"fastcgi_temp_path {env.directory}/f; uwsgi_temp_path {env.directory}/u; scgi_temp_path {env.directory}/s; "
                f"server {{ listen 127.0.0.1:{port}; location / {{ return 200 ok; }} }} }}")
    nginx = start(env, ["nginx", "-c", configuration])
    wait_until(lambda: answers(port), 20, 0.05)
    start(env, [sys.executable, "-c", f"import urllib.request\nwhile True: urllib.request.urlopen('http://127.0.0.1:{port}/').read()"])
    check_other(env, record(env, "-p", with_children(nginx.pid)), "nginx")


# ---- pools that are short of something

FEW_CONNECTIONS = """
import queue, threading, time
pool = queue.Queue()
for connection in range(2):
    pool.put(connection)
def query(connection):
    time.sleep(0.02)
def handle():
    while True:
        connection = pool.get()
        try:
            query(connection)
        finally:
            pool.put(connection)
for _ in range(16):
    threading.Thread(target=handle).start()
"""
STARVED = """
import concurrent.futures, time
pool = concurrent.futures.ThreadPoolExecutor(4)
def leaf():
    return 1
def parent():
    time.sleep(0.3)
    return pool.submit(leaf).result()
for _ in range(4):
    pool.submit(parent)
time.sleep(60)
"""
JAVA_POOL = """
import java.util.concurrent.*;

class Service {
    static final BlockingQueue<Integer> pool = new ArrayBlockingQueue<>(2);
    static void query() throws Exception { Thread.sleep(20); }
    static Integer borrow() throws Exception { return pool.take(); }
    static void giveBack(Integer connection) throws Exception { pool.put(connection); }
    static void handle() throws Exception {
        Integer connection = borrow();
        try { query(); } finally { giveBack(connection); }
    }
    static void work() { try { for (;;) handle(); } catch (Exception e) { } }
    public static void main(String[] words) throws Exception {
        pool.add(1);
        pool.add(2);
        for (int i = 0; i < 16; i++)
            new Thread(Service::work, "pooled-" + i).start();
    }
}
"""


def first_of(env, pid, what):
    findings = of_waits(record(env, "-p", pid))
    return findings[0] if env.check.that(findings, f"{what}: no finding") else None


def check_pool(env, first, function, what):
    """16 threads share two places: they wait for one another, and not for work."""
    if not first:
        return
    by = first["by"] or {}
    env.check.equal((first["reason"], (first["function"] or {}).get("name")), ("lock.condition", function), f"{what}: the first finding")
    env.check.equal(by.get("meanwhile"), "sleep", f"{what}: what those mostly do who give back: {by}")


@case
def pool_of_two_connections_for_sixteen_threads(env):
    env.tolerate_unseen()
    python = start(env, ["python3", "-c", FEW_CONNECTIONS])
    wait_until(lambda: len(os.listdir(f"/proc/{python.pid}/task")) == 17, 20)
    time.sleep(0.5)
    first = first_of(env, python.pid, "Python")
    if first:
        first["reason"] = {"lock.semaphore": "lock.condition"}.get(first["reason"], first["reason"])  # Python makes both of one lock
    check_pool(env, first, "handle", "Python")
    python.kill()
    need("java", "javac")
    java = begin_java(env, JAVA_POOL)
    wait_until(lambda: any("pooled-15" in line for line in comms(java.pid)), 60)
    time.sleep(1)
    check_pool(env, first_of(env, java.pid, "Java"), "Service.borrow", "Java")


def comms(pid):
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8", errors="replace") as file:
                found.append(file.read().strip())
        except OSError:
            pass
    return found


@case
@nightly
def pool_starved_by_its_own_tasks(env):
    env.tolerate_unseen()
    python = start(env, ["python3", "-c", STARVED])
    wait_until(lambda: len(os.listdir(f"/proc/{python.pid}/task")) == 5, 20)
    time.sleep(1)
    first = first_of(env, python.pid, "a starved pool")
    if first:
        env.check.equal((first["rule"], (first["function"] or {}).get("name"), first["threads"]), ("python-future-in-worker", "parent", 4),
                        "a starved pool")
