# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Answers of a server that lies: one sentence, exit status 1, and nothing that a sanitizer would say."""
import http.server
import json
import random
import struct
import threading

import test_clickhouse
from tap import point

SEED = 20261126
KNOWS_TASKS = 1 << 6


def text(s):
    return bytes([len(s)]) + s.encode()


def window_row(duration_ns=10**9):
    out = text("h") + struct.pack("<QQQI", 1700000000 * 10**9, 5, duration_ns, 2)
    out += text("6.1") + text("0.1") + text("") + text("")
    out += struct.pack("<6Q", *[1] * 6) + struct.pack("<4I", KNOWS_TASKS, 0, 0, 0) + struct.pack("<3Q", 0, 0, 0)
    return out + struct.pack("<6I", *[0] * 6) + struct.pack("<QQI", 0, 0, 0)


def thread_row(observed_ns=10**9):
    out = text("h") + text("p") + text("c") + struct.pack("<IIQI", 1, 1, 1, 0)
    return out + struct.pack("<I", 0) + text("p") + struct.pack("<9Q", 0, observed_ns, 0, observed_ns, 0, 0, 0, 0, 1)


def frame_row(name=text("f"), kind=0):
    return (struct.pack("<Q", 11) + name + text("m") + text("") + bytes(8) + text("") + bytes(4) + bytes([kind, 0, 0]))


def stack_row(cnt=1, frame=11, end=1):
    return struct.pack("<QBB", 7, end, cnt) + struct.pack("<Q", frame) * cnt


def wait_row(stack=7, state="S", ns=10**9, hist=48, waker=0):
    out = text("h") + text("p") + text("c") + struct.pack("<IIQI", 1, 1, 1, 0) + text(state) + b"\0"
    out += struct.pack("<4Q", stack, 0, 0, 99) + struct.pack("<9Q", 1, ns, 0, 0, ns, 0, waker, 0, 0)
    return out + bytes([hist]) + bytes(8 * hist)


def whose(kind="goroutine"):
    return text("h") + text("p") + struct.pack("<I", 1) + text(kind)


def population_row(kind="goroutine", window_ns=10**9, looks=5, ppm=10**6):
    return whose(kind) + text("1.19") + struct.pack("<8Q", window_ns, looks, 5000, ppm, 1, 0, 0, 0) + b"\0"


def task_row(kind="goroutine", stack=7, end=1, state="waiting", task_ns=10**9):
    out = whose(kind) + text(state) + text("select") + struct.pack("<QB", stack, end) + text("main.go") + text("a.go")
    return out + struct.pack("<IQ", 3, 1) + text("") + text("") + struct.pack("<3Q", 5, task_ns, 10**6)


def answers(**changes):
    """By the table that a query reads from."""
    return {"windows": window_row(), "task_populations": population_row(), "tasks": task_row(), "threads": thread_row(), "states": b"", "frames": frame_row(), "stacks": stack_row(), "objects": b"",
            "waits": wait_row(), "on_cpu": b"", "losses": b"", **changes}


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_POST(self):
        sql = self.rfile.read(int(self.headers["Content-Length"])).decode()
        of_services = "most_service" not in sql and ("GROUP BY host, service" in sql or "GROUP BY host ORDER BY host LIMIT" in sql)
        table = "hosts" if "most_service" in sql else "peers" if "side = 'server' AND" in sql else "frames" if " ARRAY JOIN " in sql else "" if sql == "SELECT 1" else sql.split(" FROM `offcpu`.", 1)[1].split(" ", 1)[0]
        table = f"services: {table}" if of_services else table
        body = self.server.answers.get(table, b"")
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass


