# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What a tracer's BPF programs cost, by the kernel's own account, against libbpf-tools' offcputime."""
import json
import re
import statistics
import subprocess
import time
from pathlib import Path

import process

# A load that takes every CPU can hold a tool back for long before it has attached.
ATTACH_TIMEOUT_S = 120


def program_ids(pid):
    """The BPF programs a process holds, itself or through links."""
    ids = set()
    for path in Path(f"/proc/{pid}/fdinfo").iterdir():
        try:
            match = re.search(r"^prog_id:\s+(\d+)", path.read_text(), re.MULTILINE)
        except FileNotFoundError:
            continue
        if match:
            ids.add(int(match.group(1)))
    return ids


def counters(ids):
    """{name: (run_cnt, run_time_ns)} of these programs, summed where two share a name."""
    listing = json.loads(subprocess.run(["bpftool", "prog", "show", "-j"], stdout=subprocess.PIPE, check=True).stdout)
    found = {}
    for program in listing:
        if program["id"] in ids:
            runs, run_time_ns = found.get(program["name"], (0, 0))
            found[program["name"]] = (runs + program.get("run_cnt", 0), run_time_ns + program.get("run_time_ns", 0))
    return found


def switch_program(programs):
    names = [name for name in programs if "switch" in name]
    return max(names, key=lambda name: programs[name][0]) if names else None


def wait_until_counting(tool):
    """Waits until the tool's sched_switch program runs; returns its programs' ids."""
    end = time.monotonic() + ATTACH_TIMEOUT_S
    while time.monotonic() < end:
        if tool.poll() is not None:
            raise RuntimeError(f"{tool.args[0]} ended by itself with status {tool.returncode}")
        ids = program_ids(tool.pid)
        programs = counters(ids)
        name = switch_program(programs)
        if name and programs[name][0] > 0:
            return ids
        time.sleep(0.1)
    raise RuntimeError(f"{tool.args[0]} counted no switch within {ATTACH_TIMEOUT_S} s")


def read_cost(command, seconds):
    """Runs a tool for so many seconds of load; its cost per switch between two readings."""
    tool = process.start(command)
    try:
        ids = wait_until_counting(tool)
        time.sleep(0.5)
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
        "all_ns": sum(time_ns.values()) / runs[name],
        "switch_ns": time_ns[name] / runs[name],
        "switches_per_s": runs[name] / elapsed_s,
        "programs": {other: time_ns[other] / runs[name] for other in sorted(time_ns) if runs[other]},
    }


def medians(readings):
    """The median of each number of a tool's readings, and the readings themselves."""
    result = {key: statistics.median(reading[key] for reading in readings)
              for key in ("all_ns", "switch_ns", "switches_per_s")}
    names = sorted({name for reading in readings for name in reading["programs"]})
    result["programs"] = {name: statistics.median(reading["programs"].get(name, 0) for reading in readings)
                          for name in names}
    result["readings_all_ns"] = [round(reading["all_ns"]) for reading in readings]
    return result


def compare(args, load, folder, say):
    """Ours and the peer in turn on a running load; the one that goes first changes each time."""
    commands = {
        "ours": [args.offcpu, "record", "-a", "--unwind", args.unwind, "-o", folder / "cost.offcpu"],
        "peer": [args.peer],
    }
    readings = {"ours": [], "peer": []}
    for turn in range(args.alternations):
        for who in ("ours", "peer") if turn % 2 == 0 else ("peer", "ours"):
            readings[who].append(read_cost(commands[who], args.reading_s))
            say(f"{load}: {who} {readings[who][-1]['all_ns']:.0f} ns a switch")
    result = {who: medians(readings[who]) for who in readings}
    result["ratio_all"] = result["ours"]["all_ns"] / result["peer"]["all_ns"]
    result["ratio_switch"] = result["ours"]["switch_ns"] / result["peer"]["switch_ns"]
    return result
