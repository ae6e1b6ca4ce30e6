# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""
Stock programs of the distribution under load, for bench/unwind.py.  Each subject is a context
manager that takes a folder and yields the process ids to record, the busiest first.
"""
import glob
import os
import shutil
import subprocess
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import loads
import process

PYTHON_LOAD = """
import queue, socket, subprocess, threading, time
lock, jobs, (left, right) = threading.Lock(), queue.Queue(16), socket.socketpair()
def locker():
    while True:
        with lock:
            time.sleep(0.001)
def producer():
    while True:
        jobs.put(1)
        time.sleep(0.0005)
def consumer():
    while True:
        jobs.get(timeout=5)
def writer():
    while True:
        left.sendall(b'x' * 100)
        time.sleep(0.002)
def reader():
    while True:
        right.recv(4096)
def spawner():
    while True:
        subprocess.run(['/bin/true'])
        time.sleep(0.05)
for function in (locker, locker, producer, consumer, consumer, writer, reader, spawner):
    threading.Thread(target=function).start()
"""

GDB_SCRIPT = """
set pagination off
set confirm off
catch syscall write
run
while 1
  continue
end
"""

NGINX_CONF = """
daemon off;
worker_processes 2;
pid {folder}/nginx.pid;
error_log {folder}/nginx.error;
events {{ worker_connections 512; }}
http {{
  access_log {folder}/nginx.access;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; root {folder}/www; sendfile off; keepalive_requests 1000000; }}
}}
"""


class Missing(Exception):
    """A program is not installed."""


def need(*names):
    for name in names:
        if not shutil.which(name):
            raise Missing(f"{name} is not installed")


def children(pid):
    """The process and all below it."""
    found, rest = [], [pid]
    while rest:
        pid = rest.pop()
        found.append(pid)
        for path in glob.glob(f"/proc/{pid}/task/*/children"):
            try:
                rest += map(int, Path(path).read_text().split())
            except OSError:
                pass
    return found


def wait_for(condition, what, timeout_s=30):
    end = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"{what} did not come up")
        time.sleep(0.1)


def busiest(pids):
    def ticks(pid):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    return sorted((pid for pid in pids if os.path.exists(f"/proc/{pid}")), key=ticks, reverse=True)


@contextmanager
def mariadbd(folder):
    need("mariadbd", "sysbench")
    with loads.mariadb(folder) as (server, socket), loads.clients(socket):
        time.sleep(1)
        yield [server.pid]


@contextmanager
def postgres(folder):
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    if not found:
        raise Missing("postgresql is not installed")
    data = folder / "pg"
    data.mkdir()
    shutil.chown(data, "postgres", "postgres")
    folder.chmod(0o755)

    def run(name, *words):
        return ["runuser", "-u", "postgres", "--", f"{found[-1]}/{name}", *map(str, words)]

    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True, "cwd": "/"}
    subprocess.run(run("initdb", "-D", data, "--auth=trust", "-N"), **quiet)
    at = ["-h", data, "-p", "54399"]
    with process.running(run("postgres", "-D", data, "-k", data, "-h", "", "-p", 54399, "-c", "shared_buffers=64MB"),
                         cwd="/") as server:
        wait_for(lambda: (data / ".s.PGSQL.54399").exists(), "postgres")
        time.sleep(1)
        subprocess.run(run("createdb", *at, "bench"), **quiet)
        subprocess.run(run("pgbench", *at, "-i", "-s", 2, "bench"), **quiet)
        with process.running(run("pgbench", *at, "-c", 6, "-j", 2, "-T", 100000, "bench"), cwd="/"):
            time.sleep(2)
            yield busiest(pid for pid in children(server.pid) if os.readlink(f"/proc/{pid}/exe").endswith("/postgres"))


@contextmanager
def redis(folder):
    need("redis-server", "redis-benchmark")
    socket = folder / "redis.sock"
    with process.running(["redis-server", "--port", 0, "--unixsocket", socket, "--dir", folder, "--appendonly", "yes"]) as server:
        wait_for(socket.exists, "redis-server")
        with process.running(["redis-benchmark", "-s", socket, "-l", "-c", 20, "-n", 100000, "-t", "set,get,lpush"]):
            time.sleep(1)
            yield [server.pid]


@contextmanager
def web_server(folder, port):
    need("nginx", "ab", "curl")
    www = folder / "www"
    www.mkdir()
    (www / "index.html").write_text("x" * 20000)
    with open(www / "big", "wb") as f:
        f.truncate(1 << 30)
    folder.chmod(0o755)
    conf = folder / "nginx.conf"
    conf.write_text(NGINX_CONF.format(folder=folder, port=port))
    with process.running(["nginx", "-c", conf, "-e", folder / "nginx.error"]) as server:
        wait_for(lambda: subprocess.run(["curl", "-sf", "-o", "/dev/null", f"http://127.0.0.1:{port}/"],
                                        check=False).returncode == 0, "nginx")
        yield server


@contextmanager
def nginx(folder):
    with web_server(folder, 8391) as server, \
         process.running(["ab", "-q", "-k", "-c", 8, "-t", 1000, "-n", 100000000, "http://127.0.0.1:8391/index.html"]):
        time.sleep(1)
        yield busiest(children(server.pid))


@contextmanager
def curl(folder):
    with web_server(folder, 8392), \
         process.running(["curl", "-s", "--limit-rate", "20M", "-o", "/dev/null", "http://127.0.0.1:8392/big"]) as client:
        time.sleep(0.5)
        yield [client.pid]


@contextmanager
def tar(folder):
    """/usr to a pipe, from disk: tar reads nothing when its output is /dev/null."""
    Path("/proc/sys/vm/drop_caches").write_text("3")
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as sink, \
         process.running(["tar", "-C", "/", "-cf", "-", "usr"], stdout=sink.stdin) as load:
        sink.stdin.close()
        time.sleep(0.2)
        yield [load.pid]


@contextmanager
def python3(folder):
    need("/usr/bin/python3")
    with process.running(["/usr/bin/python3", "-c", PYTHON_LOAD]) as load:
        time.sleep(1)
        yield [load.pid]


@contextmanager
def gdb(folder):
    """A debugger whose program stops at every write."""
    need("gdb")
    script = folder / "script.gdb"
    script.write_text(GDB_SCRIPT)
    with process.running(["gdb", "-q", "-batch", "-nx", "-x", script, "--args", "/bin/sh", "-c",
                          "while :; do echo x; done"]) as load:
        time.sleep(3)
        yield [load.pid]


ALL = {"mariadbd": mariadbd, "postgres": postgres, "redis-server": redis, "nginx": nginx, "tar": tar,
       "python3": python3, "gdb": gdb, "curl": curl}


@contextmanager
def started(name, folder):
    folder.chmod(0o711)  # servers change their user and must still get in
    own = folder / name
    own.mkdir()
    with ExitStack() as stack:
        yield stack.enter_context(ALL[name](own))
