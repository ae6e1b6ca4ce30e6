# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What threads of a JVM wait for, and in which methods: by the JVM's own tables, without any option to it."""

import glob
import json
import os
import re
import shutil
import subprocess
import time

from cases_reasons import check_sums, has_kernel_stack, of_waits
from check import names
from lib import Broken, Recorder, Skip, case, fetched, nightly, wait_until

SECONDS = 2
SERVICE = """
import java.util.concurrent.*;

class Service {
    static final Object monitor = new Object();
    static void hold() { try { Thread.sleep(3); } catch (InterruptedException e) { } }
    static void audit() { synchronized (monitor) { hold(); } }
    static void contend() { for (;;) audit(); }
    static void job() { try { Thread.sleep(2); } catch (InterruptedException e) { } }
    public static void main(String[] words) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4, work -> new Thread(work, "pooled"));
        ForkJoinPool joined = new ForkJoinPool(2);
        for (int i = 0; i < 4; i++)
            new Thread(Service::contend, "contender").start();
        for (;;) {
            for (int i = 0; i < 4; i++)
                pool.submit(Service::job);
            joined.submit(Service::job);
            Thread.sleep(30);
        }
    }
}
"""
POOLS = ("java.util.concurrent.ThreadPoolExecutor", "java.util.concurrent.ForkJoinPool")
PARKED = (f"{POOLS[0]}.getTask", f"{POOLS[1]}.awaitWork")

def begin(env):
    return begin_java(env, SERVICE)


def begin_java(env, text):
    """A program whose class is Service."""
    for tool in ("java", "javac"):
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")
    source = env.temporary("Service.java")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run(["javac", "-d", env.directory, source], check=True)
    process = subprocess.Popen(["java", "-cp", env.directory, "Service"], stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    env.running.append(process)
    return process


def threads_called(pid, name):
    found = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/comm", encoding="utf-8", errors="replace") as file:
                found += file.read().strip() == name
        except OSError:
            pass
    return found


def record(env, process):
    try:
        if not wait_until(lambda: threads_called(process.pid, "pooled") == 4, 60):
            raise Skip("the Java program did not begin within a minute")
        time.sleep(1)  # a little work each
        said = json.loads(subprocess.run([env.offcpu, "doctor", "-p", str(process.pid), "--json"], check=True, capture_output=True,
                                         text=True).stdout)
        recorder = Recorder(env, "-p", process.pid, "--exact", "-d", SECONDS)
        recorder.wait()
        return recorder.report(), {finding["what"]: finding["is_there"] for finding in said["findings"]}
    finally:
        process.kill()
        process.wait()


def stands_in(wait, functions):
    return any(name and name.startswith(function) for name in names(wait["user"]) for function in functions)


def is_without_work(wait):
    """A worker that asks for work also waits for the queue's own lock, and for the JVM's, which links and compiles its calls."""
    return stands_in(wait, ["Parker::park"]) and not stands_in(wait, ["java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire"])


@case
def java_monitor_is_a_lock_and_a_pool_is_idle(env):
    env.tolerate_unseen()
    report, doctor = record(env, begin(env))
    env.check.equal(doctor.get("java-frames"), True, "what doctor says of frames and names")
    check_sums(env, report, "java")
    comm = {thread["tid"]: thread["comm"] for thread in report.data["threads"]}
    waits = [wait for wait in report.data["waits"] if wait["state"] == "S" and has_kernel_stack(wait)]
    fought = [wait for wait in waits if comm[wait["tid"]] == "contender" and stands_in(wait, ["ObjectMonitor::enter"])]
    parked = [wait for wait in waits if stands_in(wait, PARKED) and is_without_work(wait)]
    busy = [wait for wait in waits if stands_in(wait, ["Service.job"])]
    window = report.window["duration_ns"]
    for what, some, share in (("the monitor", fought, 2), ("the pools", parked, 3), ("jobs", busy, 0.02)):
        ns = sum(wait["off_cpu_ns"] for wait in some)
        env.check.that(ns >= share * window, f"{ns} ns at {what}, in a window of {window}")
    for wait in fought:
        env.check.equal((wait["reason"], wait["idle"]), ("lock.mutex", None), "a monitor")
        env.check.that(stands_in(wait, ["Service.contend"]), f"not named: {names(wait['user'])}")
    for wait in parked:
        env.check.equal((wait["reason"], wait["idle"]), ("pool_idle", "pool"), "a worker without work")
    for wait in busy:
        env.check.equal(wait["idle"], None, "a worker at work")
    locks = [finding for finding in of_waits(report) if finding["reason"] == "lock.mutex"]
    if env.check.that(locks, f"no lock is a finding: {of_waits(report)}"):
        env.check.that((locks[0]["function"] or {}).get("name") in ("Service.audit", "Service.contend"), f"{locks[0]['function']}")


RING = """
class Service {
    Service next;
    long cents;
    synchronized void pay() throws Exception { cents++; Thread.sleep(20); next.take(); }
    synchronized void take() { cents--; }
    synchronized long peek() { return cents; }
    static void run(Service one, String name) { new Thread(() -> { try { for (;;) one.pay(); } catch (Exception e) { } }, name).start(); }
    public static void main(String[] words) throws Exception {
        Service[] all = { new Service(), new Service(), new Service() };
        for (int i = 0; i < 3; i++) all[i].next = all[(i + 1) % 3];
        for (int i = 0; i < 3; i++) run(all[i], "teller-" + i);
        Thread.sleep(200);
        Service asked = all[0];
        new Thread(asked::peek, "visitor").start();
    }
}
"""


@case
def java_deadlock_of_monitors_is_told(env):
    """Three threads in a ring, by the JVM's own word; who waits for one of them is told who has it."""
    process = begin_java(env, RING)
    if not wait_until(lambda: threads_called(process.pid, "visitor"), 60):
        raise Skip("the Java program did not begin within a minute")
    recorder = Recorder(env, "-p", process.pid, "--exact", "-d", SECONDS)
    recorder.wait()
    found = of_waits(recorder.report())
    env.check.equal([finding["deadlock"] for finding in found[:2]], [True, False], f"which of these is a deadlock: {found[:2]}")
    for finding, threads, function in zip(found, (3, 1), ("Service.take", "Service.peek")):
        env.check.equal(finding["threads"], threads, "threads")
        env.check.that(finding["by"]["role"] == "holder" and finding["by"]["comm"].startswith("teller-"), f"who has it: {finding['by']}")
        env.check.equal((finding["function"] or {}).get("name"), function, "where")


PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "programs", "JavaWaits.java")
COUNT = 400
NAMED_MIN = 0.98    # of the time by the program's own clock, of all threads together
EACH_MIN = 0.9      # of one: what is compiled meanwhile breaks its stacks for 0.1 s
CLOCK_MAX = 1.05    # it reads its clock outside of the wait