CASES = {
    "a window longer than there is time": answers(windows=window_row(2**63)),
    "windows that add up to more": answers(windows=window_row(2**61) * 16),
    "a thread longer than there is time": answers(threads=thread_row(2**62 + 1)),
    "threads that add up to more": answers(threads=b"".join(
        thread_row(2**61).replace(struct.pack("<IIQI", 1, 1, 1, 0), struct.pack("<IIQI", 1, n, 1, 0)) for n in range(1, 9))),
    "a wait without its thread": answers(threads=b""),
    "a wait in no known state": answers(waits=wait_row(state="x")),
    "a wait with a state of two letters": answers(waits=wait_row(state="SS")),
    "a wait of 292 years": answers(waits=wait_row(ns=2**63)),
    "tasks of no known kind": answers(task_populations=population_row(kind="fibers")),
    "tasks without a window": answers(task_populations=population_row(window_ns=0)),
    "tasks that were not looked at": answers(task_populations=population_row(looks=0)),
    "more tasks looked at than there are": answers(task_populations=population_row(ppm=10**6 + 1)),
    "a task without its process": answers(task_populations=b""),
    "a task in no state": answers(tasks=task_row(state="")),
    "a task whose stack ends in no known way": answers(tasks=task_row(end=200)),
    "a task of 292 years": answers(tasks=task_row(task_ns=2**63)),
    "half a task": answers(tasks=task_row()[:-3]),
    "a histogram of too many bars": answers(waits=wait_row(hist=100)),
    "a stack of no frames": answers(stacks=stack_row(cnt=0)),
    "a stack that ends in no known way": answers(stacks=stack_row(end=200)),
    "half a stack": answers(stacks=stack_row(cnt=3)[:-1]),
    "a frame of no known kind": answers(frames=frame_row(kind=9)),
    "a text longer than the answer": answers(frames=frame_row(name=b"\xff\xff\xff\xff\x0fabc")),
    "a length of too many bits": answers(frames=frame_row(name=b"\xff" * 12)),
    "half a row": answers(waits=wait_row()[:-5]),
    "bytes behind the last row": answers(waits=wait_row() + b"xyz"),
    "no window": answers(windows=b""),
}

# What is sent once a day may be gone, or not be this reader's: the rest is shown, and the loss told.
WITHOUT_CONTENTS = {
    "a wait without its stack": answers(stacks=b""),
    "a stack without one of its frames": answers(stacks=stack_row(frame=12)),
    "a longest wait without its waker": answers(waits=wait_row(waker=5)),
    "a task without its stack": answers(tasks=task_row(stack=8)),
}


def ask(program, server):
    return program.run("report", "--clickhouse", f"http://127.0.0.1:{server.server_address[1]}", "--from", "2023-11-14T00:00",
                       "--full")


def is_well(status, out, err):
    lines = err.strip().splitlines()
    return (status == 0 and out) or (status == 1 and len(lines) == 1 and lines[0].startswith("offcpu report: "))


def check_random(program, server):
    """True answers with bytes changed: the program may believe them, but it stays in one piece."""
    rng = random.Random(SEED)
    wrong = []
    for n in range(200):
        server.answers = answers()
        table = rng.choice(("windows", "threads", "frames", "stacks", "waits", "task_populations", "tasks"))
        data = bytearray(server.answers[table])
        for _ in range(rng.choice((1, 1, 2, 8))):
            data[rng.randrange(len(data))] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
        if rng.random() < 0.3:
            data = data[:rng.randrange(len(data) + 1)]
        server.answers[table] = bytes(data)
        result = ask(program, server)
        if not is_well(*result):
            wrong.append(f"{n}: {table}: {result}")
    point("answers with bytes changed: a report or a sentence", "\n".join(wrong[:3]))


def peer_row(host="h", local="10.0.0.5:80"):
    return text(host) + text("p") + struct.pack("<I", 1) + text(local) + text("") + struct.pack("<QQ", 0, 2**64 - 1)


def check_follow(program, server):
    """Whom --follow asks: rows of hosts, then of connections, whose host is asked."""
    client = struct.pack("<IB", 1, 0) + text("10.0.0.9:1") + text("10.0.0.5:80")
    socket_row = struct.pack("<Q", 5) + text("socket") + b"\0" + text("") + text("10.0.0.5:80") + text("tcp") + bytes(16)
    waits = wait_row().replace(struct.pack("<4Q", 7, 0, 0, 99), struct.pack("<4Q", 0, 7, 5, 99))
    good = answers(hosts=host_row(), frames=frame_row(name=text("tcp_recvmsg"), kind=1), objects=socket_row, waits=waits, connections=client, peers=peer_row())
    for name, changes, words in (
            ("what is right is followed", {}, "Meanwhile on h"), ("a host that is called as a lie", {"peers": peer_row(host="\x1b[31m$W")}, ""),
            ("half a row of a connection", {"peers": peer_row()[:-1]}, "damaged"), ("more rows than were asked for", {"peers": peer_row() * 10001}, "damaged"),
            ("half a connection", {"connections": client[:-1]}, "damaged"), ("connections without end", {"connections": client * 5000}, "Meanwhile on h"),
            ("no address at all", {"connections": struct.pack("<IB", 1, 9) + text("") + text("")}, "Meanwhile on h")):
        server.answers = {**good, **changes}
        status, out, err = program.run("report", "--clickhouse", f"http://127.0.0.1:{server.server_address[1]}", "--from", "2023-11-14T00:00", "--follow")
        point(f"hostile: follow: {name}", None if is_well(status, out, err) and words in out + err and "\x1b" not in out + err else f"{status} {out} {err}")


