# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What threads of CPython wait for: the interpreter's lock, a lock of their own, work."""

import json
import os
import subprocess

from cases_doctor import SLEEPER, Examined
from cases_languages import PROGRAMS, pythons, real_version
from cases_reasons import check_sums, has_kernel_stack, of_waits
from lib import Recorder, Skip, case, fetched

SECONDS = 2

GIL = """
import sys, threading, time

end = time.monotonic() + float(sys.argv[1])

def burn():
    n = 0
    while time.monotonic() < end:
        n += 1

for _ in range(3):
    threading.Thread(target=burn).start()
"""

# Three threads that serve want the lock for a moment each; one holds it.
HOG = """
import sys, threading, time

end = time.monotonic() + float(sys.argv[1])

def hog():
    n = 0
    while time.monotonic() < end:
        n += 1

def serve():
    while time.monotonic() < end:
        time.sleep(0.001)

threads = [threading.Thread(target=function) for function in (hog, serve, serve, serve)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

# Two threads make what the collector looks through, and one has it stop them for that.
COLLECTED = """
import gc, sys, threading, time

end = time.monotonic() + float(sys.argv[1])
kept = [[i] for i in range(300000)]

def make():
    while time.monotonic() < end:
        some = [[i] for i in range(1000)]

def collect():
    while time.monotonic() < end:
        gc.collect()
        time.sleep(0.005)

