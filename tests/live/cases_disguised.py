# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Problems of kinds that rules were made for, in other languages and libraries than the first one that was met, and healthy programs that look alike."""

import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import sys

from cases_planted import children, script
from cases_request_servers import on_port
from cases_servers import free_port
from lib import Recorder, Skip, case, default_signals, nightly, wait_until
from told import Told


def record(env, process, seconds="1.5"):
    recorder = Recorder(env, "-p", str(process.pid), "-d", seconds, out=env.temporary(f"of-{process.pid}.offcpu"))
    recorder.wait()
    return recorder.report(status=0), Told(env, recorder.out)


def end(process):
    for child in children(process.pid):
        os.kill(child, signal.SIGKILL)
    process.kill()
    process.wait()


@case
@nightly
def work_that_sleeps_in_an_executor_is_awaited(env):
    """Two threads of an executor do it all the time, ten tasks await it; used now and then it is little to find."""
    text = """
        import asyncio, time
        from concurrent.futures import ThreadPoolExecutor
        def draw_barcode(): time.sleep(PAUSE)
        async def handle(pool):
            while True:
                await asyncio.get_running_loop().run_in_executor(pool, draw_barcode)
                await asyncio.sleep(REST)
        async def main():
            pool = ThreadPoolExecutor(2)
            tasks = [asyncio.create_task(handle(pool)) for _ in range(TASKS)]
            await asyncio.sleep(0.2)
            print(flush=True)
            await asyncio.wait(tasks)
        asyncio.run(main())
        """
    for pause, rest, tasks in (0.05, 0, 10), (0.002, 0.5, 2):
        values = {"PAUSE": pause, "REST": rest, "TASKS": tasks}
        process = script(env, [sys.executable, "-c"], re.sub("PAUSE|REST|TASKS", lambda word: str(values[word.group()]), text))
        report, first = record(env, process)
        if rest:
            first.is_healthy()
        else:
            spent = report.data["findings"][0]["time_ns"]
            env.check.that(spent > 1.7 * report.data["window"]["duration_ns"], f"both threads sleep all the time: {spent} ns")
            first.names("sleeps until a timer in draw_barcode", "tasks await what that pool does", culprits=["draw_barcode"])
        end(process)


@case
@nightly
def lock_of_the_c_library_that_a_fork_left(env):
    """localtime() has one; a child that is forked while a thread is in there hangs in its own call, alone."""
    process = script(env, [sys.executable, "-c"], """
        import ctypes, os, threading, time
        libc = ctypes.CDLL(None)
        now = ctypes.c_long(0)
        def stamp():
            while True: libc.localtime(ctypes.byref(now))
        for _ in range(2): threading.Thread(target=stamp, daemon=True).start()
        while True:
            child = os.fork()
            if not child:
                libc.localtime(ctypes.byref(now))
                os._exit(0)
            end = time.monotonic() + 1
            while time.monotonic() < end and not os.waitpid(child, os.WNOHANG)[0]: time.sleep(0.001)
            if time.monotonic() >= end: break
        print(flush=True)
        time.sleep(60)
        """)
    hung = children(process.pid)
    recorder = Recorder(env, "-p", str(hung[0]), "-d", "1.5", out=env.temporary("forked.offcpu"))
    recorder.wait()
    report, first = recorder.report(status=0), Told(env, recorder.out)
    env.check.equal(report.data["findings"][0]["reason"], "lock.mutex", f"the first finding: {first.shown}")
    first.names("its process has no other thread: it was forked while a thread had the lock")
    end(process)


@case
@nightly
def consumer_of_a_message_queue_keeps_up(env):
    """Healthy: it takes each message at once, and nothing tells what it should do meanwhile."""
    process = script(env, [sys.executable, "-c"], """
        import ctypes, os, time
        libc = ctypes.CDLL(None)
        queue = libc.msgget(0, 0o1600)
        text = ctypes.create_string_buffer(64)
        parent = os.getpid()
        if not os.fork():
            ctypes.cast(text, ctypes.POINTER(ctypes.c_long))[0] = 1
            while os.getppid() == parent:
                time.sleep(0.2)
                libc.msgsnd(queue, text, 8, 0)
            libc.msgctl(queue, 0, None)
            os._exit(0)
        def next_note(): libc.msgrcv(queue, text, 8, 0, 0)
        print(flush=True)
        while True: next_note()
        """)
    report, _ = record(env, process, "2")
    env.check.that("if this is meant: " in (report.data.get("little") or ""), f"what is said: {report.data.get('little')}")
    process.kill()      # the child removes the queue
    process.wait()


