# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The machine a measurement ran on, and what was going on there."""
import datetime
import os
import platform
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

BPF_STATS = Path("/proc/sys/kernel/bpf_stats_enabled")


def cpu_model():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def first_line(command):
    """What a program says of its version; None where it is missing."""
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    except FileNotFoundError:
        return None
    lines = result.stdout.strip().splitlines()
    return lines[0] if lines else None


def other_tracers():
    """How many BPF programs of others are loaded: they cost time in the same tracepoints."""
    result = subprocess.run(["bpftool", "prog", "list"], stdout=subprocess.PIPE, text=True, check=True)
    return sum(": tracing " in line or ": raw_tracepoint " in line for line in result.stdout.splitlines())


def conditions(args):
    return {
        "date": datetime.date.today().isoformat(),
        "kernel": platform.release(),
        "cpus": os.cpu_count(),
        "cpu_model": cpu_model(),
        "load_average_1min_at_start": round(os.getloadavg()[0], 2),
        "other_tracing_programs_at_start": other_tracers(),
        "alternations": args.alternations,
        "seconds_per_reading": args.reading_s,
        "mode": "quick" if args.quick else "full",
        "mariadb": first_line(["mariadbd", "--version"]),
        "sysbench": first_line(["sysbench", "--version"]),
        "perf": first_line(["perf", "--version"]),
        "peer": first_line([args.peer, "--version"]),
    }


@contextmanager
def bpf_stats():
    """The kernel's own account of BPF run time, switched on and put back as it was."""
    before = BPF_STATS.read_text()
    BPF_STATS.write_text("1")
    try:
        yield
    finally:
        BPF_STATS.write_text(before)


@contextmanager
def raised_priority(is_wanted):
    """In real time, the loads excepted that give it back: for loads that leave nothing to anybody."""
    before, param = os.sched_getscheduler(0), os.sched_getparam(0)
    if is_wanted:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, before, param)


def wait_for_quiet(load_max, timeout_s, say):
    """Waits until the load average is below load_max, for timeout_s at most."""
    end = time.monotonic() + timeout_s
    while os.getloadavg()[0] >= load_max and time.monotonic() < end:
        say(f"load average {os.getloadavg()[0]:.2f}, waiting for {load_max}")
        time.sleep(min(20, max(0, end - time.monotonic())))