threads = [threading.Thread(target=function) for function in (make, make, collect)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""

# Two threads take turns in counting, each in a function of its own; three others want the lock for a moment each.
HOLDERS = """
import mmap, sys, threading, time

with open(sys.argv[2], "r+b") as file:
    phase = mmap.mmap(file.fileno(), 1)
end = time.monotonic() + float(sys.argv[1])
turns = [threading.Event(), threading.Event()]

def crunch_one(until):
    n = 0
    while time.monotonic() < until:
        n += 1

def crunch_two(until):
    n = 0
    while time.monotonic() < until:
        n += 1

def turn(mine, function):
    while time.monotonic() < end:
        turns[mine].wait()
        turns[mine].clear()
        phase[0] = mine + 1
        function(time.monotonic() + 0.1)
        phase[0] = 0
        turns[1 - mine].set()

def serve():
    while time.monotonic() < end:
        time.sleep(0.001)

time.sleep(0.5)
threads = [threading.Thread(target=turn, args=args) for args in ((0, crunch_one), (1, crunch_two))]
threads += [threading.Thread(target=serve) for _ in range(3)]
for thread in threads:
    thread.start()
turns[0].set()
for thread in threads:
    thread.join()
"""

# An event loop with a coroutine that calls what blocks, and one that does not.
LOOP = """
import asyncio, json, sqlite3, sys, threading, time

end = time.monotonic() + float(sys.argv[1])
spent = {"nap": 0, "query": 0, "good": 0}

def timed(what, function, *arguments):
    began = time.monotonic_ns()
    function(*arguments)
    spent[what] += time.monotonic_ns() - began

def nap():
    time.sleep(0.03)

def locked_for_a_moment(database, held):
    database.execute("BEGIN EXCLUSIVE")
    held.set()
    time.sleep(0.1)
    database.execute("COMMIT")

def query(database):
    database.execute("SELECT * FROM t").fetchall()

async def bad(path):
    ours = sqlite3.connect(path, timeout=5)
    theirs = sqlite3.connect(path, check_same_thread=False, isolation_level=None)
    while time.monotonic() < end:
        timed("nap", nap)
        await asyncio.sleep(0.01)
        held = threading.Event()
        thread = threading.Thread(target=locked_for_a_moment, args=(theirs, held))
        thread.start()
        while not held.is_set():
            await asyncio.sleep(0.001)
        timed("query", query, ours)
        while thread.is_alive():
            await asyncio.sleep(0.005)

async def good():
    while time.monotonic() < end:
        await asyncio.get_event_loop().run_in_executor(None, time.sleep, 0.05)
        await asyncio.sleep(0.02)

async def main():
    with sqlite3.connect(sys.argv[3]) as database:
        database.execute("CREATE TABLE t(a)")
    await asyncio.sleep(0.5)
    await asyncio.gather(bad(sys.argv[3]), good())

asyncio.run(main())
with open(sys.argv[2], "w") as file:
    json.dump(spent, file)
"""

# A service: a pool that has little to do, another one whose jobs want a lock, and a thread that writes a log.
SERVICE = """
import json, logging.handlers, queue, sys, threading, time
from concurrent.futures import ThreadPoolExecutor

end = time.monotonic() + float(sys.argv[1])
lock = threading.Lock()
mine = threading.local()
spent = {"pool": 0, "lock": 0}
totals = threading.Lock()

def add(what, ns):
    with totals:
        spent[what] += ns

def lookup(n):
    now = time.monotonic_ns()
    if hasattr(mine, "parked"):
        add("pool", now - mine.parked)
    time.sleep(0.002)
    mine.parked = time.monotonic_ns()

def book(n):
    while time.monotonic() < end:
        begin = time.monotonic_ns()
        with lock:
            add("lock", time.monotonic_ns() - begin)
            write_book()

def write_book():
    time.sleep(0.003)

records = queue.Queue()
listener = logging.handlers.QueueListener(records, logging.NullHandler())
listener.start()
idle = ThreadPoolExecutor(max_workers=4)
busy = ThreadPoolExecutor(max_workers=4)
threading.Event().wait(0.2)
for n in range(4):
    busy.submit(book, n)
while time.monotonic() < end:
    # four at once: each worker gets one, 50 times a second, always as long after the last one
    for n in range(4):
        idle.submit(lookup, n)
    records.put(logging.makeLogRecord({}))
    time.sleep(0.02)
idle.shutdown()
busy.shutdown()
listener.stop()
with open(sys.argv[2], "w") as file:
    json.dump(spent, file)
"""

BORN = """
import sys, threading, time

def nap():
    end = time.monotonic() + float(sys.argv[1])
    while time.monotonic() < end:
        time.sleep(0.01)

time.sleep(1)
threads = [threading.Thread(target=nap) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


# Ten threads of its pool have nothing to do; one greenlet and a callback of the hub's block the thread, another greenlet
# gives it away.
GREENLETS = """
import gevent, gevent.threadpool, json, sys, time

end = time.monotonic() + float(sys.argv[1])
spent = {"block": 0, "tick": 0}

def block():
    began = time.monotonic_ns()
    time.sleep(0.03)
    spent["block"] += time.monotonic_ns() - began

def tick():
    began = time.monotonic_ns()
    time.sleep(0.02)
    spent["tick"] += time.monotonic_ns() - began

def bad():
    while time.monotonic() < end:
        block()
        gevent.sleep(0.01)

def good():
    while time.monotonic() < end:
        gevent.sleep(0.02)

time.sleep(0.5)    # its files are looked at
pool = gevent.get_hub().threadpool
for task in [pool.spawn(time.sleep, 0.01) for _ in range(10)]:
    task.get()
timer = gevent.get_hub().loop.timer(0.1, 0.1)
timer.start(tick)
gevent.joinall([gevent.spawn(bad), gevent.spawn(good)])
timer.stop()
with open(sys.argv[2], "w", encoding="utf-8") as file:
    json.dump(spent, file)
time.sleep(1)    # names are read while it lives
"""


def readable_pythons(from_minor=8):
    return [version for version in map(real_version, pythons()) if from_minor <= version[0] <= 15]


def has_module(interpreter, name):
    return not subprocess.run([interpreter, "-c", f"import {name}"], stderr=subprocess.DEVNULL, check=False).returncode


def newest_python(from_minor=8):
    found = readable_pythons(from_minor)
    if not found:
        raise Skip(f"no CPython from 3.{from_minor} to 3.15 is installed")
    return max(found)[1]


def record(env, interpreter, text, *arguments, options=("--exact",), before=()):
    source = env.temporary("service.py")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    recorder = Recorder(env, *options, command=[interpreter, *before, source, str(SECONDS), *arguments])
    recorder.wait()
    return recorder.report(status=0)


def functions(wait):
    return {frame["name"] for frame in wait["user"]}


@case
def python_threads_that_want_the_gil(env):
    """Three threads that count: at each moment one of them runs, and two wait for the interpreter's lock."""
    report = record(env, newest_python(), GIL)
    blocked = sum(row["off_cpu_ns"] for row in report.data["reasons"] if row["reason"] == "lock.gil")
    waiting = sum(wait["off_cpu_ns"] for wait in report.data["waits"] if wait["reason"] == "lock.gil")
    threads = 2 * SECONDS * 10**9
    # Whoever looks for it every 5 ms waits for a CPU in between: on a busy machine much of the wait is that.
    env.check.that(0.8 * threads < waiting, f"{waiting} ns for the GIL, two of three threads would be {threads}")
    env.check.that(blocked < 1.05 * threads, f"{blocked} ns blocked for the GIL, two of three threads would be {threads}")
    findings = of_waits(report)
    if env.check.that(findings, "no finding"):
        env.check.equal(findings[0]["reason"], "lock.gil", "the first finding")


MANY = """
import threading, time
def work(end):
    while time.monotonic() < end:
        sum(range(2000))
        time.sleep(0.0005)
threads = [threading.Thread(target=work, args=(time.monotonic() + 3,)) for _ in range(12)]
[t.start() for t in threads]
[t.join() for t in threads]
"""


@case
def python_gil_waits_have_their_times(env):
    """Pieces of one wait for the lock, with other holders and other stacks, end in several rows: the slices add up to these all the same."""
    report = record(env, newest_python(), MANY)
    env.check.that(gil_waits(report), "nobody waits for the GIL")
    env.check.that("slices" not in report.coverage["lost"], f"lost: {report.coverage['lost']}")


@case
def python_gil_is_let_go_by_a_function(env):
    """With wakers a finding about the lock names who held it, by its Python function."""
    report = record(env, newest_python(), HOG, options=("--exact", "--wakers"))
    found = [finding for finding in of_waits(report) if finding["reason"] == "lock.gil"]
    if not env.check.that(found, f"no finding about the GIL, but {[f['reason'] for f in of_waits(report)]}"):
        return
    env.check.equal((found[0]["function"] or {}).get("name"), "serve", "who waits for it")
    env.check.equal(((found[0]["by"] or {}).get("function") or {}).get("name"), "hog", f"who held it: {found[0]['by']}")


def gil_waits(report):
    return [wait for wait in report.data["waits"] if wait["reason"] == "lock.gil"]


def gil_truth(env, interpreter):
    """The library that is preloaded, for the interpreter's own C library."""
    if "musl" not in interpreter:
        return os.path.join(env.programs, "libgil_truth.so")
    made = env.temporary("libgil_truth.so")
    subprocess.run(["musl-gcc", "-O2", "-w", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", made, os.path.join(PROGRAMS, "gil_truth.c")], check=True)
    return made


def check_gil(env, version, interpreter, *variables):
    """Times against the interpreter's own, by who held the lock as each piece of a wait began."""
    truth, phase, library = env.temporary("truth.json"), env.temporary("phase"), gil_truth(env, interpreter)
    with open(phase, "wb") as file:
        file.write(b"\0")
    report = record(env, "env", HOLDERS, phase,
                    before=[f"LD_PRELOAD={library}", f"GIL_TRUTH={truth}", f"GIL_TRUTH_PHASE={phase}", *variables, interpreter])
    with open(truth, encoding="utf-8") as file:
        own = json.load(file)
    what = f"3.{version}"
    # the program's clock runs while a thread takes the lock's mutex and its CPU, too, and not while it waits for that mutex elsewhere
    seen = sum(wait["off_cpu_ns"] for wait in gil_waits(report))
    all_ns = sum(phase["waited_ns"] for phase in own)
    env.check.that(0.98 * all_ns < seen < 1.02 * all_ns, f"{what}: {seen} ns for the GIL, by the program's clock {all_ns}")
    # As a wait begins nobody may have the lock, or who is about to change phase: of up to 5% the holder is not known.  None is wrong.
    wrong = 0
    for phase, function in ((1, "crunch_one"), (2, "crunch_two")):
        held = sum(wait["off_cpu_ns"] for wait in gil_waits(report) if (wait["lock"]["place"] or "").startswith(f"{function} ("))
        env.check.that(abs(held - own[phase]["waited_ns"]) < 0.05 * all_ns,
                       f"{what}: {held} ns while {function} held it, by the program {own[phase]['waited_ns']}")
        wrong += max(0, held - own[phase]["waited_ns"])
    env.check.that(wrong < 0.01 * all_ns, f"{what}: {wrong} of {all_ns} ns have a wrong holder")
    waits, pieces = (sum(phase[key] for phase in own[1:]) for key in ("waits", "pieces"))
    seen = sum(wait["count"] for wait in gil_waits(report) if (wait["lock"]["place"] or "").startswith("crunch_"))
    env.check.that(0.7 * waits < seen < 1.2 * waits, f"{what}: {seen} waits for the GIL, by the program {waits} in {pieces} pieces")
    found = [finding for finding in of_waits(report) if finding["reason"] == "lock.gil"]
    if env.check.that(found, f"{what}: no finding about the GIL"):
        by = found[0]["by"] or {}
        env.check.that((by.get("function") or {}).get("name") in ("crunch_one", "crunch_two"), f"{what}: held by {by}")
        env.check.that((by.get("function") or {}).get("line"), f"{what}: no line of the holder's")


@case
def python_gil_has_a_holder(env):
    for version, interpreter in readable_pythons():
        check_gil(env, version, interpreter)


@case
def python_without_a_gil(env):
    """Nobody waits for it, and `doctor` says that there is none; where it is turned on all the same it is known as elsewhere."""
    found = fetched("python3.*t")
    if not found:
        raise Skip("no CPython without a GIL is here")
    for interpreter in found:
        report = record(env, interpreter, HOG)
        env.check.equal(gil_waits(report), [], "waits for the GIL")
        naps = [wait for wait in report.data["waits"] if "serve" in functions(wait) and wait["reason"] == "sleep"]
        ns = sum(wait["off_cpu_ns"] for wait in naps)
        env.check.that(2 * SECONDS * 10**9 < ns < 3.1 * SECONDS * 10**9, f"{ns} ns asleep in three threads")
        report = record(env, interpreter, COLLECTED)
        stopped = [wait for wait in report.data["waits"] if wait["state"] == "S" and "make" in functions(wait) and "_PyParkingLot_Park" in functions(wait)]
        env.check.that(stopped, "no thread is stopped for the collector")
        env.check.equal({wait["reason"] for wait in stopped} - {"lock.other"}, set(), "reasons of those that are stopped")
        program = Examined(env, interpreter, "-c", SLEEPER).look()
        program.expect_runtime("CPython", None)
        program.expect("python-frames", True)
        program.expect("python-gil", True, "none")
        check_gil(env, "13t", interpreter, "PYTHON_GIL=1")


@case
def python_event_loop_is_held_up(env):
    """What blocks within a callback of asyncio's is a finding, with the function that called it; what waits elsewhere is none."""
    for version, interpreter in readable_pythons():
        if not has_module(interpreter, "sqlite3"):
            continue
        truth, what = env.temporary("truth.json"), f"3.{version}"
        report = record(env, interpreter, LOOP, truth, env.temporary("database"))
        with open(truth, encoding="utf-8") as file:
            spent = json.load(file)
        held_up = [finding for finding in of_waits(report) if finding.get("holds_up_loop")]
        env.check.equal({finding["holds_up_loop"] for finding in held_up}, {"asyncio"}, f"{what}: the loop")
        total = 0
        for name in ("nap", "query"):
            seen = sum(finding["time_ns"] for finding in held_up if (finding["function"] or {}).get("name") == name)
            total += seen
            env.check.that(0.8 * spent[name] < seen <= 1.01 * spent[name], f"{what}: {name}: {seen} ns, by the program {spent[name]}")
        # to start a thread of the pool holds it up, too, for a moment
        rest = sum(finding["time_ns"] for finding in held_up) - total
        env.check.that(rest < 0.1 * total, f"{what}: {rest} ns elsewhere; {[(f['function'], f['time_ns']) for f in held_up]}")


@case
def python_greenlets(env):
    """What blocks in a greenlet of gevent's holds up all of them, and has its Python name; threads of its pool without work are idle."""
    gevents = [interpreter for _, interpreter in readable_pythons() if has_module(interpreter, "gevent")]
    if not gevents:
        raise Skip("python3-gevent is not installed")
    truth = env.temporary("truth.json")
    report = record(env, gevents[0], GREENLETS, truth)
    with open(truth, encoding="utf-8") as file:
        spent = json.load(file)
    for loop, name in (("gevent", "block"), ("gevent-hub", "tick")):
        seen = {(f["function"] or {}).get("name"): f["time_ns"] for f in of_waits(report) if f.get("holds_up_loop") == loop}
        own = spent[name]
        env.check.that(0.8 * own < seen.get(name, 0) <= 1.01 * own, f"{name} held {loop} up for {own} ns, and it says {seen}")
    pool = [(f["says"], f["time_ns"]) for f in of_waits(report) if f["reason"] == "lock.semaphore" and f["time_ns"] > 10**8]
    env.check.equal(pool, [], "findings about locks of the pool's threads")


def check_service(env, report, spent, what):
    check_sums(env, report, what)
    waits = [wait for wait in report.data["waits"] if wait["state"] == "S" and has_kernel_stack(wait) and wait["reason"] != "lock.gil"]
    parked = [wait for wait in waits if "_worker" in functions(wait) and "_WorkItem.run" not in functions(wait)]
    wanting = [wait for wait in waits if "book" in functions(wait) and "write_book" not in functions(wait)]
    listening = [wait for wait in waits if "QueueListener.dequeue" in functions(wait)]
    for name, some, own in (("pool", parked, 0.9 * spent["pool"]), ("lock", wanting, 0.7 * spent["lock"]), ("log", listening, 10**9)):
        ns = sum(wait["off_cpu_ns"] for wait in some)
        env.check.that(ns >= own, f"{what}: {ns} ns seen at the {name}, by the program's own clock {own}")
    for wait in parked + listening:
        env.check.equal((wait["reason"], wait["idle"]), ("pool_idle", "pool"), f"{what}: {functions(wait)}")
    for wait in wanting:
        env.check.that(wait["reason"].startswith("lock.") and wait["idle"] is None, f"{what}: {wait['reason']}, {wait['idle']}")
    findings = of_waits(report)
    if env.check.that(findings, f"{what}: no finding"):
        env.check.equal((findings[0]["function"] or {}).get("name"), "book", f"{what}: function of the first finding")


@case
def python_pool_is_idle_and_a_lock_is_not(env):
    for options in (("--exact",), ("--exact", "--wakers", "--locks")):
        truth = env.temporary("truth.json")
        report = record(env, newest_python(11), SERVICE, truth, options=options)
        with open(truth, encoding="utf-8") as file:
            check_service(env, report, json.load(file), " ".join(options))


@case
def python_threads_born_in_the_window(env):
    """No mapping comes or goes after they are born, nor as the interpreter gets ready: what is known of their process must reach them all the same."""
    late = [f"LD_PRELOAD={os.path.join(env.programs, 'libgil_truth.so')}", "GIL_TRUTH_LATE_US=300000", newest_python()]
    report = record(env, "env", BORN, before=late)
    naps = [wait for wait in report.data["waits"] if wait["reason"] == "sleep" and wait["tid"] != wait["pid"]]
    total, named = (sum(wait["off_cpu_ns"] for wait in some) for some in (naps, [wait for wait in naps if "nap" in functions(wait)]))
    env.check.that(total >= 0.9 * 4 * SECONDS * 10**9, f"four threads slept {total} ns")
    env.check.that(named >= 0.99 * total, f"of {total} ns {named} have the Python function")
