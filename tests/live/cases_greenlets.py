# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu tasks`: greenlets of gevent and eventlet, whose programs ask greenlet itself where each one is, and time their waits."""

import collections
import json
import subprocess

from cases_python import has_module, readable_pythons
from cases_tasks import look, own
from lib import Skip, case, nightly

MINORS = range(11, 16)
# of each greenlet that is parked, the program's own innermost function; with `late` not those that have run or are the hub
TRUTH = """
import collections, gc, greenlet, json, sys
def told():
    seen = collections.Counter()
    for g in gc.get_objects():
        if not isinstance(g, greenlet.greenlet) or g is greenlet.getcurrent() or g.dead:
            continue
        frame = g.gr_frame
        if not frame:
            seen[""] += 1
            continue
        names = []
        while frame:
            names.append((frame.f_code.co_filename, frame.f_code.co_name))
            frame = frame.f_back
        if not any(file.endswith("/hub.py") and name == "run" for file, name in names):
            seen[next(name for file, name in names if file == __file__)] += 1
    seen["main"] += 1
    return json.dumps(seen)
"""
GEVENT = TRUTH + """
import gevent, gevent.event, gevent.lock, gevent.queue, gevent.socket
def fetch(n):
    gevent.sleep(n)
def handler(n):
    return list(map(fetch, [n]))
def locked(lock):
    with lock:
        pass
def relocked(lock):
    with lock:
        pass
def listener(event):
    event.wait()
def getter(queue):
    queue.get()
def putter(queue):
    queue.put(2)
def joiner(other):
    other.join()
def reader(peer):
    peer.recv(10)
def result(of):
    of.get()
def main():
    lock, relock, event, full = gevent.lock.Semaphore(), gevent.lock.RLock(), gevent.event.Event(), gevent.queue.Queue(1)
    lock.acquire()
    relock.acquire()
    full.put(1)
    ends = gevent.socket.socketpair()
    tasks = [gevent.spawn(handler, 1000) for _ in range(8)]
    for function, argument, cnt in ((locked, lock, 5), (relocked, relock, 4), (listener, event, 3), (getter, gevent.queue.Queue(), 2),
                                    (putter, full, 70), (joiner, tasks[0], 6), (result, gevent.event.AsyncResult(), 2), (reader, ends[0], 1)):
        tasks += [gevent.spawn(function, argument) for _ in range(cnt)]
    over = [gevent.spawn(int) for _ in range(7)]
    gevent.joinall(over)
    late = [gevent.Greenlet(handler, 1) for _ in range(3)]
    gevent.sleep(0.2)
    print(told(), flush=True)
    gevent.sleep(1000)
main()
"""
# what they call, and how many do
GEVENT_CALLS = {("fetch", "sleep"): 8, ("locked", "Semaphore.acquire"): 5, ("relocked", "RLock.__enter__"): 4, ("listener", "Event.wait"): 3,
                ("getter", "Queue.get"): 2, ("putter", "Queue.put"): 70, ("joiner", "Greenlet.join"): 6, ("result", "AsyncResult.get"): 2,
                ("reader", "SocketMixin.recv"): 1, ("main", "sleep"): 1, (None, None): 3}
EVENTLET = """
import eventlet
eventlet.monkey_patch()
""" + TRUTH + """
import eventlet.queue, eventlet.semaphore, socket
def fetch(n):
    eventlet.sleep(n)
def handler(n):
    return list(map(fetch, [n]))
def locked(lock):
    with lock:
        pass
def getter(queue):
    queue.get()
def putter(queue):
    queue.put(2)
def server(listening):
    listening.accept()
def main():
    lock, full, listening = eventlet.semaphore.Semaphore(), eventlet.queue.Queue(1), socket.socket()
    lock.acquire()
    full.put(1)
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    for function, argument, cnt in ((handler, 1000, 8), (locked, lock, 5), (getter, eventlet.queue.Queue(), 2), (putter, full, 3),
                                    (server, listening, 1)):
        for _ in range(cnt):
            eventlet.spawn(function, argument)
    eventlet.sleep(0.2)
    print(told(), flush=True)
    eventlet.sleep(1000)
main()
"""
EVENTLET_CALLS = {("fetch", "sleep"): 8, ("locked", "Semaphore.__enter__"): 5, ("getter", "LightQueue.get"): 2, ("putter", "LightQueue.put"): 3,
                  ("server", "GreenSocket.accept"): 1, ("main", "sleep"): 1}