@case
@nightly
def transfer_that_keeps_to_its_own_rate(env):
    """curl with --limit-rate watches none of its connections between two pieces."""
    if not shutil.which("curl"):
        raise Skip("there is no curl")
    port = free_port()
    server = script(env, [sys.executable, "-c"], f"""
        import socket
        s = socket.create_server(("127.0.0.1", {port}))
        print(flush=True)
        c = s.accept()[0]
        c.recv(1000)
        c.send(b"HTTP/1.0 200 OK\\r\\nContent-Length: 50000000\\r\\n\\r\\n")
        while True: c.send(b"x" * 100000)
        """)
    process = subprocess.Popen(["curl", "-s", "--limit-rate", "200k", "-o", "/dev/null", f"http://127.0.0.1:{port}/"], preexec_fn=default_signals)
    env.running.append(process)
    wait_until(lambda: process.poll() is not None, 1)
    report, _ = record(env, process, "4")
    env.check.that("curl sleeps to keep to a limit of its own rate" in (report.data.get("little") or ""), f"what is said: {report.data.get('little')}")
    end(process)
    end(server)


GO = """
package main
import ("crypto/tls"; "fmt"; "net/http"; "time")
//go:noinline
func chargeCard(c *http.Client) { if r, err := c.Get("https://127.0.0.1:PORT/"); err == nil { r.Body.Close() } }
func main() {
	c := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	go func() { time.Sleep(500 * time.Millisecond); fmt.Println("ready") }()
	for { chargeCard(c) }
}
"""


@case
@nightly
def handshake_that_a_client_of_go_waits_for(env):
    """The connection is taken by the kernel, and nobody shakes hands: no pool is short of any."""
    if not shutil.which("go"):
        raise Skip("go is not installed")
    folder = env.temporary("go-handshake")
    os.makedirs(folder)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        with open(f"{folder}/charge.go", "w", encoding="ascii") as f:
            f.write(GO.replace("PORT", str(silent.getsockname()[1])))
        built = subprocess.run(["go", "build", "-o", f"{folder}/charge", f"{folder}/charge.go"], capture_output=True, text=True, check=False,
                               env={**os.environ, "GO111MODULE": "off", "GOTOOLCHAIN": "local"})
        if built.returncode:
            raise Skip(f"go failed: {built.stderr.strip()[-200:]}")
        process = subprocess.Popen([f"{folder}/charge"], stdout=subprocess.PIPE, preexec_fn=default_signals)
        env.running.append(process)
        process.stdout.readline()
        report, first = record(env, process)
        found = (report.data.get("task_findings") or [{}])[0]
        env.check.equal(found.get("function"), "main.chargeCard", f"the first one shown: {first.shown}")
        env.check.that(found.get("task_ns", 0) >= 0.7 * report.data["window"]["duration_ns"], f"{found.get('task_ns')} ns of one goroutine")
        first.names("waits for a connection to be made, in its TLS handshake")
        end(process)


