# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu request` on servers: a slow query that was planted in MariaDB, each transaction of PostgreSQL."""

import glob
import json
import os
import pwd
import shutil
import signal
import subprocess
import time

from cases_whole import Database
from check import names
from lib import Broken, Recorder, Skip, case, default_signals, wait_until


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
    time.sleep(1)
    recorder = Recorder(env, "-p", database.process.pid, "--json", "--slower", "150ms", "-o", recording, "dispatch_command", verb="request",
                        out=out)
    recorder.wait_attached()
    for _ in range(3):
        subprocess.run(["mariadb", "--no-defaults", f"--socket={database.socket}", "-uroot", "-e", "select sleep(0.2)"], check=True,
                       stdout=subprocess.DEVNULL, timeout=30)
    time.sleep(0.2)
    row = summary(recorder, out)["functions"][0]
    client.kill()
    database.stop()
    env.notes.append(f"{row['requests']['count']} queries")
    env.check.that(row["requests"]["count"] > 100, f"{row['requests']['count']} queries")
    env.check.that(row["slow"]["count"] >= 3, f"{row['slow']['count']} slow queries")
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
        if not wait_until(lambda: os.path.exists(os.path.join(self.folder, ".s.PGSQL.5432")), 20, 0.05):
            raise Skip("postgres did not come up")

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
    """By a pair of the server's own probes, in processes that it forks meanwhile."""
    server = Postgres(env)
    server.run("pgbench", "-h", server.folder, "-i", "-q", "postgres")
    out = env.temporary("pg.json")
    recorder = Recorder(env, "-p", server.process.pid, "--json",
                        "usdt:postgresql:transaction-start,transaction-commit,transaction-abort", verb="request", out=out)
    recorder.wait_attached()
    server.run("pgbench", "-h", server.folder, "-n", "-c", "3", "-t", "300", "postgres")
    time.sleep(0.3)
    summed = summary(recorder, out)
    server.process.send_signal(signal.SIGINT)  # its fast shutdown
    server.process.wait(20)
    count = summed["functions"][0]["requests"]["count"]
    # some more are of the connections' start and of the server's own processes
    env.check.that(900 <= count <= 900 + 60, f"{count} transactions, 900 by pgbench")
    env.check.equal(summed["not_counted"]["left"]["count"], 0, "transactions that did not end")
