# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What a tracer's BPF programs cost, by the kernel's own account, against libbpf-tools' offcputime."""
import ctypes
import json
import os
import platform
import re
import statistics
import struct
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import checks
import loads
import process

# A load that takes every CPU can hold a tool back for long before it has attached.
ATTACH_TIMEOUT_S = 120
# Of either tool: until each stack was met once, and our governor has found its scale.
SETTLE_S = 2
ROOT = Path(__file__).resolve().parent.parent
# How often a reading is taken again because the host took CPU time away.
AGAIN_MAX, AGAIN_AFTER_S = 8, 5


def file_says(path, field):
    """A number that the kernel tells of an open file; None: not of this one, or it is closed."""
    try:
        match = re.search(rf"^{field}:\s+(\d+)", path.read_text(), re.MULTILINE)
    except FileNotFoundError:
        return None
    return int(match.group(1)) if match else None


def open_files_say(pid, field):
    """The same of all that a process has open."""
    said = (file_says(path, field) for path in Path(f"/proc/{pid}/fdinfo").iterdir())
    return [number for number in said if number is not None]


def held_ids(pid, what):
    """The BPF programs ("prog") or maps ("map") a process holds, itself or through links."""
    return set(open_files_say(pid, f"{what}_id"))


def program_ids(pid):
    return held_ids(pid, "prog")


def bpftool(*words):
    return json.loads(subprocess.run(["bpftool", "-j", *map(str, words)], stdout=subprocess.PIPE, check=True).stdout)


def window_is_open(pid):
    """Ours attaches first and then opens its window: a switch before that costs next to nothing."""
    held = held_ids(pid, "map")
    for one in bpftool("map", "show"):
        if one["id"] in held and one.get("name", "").endswith(".data"):
            for variable in bpftool("map", "dump", "id", one["id"])[0]["formatted"]["value"][".data"]:
                if "start_ns" in variable:
                    return variable["start_ns"] < time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    return True


def counters(ids):
    """{name: (run_cnt, run_time_ns)} of these programs, summed where two share a name."""
    found = {}
    for program in bpftool("prog", "show"):
        if program["id"] in ids:
            name = program.get("name", "")  # a probe has none
            runs, run_time_ns = found.get(name, (0, 0))
            found[name] = (runs + program.get("run_cnt", 0), run_time_ns + program.get("run_time_ns", 0))
    return found


NR_BPF = {"x86_64": 321, "aarch64": 280}
BPF_PROG_GET_FD_BY_ID = 13  # include/uapi/linux/bpf.h


@contextmanager
def held(program_id):
    """A file descriptor of a program, which keeps it, and its statistics, when its tool has ended."""
    asked = ctypes.create_string_buffer(struct.pack("III", program_id, 0, 0))
    fd = ctypes.CDLL(None, use_errno=True).syscall(NR_BPF[platform.machine()], BPF_PROG_GET_FD_BY_ID, asked, len(asked.raw) - 1)
    if fd < 0:
        raise OSError(ctypes.get_errno(), "cannot get at a BPF program")
    try:
        yield fd
    finally:
        os.close(fd)


def run_time_ns(fd):
    """What a held program has run so far."""
    return file_says(Path(f"/proc/self/fdinfo/{fd}"), "run_time_ns")


def id_of(ids, name):
    return next(program["id"] for program in bpftool("prog", "show") if program["id"] in ids and program.get("name") == name)


def runs_of(pid):
    """How often the programs of a process have run, by what its open files say; cheaper than bpftool."""
    return sum(open_files_say(pid, "run_cnt"))


def switch_program(programs):
    names = [name for name in programs if "switch" in name]
    return max(names, key=lambda name: programs[name][0]) if names else None


def ns_a_switch(before, after):
    """What all of these programs cost between two readings, for each switch; None: there was none."""
    switch = switch_program(after)
    runs = after[switch][0] - before[switch][0]
    return sum(after[name][1] - before[name][1] for name in after) / runs if runs else None


def wait_until_counting(tool):
    """Waits until the tool's sched_switch program runs; returns its programs' ids."""
    end = time.monotonic() + ATTACH_TIMEOUT_S
    while time.monotonic() < end:
        if tool.poll() is not None:
            raise RuntimeError(f"{tool.args[0]} ended by itself with status {tool.returncode}")
        ids = program_ids(tool.pid)
        programs = counters(ids)
        name = switch_program(programs)
        if name and programs[name][0] > 0 and window_is_open(tool.pid):
            return ids
        time.sleep(0.1)
    raise RuntimeError(f"{tool.args[0]} counted no switch within {ATTACH_TIMEOUT_S} s")


def read_cost(command, seconds, load, idle_max=checks.IDLE_MAX):
    """Runs a tool for so many seconds of load; its cost per switch between two readings."""
    tool = process.start(command)
    try:
        ids = wait_until_counting(tool)
        time.sleep(SETTLE_S)
        with checks.saturated(load, idle_max):
            before = counters(ids)
            began = time.monotonic()
            time.sleep(seconds)
            after = counters(ids)
            elapsed_s = time.monotonic() - began
    finally:
        if tool.poll() is None:
            process.interrupt(tool)
    runs = {name: after[name][0] - before[name][0] for name in after}
    time_ns = {name: after[name][1] - before[name][1] for name in after}
    name = switch_program(after)
    if runs[name] == 0:
        raise RuntimeError(f"{command[0]}: the kernel counted no run; is kernel.bpf_stats_enabled still 1?")
    return {
        "all_ns": ns_a_switch(before, after),
        "switch_ns": time_ns[name] / runs[name],
        "switches_per_s": runs[name] / elapsed_s,
        "programs": {other: time_ns[other] / runs[name] for other in sorted(time_ns) if runs[other]},
        "waking_ns": waking_ns(runs, time_ns),
    }


