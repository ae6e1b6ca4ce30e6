# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""
Walks that are remembered: each the same as a walk in full, and most of them not walked in full.
"""

import os
import re
import shutil
import signal
import subprocess
import time

from cases_unwind import ALLOWED, check_all_complete
from check import check_account, names
from lib import Program, Recorder, Skip, case, default_signals, fork_children, nightly, until_switched, wait_until


def verified(env, *options):
    """A recorder that does every remembered walk in full beside it and counts differences."""
    wakers = [] if any(str(option).startswith("--wakers") for option in options) else ["--no-wakers"]
    return Recorder(env, *options, *wakers, "--test-verify-walks")


def check_verified(env, report, switches):
    lost = report.coverage["lost"]
    env.notes.append(f"{report.coverage['switches']} switches, losses {lost}")
    env.check.that(report.coverage["switches"] >= switches,
                   f"only {report.coverage['switches']} switches, {switches} wanted")
    env.check.equal(lost.get("remembered_walk", 0), 0, "walks remembered wrongly")


@case
@nightly
def remembered_walks_of_a_pipe(env):
    """A million switches, from places whose frames look alike."""
    env.tolerate_unseen()
    program = Program(env, "unwind_pingpong", 550_000)
    recorder = verified(env, "-p", program.pid)
    recorder.wait_attached()
    program.go()
    program.wait_done(180)
    recorder.stop()
    report = recorder.report()
    program.finish()
    check_account(env.check, report, allowed_losses=ALLOWED)
    check_verified(env, report, 1_000_000)
    check_all_complete(env.check, report)
    places = {name for wait in report.waits for name in names(wait["user"]) if name and name.startswith("place_")}
    env.check.equal(places, {"place_one", "place_two", "place_sized", "place_aligned"}, "places seen")


@case
def remembered_walks_of_wakers(env):
    """The same of threads and disk interrupts that wake; the recorder itself switches the kernel's statistics on and off."""
    env.tolerate_unseen()
    programs = Program(env, "unwind_pingpong", 120_000), Program(env, "fsync", env.disk_file(), 400)
    recorder = verified(env, "-p", ",".join(str(program.pid) for program in programs), "--wakers=4")
    recorder.wait_attached()
    for program in programs:
        program.go()
    for program in programs:
        program.wait_done(180)
    recorder.stop()
    report = recorder.report()
    for program in programs:
        program.finish()
    check_verified(env, report, 200_000)
    interrupts = sum(waker["count"] for wait in report.waits for waker in wait["wakers"] if waker["irq"])
    env.check.that(interrupts >= 400, f"only {interrupts} sleeps were ended by interrupts")


