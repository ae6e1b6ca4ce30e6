# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Problems in programs of other languages and servers: the first sentence of `report` by default options names them (docs/reasons.md)."""

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap

from cases_reasons import of_waits
from cases_servers import free_port
from lib import Recorder, Skip, case, default_signals, nightly, wait_until
from told import Told

GO = """
package main
import ("fmt"; "sync"; "time")
type account struct { mu sync.Mutex; n int }
//go:noinline
func (a *account) withdraw() { a.mu.Lock(); audit(); a.n--; a.mu.Unlock() }
//go:noinline
func audit() { time.Sleep(20 * time.Millisecond) }
//go:noinline
func fetchRow() { time.Sleep(20 * time.Millisecond) }
//go:noinline
func produce(c chan int) { for i := 0; ; i++ { fetchRow(); c <- i } }
//go:noinline
func consume(c chan int) { for range c { } }
func main() {
	a, c := &account{}, make(chan int, 16)
	for i := 0; i < WORKERS; i++ { go func() { for { a.withdraw() } }() }
	if WORKERS == 0 { go produce(c); for i := 0; i < 4; i++ { go consume(c) } }
	fmt.Println("ready")
	time.Sleep(time.Minute)
}
"""


def script(env, command, text):
    """A program of that interpreter; it says a line as it is ready."""
    if not shutil.which(command[0]):
        raise Skip(f"{command[0]} is not installed")
    process = subprocess.Popen([*command, textwrap.dedent(text)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               preexec_fn=default_signals)
    env.running.append(process)
    process.stdout.readline()
    return process


def record(env, pids, seconds="1"):
    path = env.temporary("planted.offcpu")
    recorder = Recorder(env, "-p", ",".join(map(str, pids)), "-d", seconds, out=path)
    recorder.wait()
    return recorder.report(status=0), Told(env, path)


def go_program(env, workers):
    if not shutil.which("go"):
        raise Skip("go is not installed")
    folder = env.temporary("go-planted")
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/planted.go", "w", encoding="ascii") as f:
        f.write(GO.replace("WORKERS", str(workers)))
    built = subprocess.run(["go", "build", "-o", f"{folder}/planted{workers}", f"{folder}/planted.go"], capture_output=True, text=True, check=False,
                           env={**os.environ, "GO111MODULE": "off", "GOTOOLCHAIN": "local"})
    if built.returncode:
        raise Skip(f"go failed: {built.stderr.strip()[-200:]}")
    process = subprocess.Popen([f"{folder}/planted{workers}"], stdout=subprocess.PIPE)
    env.running.append(process)
    process.stdout.readline()
    return process


@case
def goroutines_that_wait_are_the_first_finding(env):
    for workers, says, function, meanwhile in ((16, "wait for a mutex", "main.(*account).withdraw", "main.audit"),
                                               (0, "wait to receive from a channel", "main.consume", "main.fetchRow")):
        process = go_program(env, workers)
        report, first = record(env, [process.pid])
        found = report.data.get("task_findings") or [{}]
        env.check.equal((found[0].get("says"), found[0].get("function"), found[0].get("meanwhile_function")), (says, function, meanwhile),
                        "the first finding")
        first.names(function, says, culprits=[meanwhile])
        if workers:
            # one has the lock, and the goroutines are looked at for the whole window
            seconds = report.data["window"]["duration_ns"] / 1e9
            env.check.that(0.7 * 15 * seconds <= found[0]["task_ns"] / 1e9 <= 1.3 * 15 * seconds, f"{found[0]['task_ns']} ns of goroutines")
        process.kill()
        process.wait()


@case
def loop_that_waits_for_its_upstream(env):
    """One asyncio program asks another one, whose answer takes 100 ms: its loop is not idle.  As long as nobody asks, it is."""
    port = free_port()
    server = script(env, [sys.executable, "-c"], f"""
        import asyncio
        async def serve(reader, writer):
            while await reader.read(100):
                await asyncio.sleep(0.1)
                writer.write(b"x")
        async def main():
            server = await asyncio.start_server(serve, "127.0.0.1", {port})
            open("/proc/self/comm", "w").write("slow-backend")
            print(flush=True)
            await server.serve_forever()
        asyncio.run(main())
        """)
    client = script(env, [sys.executable, "-c"], f"""
        import asyncio
        async def ask():
            reader, writer = await asyncio.open_connection("127.0.0.1", {port})
            while True:
                writer.write(b"q")
                await reader.read(100)
        async def main():
            asks = [asyncio.create_task(ask()) for i in range(3)]
            print(flush=True)
            await asyncio.wait(asks)
        asyncio.run(main())
        """)
    report, first = record(env, [client.pid])
    findings = of_waits(report)
    env.check.equal(findings[0]["reason"] if findings else None, "network.receive", "the reason")
    first.names("waits in its event loop for an answer", f"127.0.0.1:{port} (slow-backend)", culprits=["ask"])
    client.kill()
    client.wait()
    report, first = record(env, [server.pid], "0.5")
    env.check.that(not of_waits(report), f"nobody asks: {first.shown}")
    first.is_healthy()


@case
def fuse_ruby_and_queues_between_processes(env):
    checks = []
    if os.path.exists("/dev/fuse"):
        folder = env.temporary("fuse")
        os.mkdir(folder)
        process = subprocess.Popen([os.path.join(env.programs, "fuse_slow"), folder, "60"])
        env.running.append(process)
        # its only child is the file system
        if wait_until(lambda: process.poll() is not None or children(process.pid), 5) and process.poll() is None:
            checks.append((process, "disk.read", "read_config", "the process that serves a FUSE file system"))
    if shutil.which("ruby"):
        checks.append((script(env, ["ruby", "-e"], """
            def poll_queue
              sleep 0.05
            end
            $stdout.puts
            $stdout.flush
            loop { poll_queue }
            """), "sleep", "poll_queue", "sleeps until a timer"))
    checks.append((script(env, [sys.executable, "-c"], """
        import multiprocessing, time
        def transform(row):
            time.sleep(0.02)
        def consumer(q):
            while True:
                transform(q.get())
        def produce(q):
            while True:
                q.put(b"x" * 1000)
        q = multiprocessing.get_context("fork").Queue(maxsize=5)
        p = multiprocessing.get_context("fork").Process(target=consumer, args=(q,), daemon=True)
        p.start()
        print(flush=True)
        produce(q)
        """), "lock.semaphore", "produce", "waits for room in a full queue"))
    for process, reason, function, says in checks:
        report, first = record(env, [process.pid])
        findings = of_waits(report)
        found = (findings[0]["reason"], (findings[0]["function"] or {}).get("name")) if findings else None
        env.check.equal(found, (reason, function), "the first finding")
        first.names(says, culprits=[function])
        for child in children(process.pid):
            os.kill(child, 9)
        process.kill()
        process.wait()


def children(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(word) for word in f.read().split()]
    except OSError:
        return []


@case
@nightly
def writer_that_starves_comes_first(env):
    recorder = Recorder(env, command=[os.path.join(env.programs, "planted"), "rwstarve", "1"])
    recorder.wait()
    findings = of_waits(recorder.report(status=0))
    found = (findings[0]["reason"], (findings[0]["function"] or {}).get("name")) if findings else None
    env.check.equal(found, ("lock.rwlock", "update_table"), "the first finding")
    Told(env, recorder.out).names("update_table", culprits=["rwlock"])


PINNED = """
import os, time
os.sched_setaffinity(0, {1 % os.cpu_count()})
def add():
    while os.getppid() == parent: sum(range(10000))
    os._exit(0)
parent = os.getpid()
for _ in range(3):
    if os.fork() == 0: add()
print(flush=True)
time.sleep(60)
"""

HELPER = """
import os, signal, socket
ours, theirs = socket.socketpair()
if os.fork() == 0:
    ours.close()
    open("/proc/self/comm", "w").write("helper")
    os.kill(os.getpid(), signal.SIGSTOP)
    os._exit(0)
theirs.close()
def ask_helper():
    ours.send(b"q")
    ours.recv(1)
print(flush=True)
ask_helper()
"""


@case
def what_holds_up_from_outside_is_told(env):
    """CPUs that threads may not use, and a peer that is stopped: no stack shows them."""
    checks = [(PINNED, "cpu.queue", "cpus", "may use only CPU")] if os.cpu_count() > 1 else []
    for text, reason, kind, says in [*checks, (HELPER, "network.receive", "stopped_peer", "is stopped")]:
        process = script(env, [sys.executable, "-c"], text)
        wait_until(lambda own=process: children(own.pid), 5)
        mates = children(process.pid)
        report, first = record(env, [process.pid, *(mates if kind == "cpus" else [])])
        found = next((f for f in report.data["findings"] if f["reason"] == reason), {})
        env.check.equal(found.get("limit", {}).get("kind"), kind, f"what holds it up: {found}")
        if kind == "stopped_peer":
            env.check.equal(found["limit"]["pid"], mates[0], "who is stopped")
        first.names(says)
        for child in mates:
            os.kill(child, 9)
        process.kill()
        process.wait()


NOBODY = """
import socket, time
closed = socket.socket()
closed.bind(("127.0.0.1", 0))
def price_of():
    while True:
        with socket.socket() as s:
            s.setblocking(False)
            s.connect_ex(closed.getsockname())
        time.sleep(0.1)
print(flush=True)
price_of()
"""

PROXY = """
import asyncio, os, socket, threading, time
def listening():
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(32)
    return s
server, proxy = listening(), listening()
def answer(c):
    while c.recv(1):
        time.sleep(0.02)
        c.send(b"a")
def serve():
    open("/proc/self/comm", "w").write("database")
    while True:
        threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()
async def pass_on():
    open("/proc/self/comm", "w").write("pooler")
    free = asyncio.Queue()
    for _ in range(2):
        free.put_nowait(await asyncio.open_connection(*server.getsockname()))
    async def client(reader, writer):
        while True:
            question = await reader.readexactly(1)
            there = await free.get()
            there[1].write(question)
            writer.write(await there[0].readexactly(1))
            free.put_nowait(there)
    await (await asyncio.start_server(client, sock=proxy)).serve_forever()
def query():
    c = socket.create_connection(proxy.getsockname())
    while True:
        c.send(b"q")
        c.recv(1)
if os.fork() == 0:
    serve()
if os.fork() == 0:
    asyncio.run(pass_on())
for _ in range(8):
    threading.Thread(target=query, daemon=True).start()
time.sleep(0.3)
print(flush=True)
time.sleep(60)
"""


@case
@nightly
def who_takes_no_more_is_told(env):
    """A peer that takes no connections, and a proxy whose own connections are all busy: sockets tell, no stack does."""
    for text, kind, says in [(NOBODY, "failed_connects", "refuses connections"), (PROXY, "pool", "pooler's 2 connections to")]:
        process = script(env, [sys.executable, "-c"], text)
        mates = children(process.pid)
        report, first = record(env, [process.pid, *mates])
        env.check.equal(report.data["findings"][0].get("limit", {}).get("kind"), kind, "what the first finding is held up by")
        first.names(says)
        for pid in [*mates, process.pid]:
            os.kill(pid, 9)
        process.wait()


UNSEEN = {
    # function that waits: reason, word of the sentence, program
    "wait_for_pidfd": ("child_exit", "waits for a process to end (pidfd)", """
        import os, select, time
        def wait_for_pidfd():
            child = os.fork()
            if not child:
                time.sleep(0.2)
                os._exit(0)
            poll = select.poll()
            poll.register(os.pidfd_open(child))
            poll.poll()
            os.waitpid(child, 0)
        print(flush=True)
        while True: wait_for_pidfd()
        """),
    "wait_for_signal": ("child_exit", "waits for a child to end (SIGCHLD)", """
        import os, signal, time
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        def wait_for_signal():
            child = os.fork()
            if not child:
                time.sleep(0.2)
                os._exit(0)
            signal.sigwait([signal.SIGCHLD])
            os.waitpid(child, 0)
        print(flush=True)
        while True: wait_for_signal()
        """),
    "make_thumbnail": ("child_exit", "and for what it prints (subprocess)", """
        import subprocess
        def make_thumbnail(): subprocess.run(["sh", "-c", "sleep 0.2"], capture_output=True)
        print(flush=True)
        while True: make_thumbnail()
        """),
    "update_counter": ("lock.semaphore", "waits for a lock or semaphore that processes share", """
        import multiprocessing, time
        context = multiprocessing.get_context("fork")
        lock = context.Lock()
        def rebuild():
            while True:
                with lock: time.sleep(0.02)
        def update_counter():
            with lock: pass
        for _ in range(2): context.Process(target=rebuild, daemon=True).start()
        print(flush=True)
        while True: update_counter()
        """),
    "enter_printer": ("lock.semaphore", "waits for a named semaphore, /dev/shm/sem.offcpu-test-", """
        import ctypes, os, time
        libc = ctypes.CDLL(None)
        libc.sem_open.restype = ctypes.c_void_p
        slots = ctypes.c_void_p(libc.sem_open(b"/offcpu-test-%d" % os.getpid(), os.O_CREAT, 0o600, 1))
        if not os.fork():
            while True:
                libc.sem_wait(slots)
                time.sleep(0.02)
                libc.sem_post(slots)
        def enter_printer():
            libc.sem_wait(slots)
            libc.sem_post(slots)
        print(flush=True)
        while True: enter_printer()
        """),
    "look_for_job": ("lock.semaphore", "Python's threading", """
        import threading
        job = threading.Event()
        def look_for_job(): job.wait(0.1)
        print(flush=True)
        while True: look_for_job()
        """),
}


@case
def waits_for_children_and_other_processes_are_not_idle(env):
    """Each has one thing to wait for, which no network, pool or other thread ends; one recording of them all."""
    processes = [script(env, [sys.executable, "-c"], text) for _, _, text in UNSEEN.values()]
    path = env.temporary("unseen.offcpu")
    recorder = Recorder(env, "-p", ",".join(str(p.pid) for p in processes), "-d", "1.5", out=path)
    recorder.wait()
    for process in processes:  # stopped, it starts no other child
        os.kill(process.pid, signal.SIGSTOP)
        for pid in children(process.pid):
            os.kill(pid, 9)
    report = recorder.report(status=0)
    for (function, (reason, says, _)), process in zip(UNSEEN.items(), processes):
        rows = [f for f in of_waits(report) if (f["function"] or {}).get("name") == function and f["reason"] == reason]
        spent = sum(f["time_ns"] for f in rows)
        env.check.that(spent > report.data["window"]["duration_ns"] / 2, f"{function}: {spent} ns for {reason}")
        Told(env, path, process.pid).names(says, culprits=[function])
        process.kill()
        process.wait()
        if function == "enter_printer":
            os.unlink(f"/dev/shm/sem.offcpu-test-{process.pid}")


POOL = """
const crypto = require('crypto');
function hash() { crypto.pbkdf2('secret', 'salt', 200000, 64, 'sha512', hash); }
for (let i = 0; i < 8; i++) hash();
console.log('');
"""


@case
def busy_pool_and_loop_are_the_first_finding(env):
    """Requests wait in Redis' loop while a script runs, callbacks in libuv's queue while its threads compute: nobody's wait shows it."""
    checks = []
    if shutil.which("redis-server") and shutil.which("redis-cli"):
        port = free_port()
        redis = subprocess.Popen(["redis-server", "--port", str(port), "--save", ""], stdout=subprocess.DEVNULL, cwd=env.directory,
                                 preexec_fn=default_signals)
        env.running.append(redis)
        ask = ["redis-cli", "-p", str(port)]
        wait_until(lambda: b"PONG" in subprocess.run([*ask, "ping"], capture_output=True, check=False).stdout, 10)
        env.running.append(subprocess.Popen([*ask, "-r", "100000", "eval", "for i = 1, 20000000 do end", "0"],
                                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
        checks.append((redis, "loop", "Redis", "redis-server's event loop (Redis)"))
    if shutil.which("node"):
        checks.append((script(env, ["node", "-e"], POOL), "pool", "libuv-threads", "all 4 threads are busy"))
    if not checks:
        raise Skip("neither redis-server nor node is installed")
    for process, busy, rule, says in checks:
        report, first = record(env, [process.pid])
        found = report.data["findings"][0]
        env.check.equal((found.get("busy"), found.get("busy_rule")), (busy, rule), f"the first finding: {first.shown}")
        first.names(says)
        if busy == "loop":
            thread = next(t for t in report.threads if t["tid"] == process.pid)
            env.check.equal(found["on_cpu_ns"], thread["on_cpu_ns"], "its time on CPU is the thread's")
        process.kill()
        process.wait()


WAITS_FOR_IO = {
    # problem of planted_io: reason, function, words of the sentence
    "connect": ("network.connect", "open_session", "a connection to be set up, 127.0.0.1:"),
    "connect_poll": ("network.connect", "dial_backend", "a connection to be set up, 127.0.0.1:"),
    "uring_pipe": ("pipe", "read_event", "waits in io_uring for the other end of a pipe (from slow-writer)"),
    "uring_sync": ("disk.sync", "commit_row", "waits for io_uring to make a file safe on disk, "),
}


@case
def connections_and_rings_are_told_by_what_they_wait_for(env):
    """Nobody takes SYNs, for a call and for poll() alike; a ring has one operation under way.  One recording of them all."""
    processes, path = {}, env.disk_file()
    for problem in WAITS_FOR_IO:
        process = subprocess.Popen([os.path.join(env.programs, "planted_io"), problem, path], stdout=subprocess.PIPE, preexec_fn=default_signals)
        env.running.append(process)
        if process.stdout.readline():
            processes[problem] = process
    env.check.that("connect" in processes and "connect_poll" in processes, "they do not run")
    out = env.temporary("io.offcpu")
    recorder = Recorder(env, "-p", ",".join(str(p.pid) for p in processes.values()), "-d", "1.5", out=out)
    recorder.wait()
    for problem, process in processes.items():
        reason, function, says = WAITS_FOR_IO[problem]
        ask = [env.offcpu, "report", "-p", str(process.pid), "--json", out]
        findings = json.loads(subprocess.run(ask, capture_output=True, check=True).stdout)["findings"]
        findings = [f for f in findings if not f["reason"].startswith("cpu.")]
        found = (findings[0]["reason"], (findings[0]["function"] or {}).get("name")) if findings else None
        env.check.equal(found, (reason, function), f"{problem}: the first finding")
        Told(env, out, process.pid).names(says, culprits=[function])
        for child in children(process.pid):
            os.kill(child, 9)
        process.kill()
        process.wait()
    os.unlink(path)


SHORT_OF = {
    # function: words of the sentence, what is limited, what is done with it
    "handle": ("wait for a semaphore", "asyncio.Semaphore(1)", "async with limit: await call_backend()"),
    "withdraw": ("wait for a lock", "asyncio.Lock()", "async with limit: await call_backend()"),
}


@case
def tasks_that_wait_for_a_semaphore_are_the_first_finding(env):
    """No thread waits for it: the event loop is idle until a timer."""
    for function, (says, limit, work) in SHORT_OF.items():
        process = script(env, [sys.executable, "-c"], f"""
            import asyncio
            limit = {limit}
            async def call_backend(): await asyncio.sleep(0.02)
            async def {function}():
                {work}
            async def serve():
                while True: await {function}()
            async def main():
                tasks = [asyncio.create_task(serve()) for _ in range(10)]
                print(flush=True)
                await asyncio.gather(*tasks)
            asyncio.run(main())
            """)
        report, first = record(env, [process.pid])
        found = (report.data.get("task_findings") or [{}])[0]
        env.check.equal((found.get("function"), found.get("meanwhile_function")), (function, "call_backend"), f"the first finding: {found}")
        # before Python 3.11 a semaphore is told from a lock by nothing
        says = says if sys.version_info >= (3, 11) else "wait to acquire a lock"
        first.names(says, function, culprits=["call_backend"])
        process.kill()
        process.wait()


@case
def callback_of_a_stripped_libuv_holds_up_its_loop(env):
    """Of the distribution's library only the functions that it exports have names."""
    if subprocess.run([sys.executable, "-c", "import ctypes; ctypes.CDLL('libuv.so.1')"], stderr=subprocess.DEVNULL, check=False).returncode:
        raise Skip("there is no libuv.so.1")
    process = script(env, [sys.executable, "-c"], """
        import ctypes, time
        uv = ctypes.CDLL("libuv.so.1")
        uv.uv_default_loop.restype = ctypes.c_void_p
        loop = ctypes.c_void_p(uv.uv_default_loop())
        timer = ctypes.create_string_buffer(1024)
        def commit_row(handle): time.sleep(0.05)
        callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(commit_row)
        uv.uv_timer_init(loop, timer)
        uv.uv_timer_start(timer, callback, ctypes.c_uint64(20), ctypes.c_uint64(20))
        print(flush=True)
        uv.uv_run(loop, 0)
        """)
    report, first = record(env, [process.pid])
    findings = of_waits(report)
    found = (findings[0]["reason"], findings[0]["holds_up_loop"], (findings[0]["function"] or {}).get("name")) if findings else None
    env.check.equal(found, ("sleep", "uv_run", "commit_row"), f"the first finding: {first.shown}")
    first.names("holds up its event loop (uv_run)", culprits=["commit_row"])


@case
def herd_on_a_listening_socket_is_hinted_at(env):
    """Its threads are idle until they are woken, and then wait for a CPU: that says nothing of why."""
    process = subprocess.Popen([os.path.join(env.programs, "planted_io"), "epoll_herd"], stdout=subprocess.PIPE, preexec_fn=default_signals)
    env.running.append(process)
    process.stdout.readline()
    mates = children(process.pid)
    _, first = record(env, [process.pid])
    first.names("waits for a CPU", "record --storms")
    for child in mates:
        os.kill(child, 9)
    process.kill()
    process.wait()


@case
def sleeps_between_retries(env):
    """What fails at once shows as the sleep before the next try, which is no idle time of a main thread."""
    process = script(env, [sys.executable, "-c"], """
        import socket, time
        class Retry:
            def _sleep_backoff(self):
                time.sleep(0.3)
        def price_of(port):
            try:
                socket.create_connection(("127.0.0.1", port))
            except OSError:
                Retry()._sleep_backoff()
        print(flush=True)
        while True:
            price_of(1)
        """)
    report, first = record(env, [process.pid])
    env.check.equal(report.data["findings"][0]["says"], "sleeps between retries", f"the first one shown: {first.shown}")
    first.names("sleeps between retries", culprits=["price_of"])