def read_cost_undisturbed(command, seconds, load, say, idle_max=checks.IDLE_MAX):
    """The same, taken again while the host takes CPU time away."""
    for _ in range(AGAIN_MAX):
        try:
            return read_cost(command, seconds, load, idle_max)
        except checks.Stolen as why:
            say(f"{why}: once more")
            time.sleep(AGAIN_AFTER_S)
    return read_cost(command, seconds, load, idle_max)


def waking_ns(runs, time_ns):
    """What the program at sched_waking costs each time it runs; 0 where there is none."""
    names = [name for name in runs if "waking" in name or "wakeup" in name]
    return sum(time_ns[name] for name in names) / max(1, sum(runs[name] for name in names))


def medians(readings):
    """The median of each number of a tool's readings, and the readings themselves."""
    result = {key: statistics.median(reading[key] for reading in readings)
              for key in ("all_ns", "switch_ns", "switches_per_s", "waking_ns")}
    names = sorted({name for reading in readings for name in reading["programs"]})
    result["programs"] = {name: statistics.median(reading["programs"].get(name, 0) for reading in readings)
                          for name in names}
    result["readings_all_ns"] = [round(reading["all_ns"]) for reading in readings]
    return result


def alternate(args, load, commands, say, idle_max=checks.IDLE_MAX):
    """Several tools in turn on a running load, beginning with another one each time: medians of each."""
    names = list(commands)
    readings = {name: [] for name in names}
    for name in checks.in_turn(names, args.alternations):
        readings[name].append(read_cost_undisturbed(commands[name], args.reading_s, load, say, idle_max))
        say(f"{load}: {name} {readings[name][-1]['all_ns']:.0f} ns a switch")
    result = {name: medians(readings[name]) for name in names}
    if not args.quick:
        result["unsteady"] = [why for name in names
                              for why in checks.unsteady(f"{load}, {name}", [reading["all_ns"] for reading in readings[name]])]
    return result


def ours(args, folder, *options):
    return [args.offcpu, "record", "-a", "--unwind", args.unwind, *options, "-o", folder / "cost.offcpu"]


def compare(args, load, folder, say, idle_max=checks.IDLE_MAX):
    """Ours by default, with every stack and with none, the least that keeps accounts, and that sums stacks, and the peer, in turn on a running load."""
    return alternate(args, load, {
        "default": ours(args, folder),
        "exact": ours(args, folder, "--exact"),
        "accounts": ours(args, folder, "--exact", "--no-wakers", "-m", "1000s"),
        "floor": [args.floor],
        "floor with stacks": [args.floor, "stacks"],
        "peer": [args.peer],
    }, say, idle_max)


def compare_filtered(args, load, folder, say, idle_max=checks.IDLE_MAX):
    """Every switch is another's, beside programs that do nothing at all."""
    return alternate(args, load, {
        "filtered": [args.offcpu, "record", "-p", os.getpid(), "-o", folder / "cost.offcpu"],
        "empty": [loads.build(folder, "empty")],
    }, say, idle_max)


def compare_wakers(args, load, folder, say, idle_max=checks.IDLE_MAX):
    """The same with who woke whom; the peers are two tools, for one does not tell both."""
    return alternate(args, load, {
        "without": ours(args, folder, "--exact", "--no-wakers"),
        "default": ours(args, folder, "--wakers"),
        "chains": ours(args, folder, "--wakers=8"),
        "exact": ours(args, folder, "--exact", "--wakers"),
        "peer": [args.peer],
        "waker peer": [args.waker_peer],
    }, say, idle_max)


# What each leaves out of `record -a`; told from the whole, it is what that part costs.
VARIANTS = {
    "whole": ["--exact"],
    "by frame pointers": ["--exact", "--unwind", "fp"],
    "user stacks of one frame": ["--exact", "--max-depth", "1", "-U"],
    "no kernel stacks (-U)": ["--exact", "-U"],
    "no user stacks (-K)": ["--exact", "-K"],
    "sampled at 100 us": ["--sample", "100us", "--max-overhead", "100"],
    "sampled at 1.6 ms": ["--sample", "1600us", "--max-overhead", "100"],
    "no wait is listed (-m 1000s)": ["--exact", "-m", "1000s"],
    "no stacks: histograms (hist)": None,
    "not selected (-p of a quiet process)": ["-p", "1"],
}


def parts(args, load, folder, say, idle_max=checks.IDLE_MAX):
    """The cost of a switch with each part of our own path left out, in turn on one running load."""
    output = ["-o", folder / "parts.offcpu"]
    commands = {name: [args.offcpu, "record", *(options if "-p" in options else ["-a", *options]), *output]
                if options is not None else [args.offcpu, "hist", "3600", "1"]
                for name, options in VARIANTS.items()}
    commands["programs that do nothing"] = [loads.build(folder, "empty")]
    commands["storage: the floor program, which only finds the threads' memory"] = [args.floor, "storage"]
    commands["storage and account: the floor program"] = [args.floor]
    variants = alternate(args, load, commands, say, idle_max)
    return {"load": load, "unsteady": variants.pop("unsteady", []), "variants": variants}