@case
@nightly
def remembered_walks_of_redis(env):
    """A server under load: at least 100,000 switches of programs that nobody wrote for this test."""
    for tool in ("redis-server", "redis-benchmark"):
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")
    socket = env.temporary("redis.sock")
    server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--io-threads", "2"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    env.running.append(server)
    if not wait_until(lambda: os.path.exists(socket), 10):
        raise Skip("redis-server did not come up")
    client = subprocess.Popen(["redis-benchmark", "-s", socket, "-l", "-n", "1000000", "-c", "4", "-t", "set,get,lpush"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    env.running.append(client)
    recorder = verified(env, "-p", f"{server.pid},{client.pid}")
    recorder.wait_attached()
    until_switched(70_000, server.pid, client.pid)  # each is taken off a CPU and put on one
    recorder.stop()
    report = recorder.report()
    check_verified(env, report, 100_000)
    env.check.that(any(wait["pid"] == server.pid for wait in report.waits), "no wait of the server")


def messaging(env):
    """Many processes that wake one another through sockets."""
    if not shutil.which("perf"):
        raise Skip("perf is not installed")
    load = subprocess.Popen(["perf", "bench", "sched", "messaging", "-g", "1", "-l", "10000000"],
                            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                            process_group=0)
    env.running.append(load)
    return load


def walked_in_full(env, recorder):
    """Of a recorder with -v: waits listed, and user and kernel stacks of them that were not remembered."""
    told = re.search(r"walks: (\d+) waits listed; in full were walked (\d+) user stacks and (\d+) kernel stacks", recorder.stderr())
    env.notes.append(told.group(0))
    return tuple(map(int, told.groups()))


@case
@nightly
def remembered_walks_of_sockets(env):
    """Kernel stacks of system calls that left much on them: they are remembered, and rightly."""
    load = messaging(env)
    try:
        recorder = verified(env, "-a", "--wakers=4")
        recorder.wait_attached()
        time.sleep(3)
        recorder.stop()
        report = recorder.report()
        check_verified(env, report, 5_000)
        # whatever else begins on this machine has stacks of its own
        with open(f"/proc/{load.pid}/task/{load.pid}/children", encoding="ascii") as f:
            recorder = Recorder(env, "-p", ",".join(f.read().split()), "--exact", "-v")
        recorder.wait_attached()
        time.sleep(3)
        recorder.stop()
    finally:
        os.killpg(load.pid, signal.SIGKILL)
    listed, _, kernel = walked_in_full(env, recorder)
    env.check.that(listed > 5_000, f"only {listed} waits were listed")
    env.check.that(kernel < listed / 20, f"of {listed} waits {kernel} had their kernel stack walked in full")


def check_napping_threads(env, cnt, at_once, us):
    """Threads that sleep six times at one place: no nap is missing.  What was walked in full."""
    env.tolerate_unseen()
    program = Program(env, "churn", cnt, at_once, us, 6)
    recorder = Recorder(env, "-p", program.pid, "--exact", "-v")
    recorder.wait_attached()
    program.go()
    program.wait_done(120)
    recorder.stop()
    report = recorder.report()
    program.finish()
    naps = sum(wait["count"] for wait in report.waits if "born_site" in names(wait["user"]))
    env.check.that(naps >= 0.99 * 6 * cnt, f"{naps} naps of {cnt} threads that slept 6 times each")
    env.check.equal(report.coverage["lost"].get("remembered_walk", 0), 0, "walks remembered wrongly")
    return walked_in_full(env, recorder)


@case
def memories_are_given_back(env):
    """Four times as many threads live and die as can remember their walks at a time: each remembers its own."""
    listed, user, kernel = check_napping_threads(env, 3000, 40, 1_000)
    env.check.that(user + kernel < listed, f"of {listed} waits {user} user and {kernel} kernel stacks were walked in full")


@case
def more_threads_than_memories(env):
    """Those that find none left have the walks of others where they waited for long, and are told of in any case."""
    threads = int(open("/proc/loadavg", encoding="ascii").read().split("/")[1].split()[0])
    cnt = 2 * max(512, 2 * threads)
    listed, user, _ = check_napping_threads(env, cnt, cnt, 100_000)
    env.check.that(user < listed / 4, f"of {listed} waits {user} user stacks were walked in full")


def traced_children(recorder, cnt):
    """A shell and its children; the report."""
    recorder.wait_attached()
    fork_children(cnt)
    recorder.stop()
    return recorder.report()


def first_waits(report):
    """Waits of threads for their first turn on a CPU, which stand where they will begin."""
    return sum(wait["count"] for wait in report.waits
               if wait["state"] == "R" and names(wait["kernel"]) in (["ret_from_fork_asm"], ["ret_from_fork"]))


@case
@nightly
def remembered_walks_of_new_threads(env):
    """Each begins on a stack of its own, with the same frame: walked once, not for each of them."""
    report = traced_children(verified(env, "-a", "--exact"), 2000)
    check_verified(env, report, 4_000)
    env.check.that(first_waits(report) >= 2000, f"{first_waits(report)} first waits of 2000 processes")
    recorder = Recorder(env, "-a", "--exact", "-v")
    report = traced_children(recorder, 2000)
    listed, _, kernel = walked_in_full(env, recorder)
    env.check.that(first_waits(report) >= 2000, f"{first_waits(report)} first waits of 2000 processes")
    env.check.that(kernel < listed - 1900, f"of {listed} waits {kernel} had their kernel stack walked in full")


def traced_sleepers(env, recorder_of):
    """A thousand threads asleep in one place, five times a second each, for two seconds at least: the report, and the recorder."""
    load = subprocess.Popen([os.path.join(env.programs, "sleepers"), "1000", "200"], stdout=subprocess.PIPE,
                            preexec_fn=default_signals)
    try:
        load.stdout.readline()
        recorder = recorder_of("-p", load.pid, "--exact", "-v")
        recorder.wait_attached()
        end = time.monotonic() + 2
        until_switched(7_000, load.pid)
        time.sleep(max(0, end - time.monotonic()))
        recorder.stop()
        return recorder.report(), recorder
    finally:
        load.kill()
        load.wait()
        load.stdout.close()


@case
def remembered_walks_of_other_threads(env):
    """Where a thread waits for the first time another one has waited: its walk serves, and rightly."""
    report, _ = traced_sleepers(env, lambda *options: verified(env, *options))
    check_verified(env, report, 5_000)
    report, recorder = traced_sleepers(env, lambda *options: Recorder(env, *options))
    listed, user, kernel = walked_in_full(env, recorder)
    env.check.that(listed > 5000, f"{listed} waits listed")
    env.check.that(user < 300, f"of {listed} waits of 1000 threads {user} had their user stack walked in full")
    env.check.that(kernel < 700, f"of {listed} waits of 1000 threads {kernel} had their kernel stack walked in full")
