# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What threads of a JVM wait for, by the functions that a perf map names: a monitor that is fought for, pools without work."""

import json
import os
import shutil
import subprocess
import time

from cases_reasons import check_sums, has_kernel_stack, of_waits
from check import names
from lib import Recorder, Skip, case, wait_until

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
PARKED = (f"{POOLS[0]}.getTask()", f"{POOLS[1]}.awaitWork(")
# what is compiled has a name; all at once, so that the map does not grow old
OPTIONS = ["-XX:+PreserveFramePointer", "-Xcomp", "-XX:CompileCommand=quiet",
           *(f"-XX:CompileCommand=compileonly,{name}::*" for name in ("Service", *POOLS)),
           *(f"-XX:CompileCommand=dontinline,{name}" for name in ("Service::*", f"{POOLS[0]}::getTask", f"{POOLS[1]}::awaitWork"))]


def begin(env):
    for tool in ("java", "javac", "jcmd"):
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")
    source = env.temporary("Service.java")
    with open(source, "w", encoding="utf-8") as file:
        file.write(SERVICE)
    subprocess.run(["javac", "-d", env.directory, source], check=True)
    process = subprocess.Popen(["java", *OPTIONS, "-cp", env.directory, "Service"], stdin=subprocess.DEVNULL,
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
    perf_map = f"/tmp/perf-{process.pid}.map"
    try:
        if not wait_until(lambda: threads_called(process.pid, "pooled") == 4, 60):
            raise Skip("the Java program did not begin within a minute")
        time.sleep(1)  # a little work each: all is compiled
        subprocess.run(["jcmd", str(process.pid), "Compiler.perfmap"], check=False, capture_output=True)
        if not os.path.exists(perf_map):
            raise Skip("jcmd wrote no perf map (it came with JDK 17)")
        said = json.loads(subprocess.run([env.offcpu, "doctor", "-p", str(process.pid), "--json"], check=True, capture_output=True,
                                         text=True).stdout)
        recorder = Recorder(env, "-p", process.pid, "--exact", "-d", SECONDS)
        recorder.wait()
        return recorder.report(), {finding["what"]: finding["is_there"] for finding in said["findings"]}
    finally:
        process.kill()
        process.wait()
        if os.path.exists(perf_map):
            os.unlink(perf_map)


def stands_in(wait, functions):
    return any(name and name.startswith(function) for name in names(wait["user"]) for function in functions)


@case
def java_monitor_is_a_lock_and_a_pool_is_idle(env):
    env.tolerate_unseen()
    report, doctor = record(env, begin(env))
    env.check.equal((doctor.get("java-frames"), doctor.get("perf-map")), (True, True), "what doctor says of frames and names")
    check_sums(env, report, "java")
    comm = {thread["tid"]: thread["comm"] for thread in report.data["threads"]}
    waits = [wait for wait in report.data["waits"] if wait["state"] == "S" and has_kernel_stack(wait)]
    fought = [wait for wait in waits if comm[wait["tid"]] == "contender" and stands_in(wait, ["ObjectMonitor::enter"])]
    parked = [wait for wait in waits if stands_in(wait, PARKED)]
    busy = [wait for wait in waits if stands_in(wait, ["Service.job()"])]
    window = report.window["duration_ns"]
    for what, some, share in (("the monitor", fought, 2), ("the pools", parked, 3), ("jobs", busy, 0.02)):
        ns = sum(wait["off_cpu_ns"] for wait in some)
        env.check.that(ns >= share * window, f"{ns} ns at {what}, in a window of {window}")
    for wait in fought:
        env.check.equal((wait["reason"], wait["idle"]), ("lock.mutex", None), "a monitor")
        env.check.that(stands_in(wait, ["Service.contend()"]), f"not named: {names(wait['user'])}")
    for wait in parked:
        env.check.equal((wait["reason"], wait["idle"]), ("pool_idle", "pool"), "a worker without work")
    for wait in busy:
        env.check.equal(wait["idle"], None, "a worker at work")
    locks = [finding for finding in of_waits(report) if finding["reason"] == "lock.mutex"]
    if env.check.that(locks, f"no lock is a finding: {of_waits(report)}"):
        # where the compiler's work came late it is the caller that has a name
        env.check.that((locks[0]["function"] or {}).get("name") in ("Service.audit()", "Service.contend()"), f"{locks[0]['function']}")