@case
@nightly
def what_a_pausing_program_tries_is_told(env):
    """A lock that another has, by Perl's flock(), by mkdir(); a server that looks for a file; a full pipe, which is no lock."""
    folder = env.temporary("tries")
    os.mkdir(folder)
    lock = open(os.path.join(folder, "store.lock"), "w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.mkdir(os.path.join(folder, "taken"))
    perl = script(env, ["perl", "-e"], f"""
        use Fcntl ':flock'; $| = 1; open(my $f, '>', '{folder}/store.lock'); print "\n";
        select(undef, undef, undef, 0.5) until flock($f, LOCK_EX | LOCK_NB);
        """)
    python = script(env, [sys.executable, "-c"], f"""
        import os, time
        def take():
            while True:
                try: return os.mkdir('{folder}/taken')
                except FileExistsError: time.sleep(0.4)
        print(flush=True); take()
        """)
    server = script(env, [sys.executable, "-c"], f"""
        import os, socket, threading, time
        def look():
            while not os.path.exists('{folder}/override'): time.sleep(0.5)
        threading.Thread(target=look).start()
        s = socket.create_server(('127.0.0.1', 0)); print(flush=True); s.accept()
        """)
    writer = script(env, [sys.executable, "-c"], """
        import os, time
        r, w = os.pipe(); os.set_blocking(w, False)
        def push():
            while True:
                try: os.write(w, b'x' * 4096)
                except BlockingIOError: time.sleep(0.4)
        print(flush=True); push()
        """)
    try:
        record(env, perl, "4.5")[1].names("tries to lock store.lock fail, as another process has locked it")
        record(env, python, "4.5")[1].names("taken fail, as it is there already")
        record(env, server, "4.5")[1].is_healthy()
        told = record(env, writer, "4.5")[1]
        env.check.that("has locked it" not in told.shown, told.shown)
    finally:
        for process in perl, python, server, writer:
            end(process)


@case
@nightly
def loop_whose_peer_does_not_read(env):
    """asyncio sleeps in epoll until there is room, by a connection of its own; a server with a client that reads slowly is little to find."""
    text = """
        import asyncio
        async def main():
            if SERVES:
                async def reply(reader, writer):
                    writer.write(b"x" * 50000000)
                    await writer.drain()
                server = await asyncio.start_server(reply, "127.0.0.1", PORT)
                print(flush=True)
                await server.serve_forever()
            reader, writer = await asyncio.open_connection("127.0.0.1", PORT)
            writer.write(b"x" * 50000000)
            print(flush=True)
            await writer.drain()
        asyncio.run(main())
        """
    for serves in False, True:
        port = free_port()
        values = {"SERVES": serves, "PORT": port}
        text_of = re.sub("SERVES|PORT", lambda word: str(values[word.group()]), text)
        if serves:
            process = script(env, [sys.executable, "-c"], text_of)
            peer = socket.create_connection(("127.0.0.1", port))
        else:
            listener = socket.create_server(("127.0.0.1", port))
            process = script(env, [sys.executable, "-c"], text_of)
            peer = listener.accept()[0]
        report, first = record(env, process)
        if serves:
            first.is_healthy()
        else:
            spent = report.data["findings"][0]["time_ns"]
            env.check.that(spent > 0.9 * report.data["window"]["duration_ns"], f"it waits all the time: {spent} ns")
            first.names("waits for a peer that reads too slowly", f"127.0.0.1:{port}")
            listener.close()
        peer.close()
        end(process)


def low_port():
    """Below those that the kernel chooses, as a server's: of others it is not known who asks."""
    for port in range(21000 + os.getpid() % 5000, 32000):
        try:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
                s.bind(("127.0.0.1", port))
            return port
        except OSError:
            pass
    raise Skip("all ports below 32,000 are taken")


@case
@nightly
def datagrams_that_come_too_fast(env):
    """Each is stored before the next one is read, so the kernel drops most; the same reader keeps up with ten a second."""
    for pause in 0.0005, 0.1:
        port = low_port()
        process = script(env, [sys.executable, "-c"], f"""
            import socket, time
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            s.bind(("127.0.0.1", {port}))
            def store(line): time.sleep(0.005)
            print(flush=True)
            while True: store(s.recv(1000))
            """)
        sender = script(env, [sys.executable, "-c"], f"""
            import socket, time
            s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            print(flush=True)
            while True:
                s.sendto(b"x" * 500, ("127.0.0.1", {port}))
                time.sleep({pause})
            """)
        report, first = record(env, process)
        if pause < 0.01:
            first.names("sleeps until a timer in store", culprits=["store"])
            evidence = report.data["headlines"][0]["evidence"]
            env.check.that(re.search(rf"meanwhile [0-9,]+ datagrams at :{port} were dropped", evidence), f"what is told beside it: {evidence}")
        else:
            first.is_healthy()
        end(process)
        end(sender)


@case
@nightly
def who_waits_for_redis_is_told_if_that_works(env):
    """Workers take from a list that fills now and then: the server rests, and that may be meant; one that runs scripts is busy."""
    if not shutil.which("redis-server"):
        raise Skip("redis-server is not installed")
    port = free_port()
    server = on_port(env, ["redis-server", "--port", str(port), "--save", "", "--dir", env.directory], port)
    asks = """
        import socket, threading, time
        def ask(command, pause=0):
            s = socket.create_connection(("127.0.0.1", PORT))
            while True:
                s.sendall(command + b"\\r\\n"); s.recv(200); time.sleep(pause)
        WHO
        print(flush=True)
        """
    consumers = "for _ in range(3): threading.Thread(target=ask, args=(b'blpop mail 5',)).start()"
    producer = "threading.Thread(target=ask, args=(b'rpush mail letter', 0.12)).start()"
    scripts = "threading.Thread(target=ask, args=(b\"eval 'for i = 1, 30000000 do end' 0\", 0.01)).start()"
    programs = [server]

    def begin(who):
        programs.append(script(env, [sys.executable, "-c"], asks.replace("PORT", str(port)).replace("WHO", who)))
        return programs[-1]

    begin(producer)
    try:
        told = record(env, begin(consumers), "4")[1]
        told.is_healthy()
        env.check.that("had nothing to do meanwhile" in told.shown, told.shown)
        record(env, begin(scripts), "4")[1].names("redis-server", "has been busy")
    finally:
        for process in programs:
            end(process)


@case
def answers_that_stay_in_the_socket(env):
    """A server sends head and body apart, and no thread waits for what TCP holds back; with TCP_NODELAY nothing is."""
    for at_once in 0, 1:
        process = script(env, [sys.executable, "-c"], """
            import os, socket, threading
            listener = socket.create_server(("127.0.0.1", 0))
            parent = os.getpid()
            if not os.fork():
                def browse():
                    with socket.create_connection(listener.getsockname()) as s:
                        while os.getppid() == parent:
                            s.sendall(b"GET /item")
                            if len(s.recv(64, socket.MSG_WAITALL)) < 64: break
                for _ in range(4): threading.Thread(target=browse).start()
            else:
                def serve(s):
                    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, AT_ONCE)
                    while s.recv(64):
                        s.sendall(b"h" * 24)
                        s.sendall(b"b" * 40)
                for _ in range(4): threading.Thread(target=serve, args=listener.accept()[:1]).start()
                print(flush=True)
            """.replace("AT_ONCE", str(at_once)))
        _, first = record(env, process, "4")
        if at_once:
            env.check.that("acknowledged" not in first.shown, f"nothing is held back: {first.shown}")
        else:
            first.names("sends answers in pieces", "until the client acknowledged its beginning", culprits=["TCP_NODELAY"])
        end(process)


SHOP = """
    import hashlib, os, socket, threading
    listener = socket.create_server(("127.0.0.1", 0))
    parent = os.getpid()
    if not os.fork():
        def browse():
            with socket.create_connection(listener.getsockname()) as s:
                while os.getppid() == parent:
                    s.sendall(b"GET /item")
                    if not s.recv(64): break
        for _ in range(4): threading.Thread(target=browse).start()
    else:
        def price_items(s):
            while s.recv(64):
                hashlib.pbkdf2_hmac("sha256", b"item", b"salt", 3000)
                s.sendall(b"price")
        for _ in range(4): threading.Thread(target=price_items, args=listener.accept()[:1]).start()
        print(flush=True)
    """


@case
def job_that_has_the_cpus(env):
    """On a whole machine a service waits for CPUs that jobs in two languages have; one that leaves them to it (SCHED_IDLE) is not to blame."""
    jobs = [(["sha256sum", "/dev/zero"], "sha256sum"), (["perl", "-e", "1 while 1"], "perl"), (["chrt", "-i", "0", "sha256sum", "/dev/zero"], None)]
    for command, name in (job for job in jobs if shutil.which(job[0][0])):
        shop = script(env, [sys.executable, "-c"], SHOP)
        others = [subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) for _ in range(3 * os.cpu_count())]
        env.running += others
        recorder = Recorder(env, "-a", "-d", "3", out=env.temporary(f"cpus-{shop.pid}.offcpu"))
        recorder.wait()
        told = Told(env, recorder.out)
        if name:
            told.names("waits for a CPU", f"meanwhile {name} ({len(others)} processes) used", "Another program has the CPUs")
        else:
            env.check.that("Another program has the CPUs" not in told.shown, f"a job that yields: {told.shown}")
        for other in others:
            other.kill()
            other.wait()
        end(shop)