NAPPERS = """
import gevent, gevent.event, gevent.threadpool, json, sys, time
spent, doing = [0.0, 0.0], {}
def churn():
    while True:
        gevent.joinall([gevent.spawn(gevent.sleep, 0.001) for _ in range(20)])
        gevent.sleep(0.01)
def napper(i):
    while True:
        doing[i] = (0, time.monotonic())
        gevent.sleep(0.3 + 0.007 * i)
        spent[0] += time.monotonic() - doing[i][1]
        event = gevent.event.Event()
        gevent.spawn_later(0.5 + 0.011 * i, event.set)
        doing[i] = (1, time.monotonic())
        receiver(event)
        spent[1] += time.monotonic() - doing[i][1]
def receiver(event):
    event.wait()
def main():
    begun = time.monotonic()
    for i in range(20):
        gevent.spawn(napper, i)
        gevent.sleep(0.04)
    gevent.spawn(churn)
    print("ready", flush=True)
    while gevent.get_hub().threadpool.apply(sys.stdin.readline):
        now, sums = time.monotonic(), list(spent)
        for kind, since in doing.values():
            sums[kind] += now - since
        print(json.dumps({"ns": int((now - begun) * 1e9), "napper": int(sums[0] * 1e9), "receiver": int(sums[1] * 1e9)}), flush=True)
main()
"""
SHOP = """
from gevent import monkey
monkey.patch_all()
import gevent, socket
from gevent.lock import BoundedSemaphore
places, listening = BoundedSemaphore(2), socket.socket()
def neighbour(peer):
    while peer.recv(10):
        gevent.sleep(0.02)
        peer.sendall(b"x")
def serve():
    while True:
        gevent.spawn(neighbour, listening.accept()[0])
def ask(peer):
    peer.sendall(b"q")
    peer.recv(10)
def client():
    peer = socket.create_connection(listening.getsockname())
    while True:
        with places:
            ask(peer)
listening.bind(("127.0.0.1", 0))
listening.listen(50)
gevent.spawn(serve)
for _ in range(9):
    gevent.spawn(client)
print("ready", flush=True)
gevent.sleep(1000)
"""


class Program:
    def __init__(self, env, python, text):
        path = env.temporary("greenlets.py")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        self.process = subprocess.Popen([python, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        env.running.append(self.process)
        self.first = self.process.stdout.readline()

    def ask(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.kill()
        self.process.wait()


def call(row):
    """What the program's own function has called."""
    names = [frame["name"] for frame in row["stack"]]
    return names[names.index(own(row)) - 1] if own(row) in names[1:] else None


def pythons_with(module):
    found = [python for minor, python in readable_pythons() if minor in MINORS and has_module(python, module)]
    if not found:
        raise Skip(f"no CPython 3.11 to 3.15 with {module} is here")
    return sorted(set(found))


@case
@nightly
def greenlets_are_counted_where_they_wait(env):
    """The hub, those that are over, and the one that runs are none; frames on a stack of C that was copied away are read, too."""
    for module, text, calls in (("gevent", GEVENT, GEVENT_CALLS), ("eventlet", EVENTLET, EVENTLET_CALLS)):
        for python in pythons_with(module):
            program = Program(env, python, text)
            data, truth = look(env, program), json.loads(program.first)
            program.stop()
            seen, called = collections.Counter(), collections.Counter()
            for row in data["rows"]:
                seen[own(row) or ""] += row["tasks_milli"] // 1000
                called[own(row), call(row)] += row["tasks_milli"] // 1000
            env.check.equal(dict(seen), truth, f"{module}, {data['version']}: as greenlet has them")
            env.check.equal(dict(called), calls, f"{module}, {data['version']}: what they call")
            env.check.that(not any(data["lacks"].values()), f"{data['lacks']}")
            for row in data["rows"]:
                if own(row) == "fetch":
                    env.check.equal([frame["name"] for frame in row["stack"]][-3 if module == "eventlet" else -2:][:2], ["fetch", "handler"],
                                    f"{module}, {data['version']}: through map()")


@case
@nightly
def greenlet_time_is_what_they_measure(env):
    for python in pythons_with("gevent"):
        program = Program(env, python, NAPPERS)
        before = program.ask()
        data = look(env, program, "-d", "8", "-F", "5")
        after = program.ask()
        program.stop()
        for function in ("napper", "receiver"):
            truth = (after[function] - before[function]) / (after["ns"] - before["ns"])
            rows = [row for row in data["rows"] if own(row) == function]
            seen = sum(row["task_ns"] for row in rows) / data["window_ns"]
            error = sum(row["task_se_ns"] ** 2 for row in rows) ** 0.5 / data["window_ns"]
            lost = data["lacks"]["stale"] / data["looks"]
            env.check.that(abs(seen - truth) <= max(0.02 * truth, 3 * error) + lost,
                           f"{data['version']}: {function}: {seen:.3f} greenlets, not {truth:.3f} (error {error:.3f}, changed {lost:.3f})")


@case
@nightly
def greenlets_short_of_places_are_a_finding(env):
    program, recording = Program(env, pythons_with("gevent")[0], SHOP), env.temporary("shop.offcpu")
    made = subprocess.run([env.offcpu, "record", "-p", str(program.process.pid), "-d", "3", "-o", recording], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)
    program.stop()
    env.check.equal(made.returncode, 0, f"status: {made.stderr[-300:]}")
    report = json.loads(subprocess.run([env.offcpu, "report", "--json", recording], capture_output=True, check=True).stdout)
    found = report["task_findings"]
    env.check.equal([(f["function"], f["call"]) for f in found], [("client", "Semaphore.acquire")], "findings of greenlets")
    env.check.that(found and 5 <= found[0]["tasks_milli"] / 1000 <= 9, f"{found}")
    text = " ".join(subprocess.run([env.offcpu, "report", recording], capture_output=True, text=True, check=True).stdout.split())
    env.check.that("greenlets wait for a semaphore in client" in text and "wait in ask" in text, text[:600])
