# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What the recorder itself takes of a CPU while it records, and what very many threads do to it."""
import os
import statistics
import subprocess
import time
from pathlib import Path

import bpfcost
import checks
import host
import loads
import process
import recording

WARM_UP_S = 5
FEW_THREADS, MANY_THREADS = 100, 10_000
# Either way 10,000 wakeups a second: what differs is how many threads there are.
MILLISECONDS_EACH = {FEW_THREADS: 10, MANY_THREADS: 1000}


def cpu_ns(pid):
    """CPU time of all threads of a process, exact, of those that still live."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[0])
        except FileNotFoundError:
            pass
    return total


def user_and_system_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return tuple(int(field) / os.sysconf("SC_CLK_TCK") for field in fields[11:13])


def cpu_once(args, folder, target):
    """After the first seconds, in which most stacks are met and named."""
    path = folder / "cpu.offcpu"
    tool = recording.start_recording(args, path, target)
    try:
        time.sleep(WARM_UP_S)
        with host.bpf_stats(), checks.saturated("cpu"):
            ids = bpfcost.wait_until_counting(tool)
            began, cpu_before, split_before = time.monotonic(), cpu_ns(tool.pid), user_and_system_s(tool.pid)
            runs_before = bpfcost.counters(ids)
            time.sleep(args.cpu_s)
            seconds, cpu_after, split_after = time.monotonic() - began, cpu_ns(tool.pid), user_and_system_s(tool.pid)
            runs_after = bpfcost.counters(ids)
    finally:
        if tool.poll() is None:
            process.interrupt(tool)
    switch = bpfcost.switch_program(runs_after)
    user, system = ((after - before) / seconds * 100 for before, after in zip(split_before, split_after))
    return {"cpu_pct": (cpu_after - cpu_before) / 1e9 / seconds * 100, "user_pct": user, "system_pct": system,
            "switches_per_s": (runs_after[switch][0] - runs_before[switch][0]) / seconds}


def measure_cpu(args, folder, server_pid, say):
    result = {}
    for name, target in (("MariaDB, -p", ["-p", server_pid]), ("MariaDB, -a", ["-a"])):
        result[name] = cpu_once(args, folder, target)
        say(f"cpu {name}: {result[name]['cpu_pct']:.3f}% of a CPU at {result[name]['switches_per_s']:.0f} switches/s")
    return result


def start_iterators_ms(programs):
    """Run time of the task iterators so far: two looks at all threads before the window opens."""
    return sum(time_ns for name, (_, time_ns) in programs.items() if name.startswith("look_at_thread")) / 1e6


def threads_once(args, folder):
    """One recording of a running load: its start, its cost, its stop."""
    path = folder / "threads.offcpu"
    began_ns = time.time_ns()
    tool = recording.start_recording(args, path, ["-a"])
    try:
        ids = bpfcost.wait_until_counting(tool)
        time.sleep(bpfcost.SETTLE_S)
        before = bpfcost.counters(ids)
        time.sleep(args.reading_s)
        after = bpfcost.counters(ids)
        all_ns = bpfcost.ns_a_switch(before, after)
        if all_ns is None:
            raise checks.Doubtful("threads: no switch was counted")
        with bpfcost.held(bpfcost.id_of(bpfcost.program_ids(tool.pid), "close_thread")) as closing:
            stop_s, status, _ = process.interrupt(tool)
            stop_iterators_ms = bpfcost.run_time_ns(closing) / 1e6
    finally:
        if tool.poll() is None:
            process.kill_group(tool)
    if status != 0:
        raise RuntimeError(f"offcpu record ended with status {status}")
    report = recording.report_json(args, path)
    return {"start_ms": (report["window"]["start_unix_ns"] - began_ns) / 1e6, "stop_ms": stop_s * 1000,
            "start_iterators_ms": start_iterators_ms(before), "stop_iterators_ms": stop_iterators_ms,
            "sqlite_ms": recording.copied_by_sqlite_ms(path, folder), "seen": len(report["threads"]),
            "all_ns": all_ns}


def least_once(args, say):
    """What the least that keeps accounts takes beside the same load: what is in no cache costs it as well; and the kernel, to walk over all threads."""
    walk = subprocess.run([args.floor, "walk"], stdout=subprocess.PIPE, check=True)
    return {"least_ns": bpfcost.read_cost_undisturbed([args.floor], args.reading_s, "threads", say, idle_max=1)["all_ns"],
            "walk_ms": int(walk.stdout) / 1e6}


def threads_of(args, folder, cnt, say):
    with loads.sleepers(folder, cnt, MILLISECONDS_EACH[cnt]), host.bpf_stats():
        time.sleep(2)
        readings = [threads_once(args, folder) | least_once(args, say) for _ in range(args.alternations)]
    result = {key: statistics.median(reading[key] for reading in readings) for key in readings[0]}
    if result["seen"] < cnt:
        raise RuntimeError(f"of {cnt} threads only {result['seen']:.0f} are in the recording")
    say(f"{cnt} threads: " + ", ".join(f"{key} {value:.0f}" for key, value in result.items()))
    return {"threads": cnt, **result}


def measure_threads(args, folder, say):
    return {"few": threads_of(args, folder, FEW_THREADS, say), "many": threads_of(args, folder, MANY_THREADS, say)}
