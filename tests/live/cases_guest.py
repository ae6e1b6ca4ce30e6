# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What no test may do to a machine that others use: for tests/vm only."""

import os
import subprocess
import time

from lib import Recorder, Skip, case

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
