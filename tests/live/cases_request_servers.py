# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu request` on servers: a slow query that was planted in MariaDB, each transaction of PostgreSQL, each request of Redis and nginx."""

import glob
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import time

from cases_request_socket import has_tracepoint
from cases_whole import Database
from check import names
from lib import Broken, Recorder, Skip, case, default_signals, nightly, wait_until


def summary(recorder, path):
    recorder.stop()
    if recorder.process.returncode:
        raise Broken(f"`{recorder.line}` exited with {recorder.process.returncode}: {recorder.stderr()}")
    with open(path, encoding="utf-8") as f:
        return json.loads(f.read())


@case
def request_slow_query(env):
    """Beside thousands of quick queries three sleep for 0.2 s: --slower shows those and no others."""
    for tool in ("mariadbd", "mariadb-install-db", "sysbench"):
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")
    database = Database(env)
    out, recording = env.temporary("slow.json"), env.temporary("slow.offcpu")
    client = database.client("--threads=2", "--time=20")
    os.waitid(os.P_PID, client.pid, os.WSTOPPED)
    client.send_signal(signal.SIGCONT)
    sleeps = ["mariadb", "--no-defaults", f"--socket={database.socket}", "-uroot", "-e", "select sleep(30)"]
    env.running.append(subprocess.Popen(sleeps, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    time.sleep(1)
    recorder = Recorder(env, "-p", database.process.pid, "--json", "--slower", "150ms", "-o", recording, "dispatch_command", verb="request",
                        out=out)
    recorder.wait_attached()
    for _ in range(3):
        subprocess.run(["mariadb", "--no-defaults", f"--socket={database.socket}", "-uroot", "-e", "select sleep(0.2)"], check=True,
                       stdout=subprocess.DEVNULL, timeout=30)
    with subprocess.Popen(sleeps, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as hangs:
        time.sleep(0.7)
        summed = summary(recorder, out)
        hangs.kill()
    row = summed["functions"][0]
    client.kill()
    database.stop()
    env.notes.append(f"{row['requests']['count']} queries")
    env.check.that(row["requests"]["count"] > 100, f"{row['requests']['count']} queries")
    env.check.that(row["slow"]["count"] >= 3, f"{row['slow']['count']} slow queries")
    still = summed["still_open"]
    env.check.that(still["count"] >= 2 and 0.7e9 < still["longest_ns"] < 20e9 and "dispatch_command" in still["function"],
                   f"two still run, one since before there were probes: {still}")
    told = subprocess.run([env.offcpu, "report", recording], capture_output=True, text=True, timeout=60, check=False).stdout
    env.check.that(re.search(r"had not ended as the window ended:\n  2 waiting for \S+ \S+[^:]*: mariadbd runs SELECT SLEEP", told), f"what hangs: {told[:900]}")
    ranged = subprocess.run([env.offcpu, "report", "--from", "0", "--to", "1", recording], capture_output=True, text=True, timeout=60, check=False)
    env.check.that(ranged.returncode == 1 and "recording of requests" in ranged.stderr, f"--from of requests: {ranged.stderr}")
    report = env.report(recording)
    slept = [wait for wait in report.waits if any(name and "Item_func_sleep" in name for name in names(wait["user"]))]
    env.check.that(sum(wait["off_cpu_ns"] for wait in slept) >= 0.55e9, f"the planted sleeps: {[wait['off_cpu_ns'] for wait in slept]}")
    env.check.equal({wait.get("reason") for wait in slept if wait["state"] == "S"}, {"sleep"}, "reason of the sleeps")


class Postgres:
    """A server of its own in a temporary folder, run by the user that the package makes: it refuses to run as root."""

    def __init__(self, env):
        tools = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
        try:
            self.user = pwd.getpwnam("postgres")
        except KeyError as error:
            raise Skip("there is no user postgres") from error
        if not tools:
            raise Skip("PostgreSQL is not installed")
        self.env, self.bin = env, os.path.dirname(tools[-1])
        self.folder = env.temporary("pg")
        os.mkdir(self.folder)
        os.chown(self.folder, self.user.pw_uid, self.user.pw_gid)
        os.chmod(env.directory, 0o755)
        self.data = os.path.join(self.folder, "data")
        self.run("initdb", "-D", self.data, "-A", "trust")
        self.process = subprocess.Popen(
            [os.path.join(self.bin, "postgres"), "-D", self.data, "-k", self.folder, "-c", "listen_addresses=", "-c", "fsync=off"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=self.become)
        env.running.append(self.process)
        if not wait_until(self.is_ready, 20, 0.05):
            raise Skip("postgres did not come up")

    def is_ready(self):
        """It takes connections; its socket is there a while before."""
        asked = [os.path.join(self.bin, "pg_isready"), "-q", "-h", self.folder]
        return subprocess.run(asked, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0

    def become(self):
        default_signals()
        os.setgid(self.user.pw_gid)
        os.setuid(self.user.pw_uid)

    def run(self, tool, *arguments):
        result = subprocess.run([os.path.join(self.bin, tool), *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                preexec_fn=self.become, timeout=60, check=False)
        if result.returncode:
            raise Skip(f"{tool} failed: {result.stderr.strip()[-200:]}")
        return result.stdout


@case
def request_postgres_transactions(env):
    """By a pair of the server's own probes, in processes that it forks meanwhile; its statements by a pattern."""
    server = Postgres(env)
    server.run("pgbench", "-h", server.folder, "-i", "-q", "postgres")
    out = env.temporary("pg.json")
    recorder = Recorder(env, "-p", server.process.pid, "--json",
                        "usdt:postgresql:transaction-start,transaction-commit,transaction-abort", verb="request", out=out)
    by_pattern = env.temporary("pattern.json")
    other = Recorder(env, "-p", server.process.pid, "--json", "--every", "Executor[RF]*", verb="request", out=by_pattern)
    recorder.wait_attached()
    other.wait_attached()
    server.run("pgbench", "-h", server.folder, "-n", "-c", "3", "-t", "300", "postgres")
    time.sleep(0.3)
    summed, executed = summary(recorder, out), summary(other, by_pattern)
    server.process.send_signal(signal.SIGINT)  # its fast shutdown
    server.process.wait(20)
    count = summed["functions"][0]["requests"]["count"]
    # some more are of the connections' start and of the server's own processes
    env.check.that(900 <= count <= 900 + 60, f"{count} transactions, 900 by pgbench")
    env.check.equal(summed["not_counted"]["left"]["count"], 0, "transactions that did not end")
    calls = {row["function"]: row["calls"]["count"] for row in executed["functions"]}
    # five of a transaction's seven statements have a plan; some more as a connection begins, whose return is not known yet
    lost = sum(executed["not_counted"][name]["count"] for name in ("no_site", "calls"))
    env.check.that(4500 - lost <= calls["ExecutorRun"] <= 4500 + 60 and lost < 1000, f"{calls}, {executed['not_counted']}")


@case
@nightly
def request_postgres_new_backends(env):
    """A connection for each transaction: each is a process that is born in the window.  The server's own statistics count the same."""
    server = Postgres(env)
    server.run("pgbench", "-h", server.folder, "-i", "-q", "postgres")
    ask = "select sum(xact_commit + xact_rollback) from pg_stat_database"
    out = env.temporary("pg.json")
    recorder = Recorder(env, "-p", server.process.pid, "--json",
                        "usdt:postgresql:transaction-start,transaction-commit,transaction-abort", verb="request", out=out)
    recorder.wait_attached()
    before = int(server.run("psql", "-h", server.folder, "-Atc", ask, "postgres"))
    server.run("pgbench", "-h", server.folder, "-n", "-C", "-c", "2", "-t", "50", "postgres")
    time.sleep(1)   # backends tell their statistics as they end
    after = int(server.run("psql", "-h", server.folder, "-Atc", ask, "postgres"))
    time.sleep(0.3)
    summed = summary(recorder, out)
    server.process.send_signal(signal.SIGINT)
    server.process.wait(20)
    count = summed["functions"][0]["requests"]["count"]
    env.check.that(after - before >= 200, f"{after - before} transactions by the server's count: 100 of pgbench's and as many of connections")
    # the two questions, and what a process of the server's own does meanwhile, are not in both
    env.check.that(abs(count - (after - before)) <= 8 + 0.02 * count, f"{count} transactions, {after - before} by the server's statistics")
    env.notes.append(f"{count} transactions, {after - before} by the server's statistics")


def on_port(env, command, port):
    """A server; its process once it answers."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=default_signals)
    env.running.append(process)

    def answers():
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    if not wait_until(answers, 20, 0.05):
        raise Skip(f"{command[0]} did not come up")
    return process


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def by_port(env, process, port, work):
    """What `offcpu request socket:PORT` says of what came while work() ran, and what that gave."""
    out = env.temporary("port.json")
    recorder = Recorder(env, "-p", process.pid, "--json", f"socket:{port}", verb="request", out=out)
    recorder.wait_attached()
    given = work()
    time.sleep(0.2)
    summed = summary(recorder, out)
    return summed["functions"][0]["requests"]["count"], summed["not_counted"], given


@case
def request_redis_commands(env):
    """By its port: as many requests as the server counts commands, each of which was answered before the next."""
    if not all(map(shutil.which, ("redis-server", "redis-cli", "redis-benchmark"))):
        raise Skip("Redis is not installed")
    if not has_tracepoint():
        raise Skip("the kernel does not tell of sockets: Linux 6.3 does")
    port = free_port()
    server = on_port(env, ["redis-server", "--port", str(port), "--save", "", "--dir", env.directory], port)

    def commands():
        out = subprocess.run(["redis-cli", "-p", str(port), "info", "stats"], capture_output=True, text=True, timeout=20, check=True).stdout
        return int(re.search(r"total_commands_processed:(\d+)", out)[1])

    def work():
        before = commands()
        subprocess.run(["redis-benchmark", "-p", str(port), "-n", "5000", "-c", "4", "-t", "get", "-q"], capture_output=True, timeout=60, check=True)
        return commands() - before

    count, lost, own = by_port(env, server, port, work)
    server.terminate()
    server.wait(20)
    env.check.that(own >= 5000, f"only {own} commands")
    # the second question is in one of them only, and redis-benchmark asks for two settings at once
    env.check.that(abs(count - own - 1) <= 2, f"{count} requests, {own} commands by the server: {lost}")
    env.notes.append(f"{count} requests, {own} commands by the server")


@case
def request_nginx_by_connection(env):
    """Two workers; nginx' own count is the same."""
    if not shutil.which("nginx"):
        raise Skip("nginx is not installed")
    if not has_tracepoint():
        raise Skip("the kernel does not tell of sockets: Linux 6.3 does")
    port, config = free_port(), env.temporary("nginx.conf")
    with open(config, "w", encoding="ascii") as f:
        f.write(f"worker_processes 2; daemon off; pid {env.directory}/nginx.pid; error_log {env.directory}/nginx.log;\n"
                "events { worker_connections 64; }\n"
                f"http {{ access_log off; server {{ listen 127.0.0.1:{port};\n"
                "location /count { stub_status; } location / { return 200 \"ok\\n\"; } } }\n")
    server = on_port(env, ["nginx", "-c", config, "-p", env.directory], port)

    def ask(count, path):
        with socket.create_connection(("127.0.0.1", port)) as s:
            for _ in range(count):
                s.sendall(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
                text = b""
                while b"\r\n\r\n" not in text or len(text.split(b"\r\n\r\n", 1)[1]) < int(re.search(rb"Content-Length: (\d+)", text)[1]):
                    text += s.recv(4096)
        return text.decode()

    def count_own():
        return int(ask(1, "/count").splitlines()[-2].split()[2])

    def work():
        before = count_own()
        for _ in range(4):
            ask(500, "/")
        return count_own() - before

    count, lost, own = by_port(env, server, port, work)
    server.terminate()
    server.wait(20)
    env.check.that(own == 2001, f"{own} requests by nginx")
    env.check.that(count == own + 1, f"{count} requests, {own} and the first question by nginx: {lost}")
