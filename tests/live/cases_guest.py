# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What no test may do to a machine that others use: for tests/vm only."""

import os
import signal
import subprocess
import time

from cases_never_answers import Stranger
from lib import Recorder, Skip, case, wait_until

CPU = 1
ONLINE = f"/sys/devices/system/cpu/cpu{CPU}/online"
# Longer than the recorder takes to notice that the CPUs are others (supply/mmap_events.c).
NOTICED_S = 2.5


def set_online(is_online):
    with open(ONLINE, "w", encoding="ascii") as f:
        f.write(f"{int(is_online)}\n")
    time.sleep(NOTICED_S)


@case
def cpu_that_comes_back(env):
    """Processes that live for a moment on a CPU that was taken away meanwhile: their mappings are known all the same."""
    if not os.path.exists(ONLINE):
        raise Skip("there is one CPU, or it cannot be taken away")
    recorder = Recorder(env, "-a", "--exact")
    recorder.wait_attached()
    try:
        set_online(False)
    finally:
        set_online(True)
    pids = set()
    for _ in range(20):
        with subprocess.Popen(["/bin/sleep", "0.002"], preexec_fn=lambda: os.sched_setaffinity(0, {CPU})) as process:
            pids.add(process.pid)
    env.check.equal(recorder.stop(), 0, "exit status")
    report = recorder.report()
    env.check.equal(report.coverage["lost"].get("mmap_events"), 1, "CPUs whose mapping events were not heard for a while")
    slept = [wait for wait in report.waits if wait["pid"] in pids and wait["comm"] == "sleep" and wait["user"]]
    env.check.that(len({wait["pid"] for wait in slept}) >= 15, f"{len(slept)} waits of {len(pids)} processes have a user stack")
    nowhere = [wait for wait in slept if not (wait["user"][-1]["module"] or "").endswith(("/sleep", "/busybox"))]
    env.check.equal(len(nowhere), 0, "waits whose innermost frame lies in no file")


@case
def probes_that_are_held_up(env):
    """
    A process takes the lock of its memory as probes are taken away from it, and sleeps in its own file system: all forks
    of the machine wait with it.  Its file system is ended, nobody else's.
    """
    stranger = Stranger(env, "lock")
    try:
        recorder = Recorder(env, "-p", stranger.pid, "sleep_site", verb="request")
        printed = lambda: open(recorder.out, encoding="utf-8").read()   # noqa: E731
        env.check.that(wait_until(lambda: "sleep_site latency" in printed(), 60), f"it traces: {recorder.stderr()}")
        os.kill(stranger.pid, signal.SIGUSR1)
        time.sleep(0.5)
        begun = time.monotonic()
        env.check.equal(recorder.stop(timeout_s=30), 0, "exit status")
        subprocess.run(["/bin/true"], check=True, preexec_fn=os.getpid)     # a fork, and no vfork
        env.check.that(time.monotonic() - begun < 30, "forks go on")
        env.check.that(f"process {stranger.pid} (never_answers): it held up probes" in recorder.stderr(), f"it is told: {recorder.stderr()}")
        env.check.that(stranger.program.process.poll() is None, "the process lives on, with an error")
    finally:
        stranger.end()


GROUP = "/sys/fs/cgroup/offcpu-live"
GROWING = """
import os, time
open("/sys/fs/cgroup/offcpu-live/cgroup.procs", "w").write(str(os.getpid()))
def fill_cache():
    kept = []
    while True: kept.append(b"x" * (1 << 20))
print(flush=True)
fill_cache()
"""


@case
def memory_high_is_named(env):
    """A group beyond memory.high, without swap: the kernel holds its threads up, and nothing else does."""
    controllers = "/sys/fs/cgroup/cgroup.controllers"
    if not os.path.exists(controllers) or "memory" not in open(controllers, encoding="ascii").read().split():
        raise Skip("no memory controller of version 2")
    with open("/sys/fs/cgroup/cgroup.subtree_control", "w", encoding="ascii") as f:
        f.write("+memory\n")
    os.mkdir(GROUP)
    try:
        with open(f"{GROUP}/memory.high", "w", encoding="ascii") as f:
            f.write(str(32 << 20))
        process = subprocess.Popen(["python3", "-c", GROWING], stdout=subprocess.PIPE)
        env.running.append(process)
        process.stdout.readline()
        time.sleep(1)
        recorder = Recorder(env, "-p", str(process.pid), "-d", "3")
        recorder.wait()
        found = recorder.report(status=0).data["findings"][0]
        env.check.equal((found["reason"], found.get("limit", {}).get("kind")), ("memory.reclaim", "memory"), f"the first finding: {found}")
        env.check.equal((found["function"] or {}).get("name"), "fill_cache", "who allocates")
        env.check.that("(memory.high)" in found.get("limit", {}).get("text", ""), f"the limit: {found.get('limit')}")
    finally:
        process.kill()
        process.wait()
        os.rmdir(GROUP)