def host_row(host="h", finding="<script>&"):
    return (text(host) + text("0.1") + text("6.1") + struct.pack("<I7Q", 2, 1, 10**18, 10**9, 1, 0, 10**9, 10**9) + text("<i>") + text("lock") +
            struct.pack("<Q", 1) + text(finding))


def check_fleet(program, server, folder):
    """What `serve --fleet` makes of rows of hosts."""
    served = test_clickhouse.Served(program, f"http://127.0.0.1:{server.server_address[1]}", folder, "none")
    try:
        server.answers = {"hosts": host_row(host='"><b>')}
        status, page = served.get("all", "")
        point("hostile: names of hosts and findings are no markup", None if status == 200 and "&lt;script&gt;&amp;" in page and
              not any(bad in page for bad in ("<script", "<b>", "<i>")) else f"{status} {page[-900:]}")
        for name, rows in (("half a row of a host", host_row()[:-1]), ("a name longer than the answer", b"\xff\xff\xff\x0fabc"),
                           ("more hosts than were asked for", host_row() * 5001)):
            server.answers = {"hosts": rows}
            status, said = served.get("all", "api/hosts")
            point(f"hostile: {name}", None if status == 500 and len(said) < 200 and "damaged" in said else f"{status} {said[:300]}")
    finally:
        served.stop()


def service_rows(service="<b>&", name="10.0.0.5:80 (<i>)", ns=10**9, cnt=1, local="10.0.0.5:80"):
    """By the table that a query reads from: one service that waits for another, which serves that address."""
    asks = text("h") + text(service) + text("network.receive") + b"\0" + text("socket") + text(name) + struct.pack("<QQ", ns, 0)
    serves = text("h") + text('"><script>') + struct.pack("<IB", 1, 1) + text(local) + text("")
    return {"services: windows": text("h") + struct.pack("<Q", ns), "services: threads": text("h") + text(service) + struct.pack("<Q", ns),
            "services: waits": asks * cnt, "services: connections": serves * cnt}


def check_services(program, server, folder):
    """What `serve --fleet` draws of rows of services."""
    served = test_clickhouse.Served(program, f"http://127.0.0.1:{server.server_address[1]}", folder, "none")
    try:
        server.answers = service_rows()
        status, page = served.get("all", "services")
        point("hostile: names of services are no markup", None if status == 200 and "&lt;b&gt;&amp;" in page and "&quot;&gt;&lt;script&gt;" in page and
              not any(bad in page for bad in ("<script", "<b>", "<i>")) else f"{status} {page[-900:]}")
        for name, rows in (("times without end", service_rows(ns=2**64 - 1, cnt=3)), ("no time at all", service_rows(ns=0)), ("no address", service_rows(name=":::", local="")),
                           ("a service without a name", service_rows(service="")), ("thousands of the same", service_rows(cnt=5000))):
            server.answers = rows
            graph = json.loads(served.get("all", "api/services")[1])
            status = served.get("all", "services?of=%3Cb%3E%26")[0]
            point(f"hostile: services: {name}", None if status == 200 and len(graph["edges"]) <= 1 else f"{status} {graph}")
        for table in service_rows():
            server.answers = {**service_rows(), table: service_rows()[table][:-1]}
            status, said = served.get("all", "api/services")
            point(f"hostile: {table}, half a row", None if status == 500 and len(said) < 200 and "damaged" in said else f"{status} {said[:300]}")
    finally:
        served.stop()


def run(program, recordings, folder):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.status, server.answers = 200, answers()
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    status, out, err = ask(program, server)
    point("hostile: what is right is read", None if status == 0 and "1.00 s" in out else err + out)
    for name, server.answers in CASES.items():
        status, out, err = ask(program, server)
        point(f"hostile: {name}", None if status == 1 and is_well(status, out, err) else f"{status} {err}")
    for name, server.answers in WITHOUT_CONTENTS.items():
        status, out, err = ask(program, server)
        point(f"hostile: {name}: a loss, and the rest", None if status == 0 and "ClickHouse has rows whose" in out + err else f"{status} {out} {err}")
    server.status, server.answers = 500, {"windows": b"Code: 999, \x1b[31mred\n" + b"x" * 100000}
    status, out, err = ask(program, server)
    point("hostile: an error's text is cut, and harmless",
          None if is_well(status, out, err) and len(err) < 1000 and "\x1b" not in err else err)
    server.status = 200
    check_random(program, server)
    check_follow(program, server)
    check_fleet(program, server, folder)
    check_services(program, server, folder)
    server.shutdown()
    server.server_close()