def virtual_machines():
    """(major version, path) of each HotSpot from 17 on, the oldest first."""
    found = {}
    for path in [shutil.which("java"), *glob.glob("/usr/lib/jvm/*/bin/java"), *fetched("java*")]:
        real = os.path.realpath(path) if path else None
        if not real or real in found:
            continue
        said = subprocess.run([real, "-version"], capture_output=True, text=True, check=False).stderr
        version = re.search(r'version "(\d+)', said)
        if version and int(version[1]) >= 17 and "OpenJ9" not in said:
            found[real] = int(version[1])
    return sorted((major, path) for path, major in found.items())


def waits_in(report, tid, chain):
    """Of a thread's waits those in the chain of methods, one called by the other; all others; in ns."""
    named = other = 0
    for wait in report.waits:
        if wait["tid"] != tid:
            continue
        called = names(wait["user"])
        stands = wait["user_end"] == "complete" and any(called[i:i + len(chain)] == chain for i in range(len(called)))
        if stands:
            named += wait["off_cpu_ns"]
        else:
            other += wait["off_cpu_ns"]
    return named, other


def line_of(process, expected):
    line = process.stdout.readline().strip()
    if line != expected:
        raise Broken(f"the Java program said '{line}', not '{expected}'")


def record_java(env, path):
    """The report and the truth of JavaWaits on that JVM."""
    truth = env.temporary("truth")
    process = subprocess.Popen([path, "-cp", env.directory, "JavaWaits", truth, str(COUNT)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
    env.running.append(process)
    try:
        line_of(process, "ready")
        recorder = Recorder(env, "-p", process.pid, "--exact")
        recorder.wait_attached()
        print("go", file=process.stdin, flush=True)
        line_of(process, "done")
        recorder.stop()
        with open(truth, encoding="utf-8") as file:
            return recorder.report(), [json.loads(line) for line in file]
    finally:
        process.kill()
        process.wait()


def check_java(env, major, path):
    report, truth = record_java(env, path)
    tids = {thread["comm"]: thread["tid"] for thread in report.threads}
    env.check.equal(len(truth), 5, f"JDK {major}: threads that told their truth")
    together = 0
    for line in truth:
        named, _ = waits_in(report, tids[line["thread"]], line["chain"])
        together += named
        env.check.that(EACH_MIN * line["ns"] <= named <= CLOCK_MAX * line["ns"],
                       f"JDK {major}, {line['thread']}: {named} ns in {line['chain']}, {line['ns']} ns by its own clock")
    spent = sum(line["ns"] for line in truth)
    env.check.that(together >= NAMED_MIN * spent, f"JDK {major}: {together} ns of {spent} are named")
    named, other = waits_in(report, tids["Sleeper"], ["JavaWaits.sleptOuter", "JavaWaits.sleptInner"])
    env.check.that(named > report.window["duration_ns"] * NAMED_MIN and not other,
                   f"JDK {major}: {named} ns of one that slept throughout, and {other} ns elsewhere")
    ended = {True: 0, False: 0}
    for wait in report.waits:
        ended[wait["user_end"] == "complete"] += wait["off_cpu_ns"]
    env.check.that(ended[True] >= NAMED_MIN * sum(ended.values()), f"JDK {major}: {ended} ns by whether the stack is complete")
    # what starts a JVM is stripped, and so is a C library that was fetched
    nameless = sum(wait["off_cpu_ns"] for wait in report.waits
                   if any(not frame["name"] and not (frame["module"] or "").endswith(("/java", "/libc.so.6")) for frame in wait["user"]))
    env.check.that(nameless <= (1 - NAMED_MIN) * sum(ended.values()), f"JDK {major}: {nameless} ns in stacks with a nameless frame")


@case
@nightly
def java_methods_without_any_option(env):
    """Compiled, inlined and interpreted methods, on each JVM there is."""
    machines = virtual_machines()
    if not machines or not shutil.which("javac"):
        raise Skip("no JDK from 17 on is installed")
    env.tolerate_unseen()
    subprocess.run(["javac", "--release", "17", "-d", env.directory, PROGRAM], check=True)
    for major, path in machines:
        check_java(env, major, path)
