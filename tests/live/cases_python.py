# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What threads of CPython wait for: the interpreter's lock, a lock of their own, work."""

import json

from cases_languages import pythons, real_version
from cases_reasons import check_sums, has_kernel_stack, of_waits
from lib import Recorder, Skip, case

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


def newest_python(from_minor=8):
    found = [version for version in map(real_version, pythons()) if from_minor <= version[0] <= 13]
    if not found:
        raise Skip(f"no CPython from 3.{from_minor} to 3.13 is installed")
    return max(found)[1]


def record(env, interpreter, text, *arguments, options=("--exact",)):
    source = env.temporary("service.py")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    recorder = Recorder(env, *options, command=[interpreter, source, str(SECONDS), *arguments])
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


@case
def python_gil_is_let_go_by_a_function(env):
    """With wakers a finding about the lock names who held it, by its Python function."""
    report = record(env, newest_python(), HOG, options=("--exact", "--wakers"))
    found = [finding for finding in of_waits(report) if finding["reason"] == "lock.gil"]
    if not env.check.that(found, f"no finding about the GIL, but {[f['reason'] for f in of_waits(report)]}"):
        return
    env.check.equal((found[0]["function"] or {}).get("name"), "serve", "who waits for it")
    env.check.equal(((found[0]["by"] or {}).get("function") or {}).get("name"), "hog", f"who held it: {found[0]['by']}")


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
    """No mapping comes or goes after they are born: what is known of their process must reach them all the same."""
    report = record(env, newest_python(), BORN)
    naps = [wait for wait in report.data["waits"] if wait["reason"] == "sleep" and wait["tid"] != wait["pid"]]
    total, named = (sum(wait["off_cpu_ns"] for wait in some) for some in (naps, [wait for wait in naps if "nap" in functions(wait)]))
    env.check.that(total >= 0.9 * 4 * SECONDS * 10**9, f"four threads slept {total} ns")
    env.check.that(named >= 0.99 * total, f"of {total} ns {named} have the Python function")
