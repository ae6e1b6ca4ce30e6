# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The loads: perf's benches, MariaDB under sysbench, Redis, many threads, many stacks, many forks."""
import os
import re
import shutil
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import process

HERE = Path(__file__).resolve().parent
TABLES = ["--tables=4", "--table-size=25000"]
CLIENTS = 8


def pipe():
    """perf bench sched pipe: two processes that wake each other as fast as they can."""
    return process.running(["perf", "bench", "sched", "pipe", "-l", "1000000000"])


def messaging():
    """perf bench sched messaging: 2 groups of 20 senders and 20 receivers over sockets, too many for any CPU."""
    return process.running(["perf", "bench", "sched", "messaging", "-g", "2", "-l", "20000000"])


def build(folder, name, *options):
    """One of the C programs beside this file."""
    binary = folder / name
    if not binary.exists():
        subprocess.run(["cc", "-O2", "-fno-omit-frame-pointer", "-pthread", *options, "-o", str(binary),
                        str(HERE / f"{name}.c")], check=True)
    return binary


def stacks(folder):
    """8 threads asleep in 8,192 distinct user stacks by turns."""
    return process.running([build(folder, "stacks"), "8", "1000"])


@contextmanager
def sleepers(folder, threads, milliseconds):
    """So many threads that sleep so long each, once all of them do; of the lowest priority, never in real time."""
    with process.running(["chrt", "--other", "0", "nice", "-n", "39", build(folder, "sleepers"), threads, milliseconds],
                         stdout=subprocess.PIPE) as load:
        if load.stdout.readline() != b"ready\n":
            raise RuntimeError(f"{threads} threads could not be started: is there a limit on processes?")
        yield load


def forks(folder):
    """Two processes for each CPU, each of which forks and waits."""
    return process.running([build(folder, "forks"), 2 * (os.cpu_count() or 1)])


@contextmanager
def redis(folder):
    """Redis on a socket in folder, not saving, under redis-benchmark without pipelining; yields the server."""
    for program in ("redis-server", "redis-benchmark"):
        if not shutil.which(program):
            raise RuntimeError(f"{program} is not installed")
    socket = folder / "redis.sock"
    with process.running(["redis-server", "--port", 0, "--unixsocket", socket, "--dir", folder, "--save", "",
                          "--appendonly", "no"]) as server:
        end = time.monotonic() + 30
        while not socket.exists():
            if server.poll() is not None or time.monotonic() > end:
                raise RuntimeError("redis-server did not come up")
            time.sleep(0.1)
        with process.running(["redis-benchmark", "-s", socket, "-P", 1, "-c", 50, "-n", 2000000000, "-t", "get", "-q"]):
            time.sleep(1)
            yield server


def sysbench(socket, *words, script="oltp_point_select"):
    return ["sysbench", script, f"--mysql-socket={socket}", "--mysql-user=root", "--mysql-db=sbtest", *TABLES, *words]


def wait_for_server(server, socket, timeout_s=60):
    end = time.monotonic() + timeout_s
    ping = ["mariadb", "--no-defaults", f"--socket={socket}", "--user=root", "--execute=SELECT 1"]
    while subprocess.run(ping, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
        if server.poll() is not None or time.monotonic() > end:
            raise RuntimeError("mariadbd did not come up")
        time.sleep(0.2)


@contextmanager
def mariadb(folder):
    """MariaDB on a socket in folder, with tables filled; yields (server, socket)."""
    data, socket = folder / "data", folder / "s"
    common = ["--no-defaults", f"--datadir={data}", "--user=root"]
    subprocess.run(["mariadb-install-db", *common, "--auth-root-authentication-method=normal", "--skip-test-db"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    server = process.start(["mariadbd", *common, f"--socket={socket}", f"--pid-file={folder / 'pid'}",
                            "--skip-networking", "--innodb-buffer-pool-size=256M"])
    try:
        wait_for_server(server, socket)
        subprocess.run(["mariadb", "--no-defaults", f"--socket={socket}", "--user=root",
                        "--execute=CREATE DATABASE sbtest"], check=True)
        subprocess.run(sysbench(socket, "prepare"), stdout=subprocess.DEVNULL, check=True)
        yield server, socket
    finally:
        server.terminate()
        try:
            server.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill_group(server)


def clients(socket):
    """sysbench oltp_point_select with 8 threads, until left."""
    return process.running(sysbench(socket, f"--threads={CLIENTS}", "--time=0", "run"))


def counted_clients(socket, counts):
    """The same, and each thread counts its transactions in a cache line of its own of the file `counts`."""
    counts.write_bytes(bytes(64 * CLIENTS))
    return process.running(sysbench(socket, f"--threads={CLIENTS}", "--time=0", "run", script=str(HERE / "counted_select.lua")),
                           env=dict(os.environ, COUNTS=str(counts)))


@contextmanager
def mariadb_under_clients(folder):
    with mariadb(folder) as (_, socket), clients(socket):
        yield


# What the cost of a switch is measured on, each given the folder it may write to.
BY_NAME = {
    "pipe": lambda folder: pipe(),
    "messaging": lambda folder: messaging(),
    "redis": redis,
    "sleepers": lambda folder: sleepers(folder, 10000, 10),
    "forks": forks,
    "mariadb": mariadb_under_clients,
}
