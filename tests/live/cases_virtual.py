# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Virtual threads of Java as tasks: what the JVM's own dump of threads says, and what the program knows of itself."""

import collections
import json
import os
import re
import subprocess

from cases_java import virtual_machines
from cases_tasks import own
from lib import Broken, Skip, case, nightly

VIRTUAL_MAJOR = 21
WAITERS = 20	# for the one lock, one of which has it
SERVICE = """
import java.util.concurrent.*;
import java.util.concurrent.locks.*;

class Service {
    static final ReentrantLock ledger = new ReentrantLock();
    static final Object bell = new Object();
    static final Semaphore places = new Semaphore(0);

    static class Table { static { nap(); } static void use() { } }

    static void nap() { try { Thread.sleep(60000); } catch (InterruptedException e) { } }
    static void write() { nap(); }
    static void credit() { ledger.lock(); try { write(); } finally { ledger.unlock(); } }
    static void listen() { synchronized (bell) { try { bell.wait(); } catch (InterruptedException e) { } } }
    static void enter() { places.acquireUninterruptibly(); }
    static void price() { Table.use(); }

    public static void main(String[] words) throws Exception {
        ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
        for (int i = 0; i < 20; i++)
            Thread.ofVirtual().start(Service::credit);
        for (int i = 0; i < 7; i++)
            executor.submit(Service::enter);
        Thread.sleep(200);
        if (words.length > 0)
            for (int i = 0; i < 3; i++)
                executor.submit(Service::listen);
        Thread.ofVirtual().start(Service::price);
        Thread.sleep(200);
        System.out.println("ready");
        Thread.sleep(60000);
    }
}
"""
FIGHT = """
import java.util.concurrent.locks.*;

class Fight {
    static final ReentrantLock table = new ReentrantLock();
    static byte[] garbage;
    static void book() { try { Thread.sleep(5); } catch (InterruptedException e) { } }
    static void reserve() { table.lock(); try { book(); } finally { table.unlock(); } }
    static void serve() { for (;;) { reserve(); for (int i = 0; i < 64; i++) garbage = new byte[1 << 16]; } }
    public static void main(String[] words) throws Exception {
        for (int i = 0; i < 200; i++)
            Thread.ofVirtual().start(Fight::serve);
        System.out.println("ready");
        Thread.sleep(60000);
    }
}
"""


def machines():
    """(major version, path) of those that have virtual threads, and a compiler that knows them."""
    found = [(major, path) for major, path in virtual_machines() if major >= VIRTUAL_MAJOR]
    compilers = [os.path.join(os.path.dirname(path), "javac") for _, path in found]
    compiler = next((path for path in compilers if os.path.exists(path)), None)
    if not compiler:
        raise Skip("no JDK from 21 on is installed")
    return found, compiler


def begin(env, name, text, path, *words):
    source = env.temporary(f"{name}.java")
    with open(source, "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run([machines()[1], "--release", str(VIRTUAL_MAJOR), "-d", env.directory, source], check=True)
    process = subprocess.Popen([path, "-Xmx64m", "-XX:+UseSerialGC", "-cp", env.directory, name, *words], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    env.running.append(process)
    if process.stdout.readline() != "ready\n":
        raise Broken(f"the Java program {name} did not begin")
    return process


def look(env, process):
    result = subprocess.run([env.offcpu, "tasks", "--json", "-p", str(process.pid)], stdin=subprocess.DEVNULL,
                            capture_output=True, text=True, timeout=60, check=False)
    env.check.equal(result.returncode, 0, f"exit status: {result.stderr.strip()}")
    return json.loads(result.stdout)


def tasks_at(data, function, reason):
    return sum(row["tasks_milli"] for row in data["rows"] if own(row) == function and reason in (row["reason"] or "")) / 1000


@case
def virtual_threads_are_counted_where_they_wait(env):
    found, _ = machines()
    process = begin(env, "Service", SERVICE, found[-1][1])
    data = look(env, process)
    env.check.equal(data["kind"], "java", "kind of task")
    env.check.equal(data["tasks_milli"], 28000, "virtual threads, in thousandths")
    env.check.equal(tasks_at(data, "Service.credit", "parked for a ReentrantLock"), WAITERS - 1, "that wait for the lock")
    env.check.equal(tasks_at(data, "Service.enter", "parked for a Semaphore"), 7, "that wait for a place")
    env.check.equal(tasks_at(data, "Service.nap", "class initialiser Service$Table.<clinit>"), 1, "pinned by a class initialiser")
    holders = [row for row in data["rows"] if row["awaited_by"]]
    env.check.equal([own(row) for row in holders], ["Service.nap"], "who has the lock that others wait for")
    env.check.that(all(row["stack_end"] == "complete" for row in data["rows"]), "all stacks are complete")


def of_dump(env, process):
    """How many virtual threads stand in which of the program's own methods, by the JVM itself."""
    jcmd = os.path.join(os.path.dirname(machines()[1]), "jcmd")
    dump = env.temporary("dump.json")
    subprocess.run([jcmd, str(process.pid), "Thread.dump_to_file", "-overwrite", "-format=json", dump], check=True,
                   stdout=subprocess.DEVNULL)
    with open(dump, encoding="utf-8") as file:
        containers = json.load(file)["threadDump"]["threadContainers"]
    counts = collections.Counter()
    for container in containers:
        for thread in container["threads"]:
            frames = [frame.split("(")[0].split("/")[-1] for frame in thread["stack"]]
            mine = next((frame for frame in frames if frame.startswith("Service.")), None)
            counts[mine] += mine is not None and any(frame.startswith("java.lang.VirtualThread.run") for frame in frames)
    return +counts


@case
@nightly
def virtual_threads_are_those_of_the_jvms_own_dump(env):
    for major, path in machines()[0]:
        process = begin(env, "Service", SERVICE, path, "listen")
        counts = collections.Counter()
        for row in look(env, process)["rows"]:
            counts[own(row)] += row["tasks_milli"] // 1000
        env.check.equal(dict(counts), dict(of_dump(env, process)), f"JDK {major}: virtual threads by method")
        process.kill()
        process.wait()


@case
@nightly
def virtual_threads_that_fight_for_a_lock_are_told(env):
    """While the garbage collector moves them all the time: no look may tell what is not there."""
    for major, path in machines()[0]:
        process = begin(env, "Fight", FIGHT, path)
        recording = env.temporary("fight.offcpu")
        subprocess.run([env.offcpu, "record", "-p", str(process.pid), "-d", "3", "-o", recording], check=True,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        process.kill()
        process.wait()
        report = subprocess.run([env.offcpu, "report", recording], check=True, capture_output=True, text=True).stdout
        first = " ".join(report.split("\n2.")[0].split())
        env.check.that(re.search(r"1\. \d+% of the time of java's virtual threads: \d+ virtual threads wait for a lock in "
                                 r"Fight\.reserve", first), f"JDK {major}: the first finding: {first}")
        tasks = subprocess.run([env.offcpu, "report", "--by", "task", "--top", "0", recording], check=True, capture_output=True,
                               text=True).stdout
        strange = set(re.findall(r"^ {13}(\S+)$", tasks, re.M)) - {"Fight.reserve", "Fight.book", "Fight.serve", "Fight$$Lambda.run"}
        strange = {name for name in strange if not name.startswith(("java.", "jdk.", "["))}
        env.check.that(not strange, f"JDK {major}: methods that are not there: {strange}")
