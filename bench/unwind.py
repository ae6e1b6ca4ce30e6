#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Measures how many user stacks of stock programs are complete, and what a frame costs.

Each program is recorded once, without a warm-up, and then, on the same load, by libbpf-tools'
offcputime and by `perf record --call-graph fp`.  docs/unwinding.md says how each number is taken.
Needs root.  Exit status: 0 all reached, 1 a target missed or a measurement failed, 2 usage.
"""
import argparse
import collections
import datetime
import functools
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

import bpfcost  # noqa: E402
import host  # noqa: E402
import loads  # noqa: E402
import process  # noqa: E402
import subjects  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
TARGET = 99.0  # percent
TARGET_FRAME_NS = 80
# The last: offcputime knows libc's exported names only and takes start_thread for the one before it (glibc 2.36).
ROOTS = {"main", "_start", "clone", "clone3", "__clone", "__clone3", "__libc_start_main", "start_thread",
         "pthread_condattr_setpshared"}
PEER_ROW = re.compile(r"^ +- +.* \((\d+)\)$")


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--offcpu", type=Path, default=ROOT / "build" / "offcpu", help="the binary to measure")
    parser.add_argument("--peer", default="/usr/sbin/offcputime", help="libbpf-tools' offcputime")
    parser.add_argument("--only", action="append", choices=[*subjects.ALL, "cost"], help="may be repeated")
    parser.add_argument("--seconds", type=int, default=5, help="length of a recording (5)")
    parser.add_argument("--why", type=int, default=3, metavar="N", help="of each program, show N places where walks broke (3)")
    parser.add_argument("--reference", action="store_true", help="compare stacks with perf record --call-graph dwarf")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="leave the recordings there")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    args = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("must run as root")
    for tool in (args.offcpu, Path(args.peer)):
        if not os.access(tool, os.X_OK):
            parser.error(f"cannot run '{tool}'")
    args.offcpu = args.offcpu.resolve()
    return args


def say(text):
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def percent(part, whole):
    return round(100 * part / whole, 2) if whole else None


# -- what we say ----------------------------------------------------------------

def read_report(offcpu, path):
    return json.loads(subprocess.run([offcpu, "report", "--json", path], stdout=subprocess.PIPE, check=True).stdout)


def place(frame):
    module = os.path.basename(frame["module"] or "[no module]")
    return f"{frame['name'] or hex(frame['offset'] or 0)} in {module}"


def sections(path):
    result = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    return result.stdout


@functools.lru_cache(maxsize=None)
def has_symbols(module):
    """A .symtab, in the file or in its debug file; .dynsym alone names only what it exports."""
    if not module or module.startswith("["):
        return module == "[vdso]"
    if not os.path.exists(module) or ".symtab" in sections(module):
        return os.path.exists(module)
    notes = subprocess.run(["readelf", "-nW", module], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                           check=False).stdout
    found = re.search(r"Build ID: ([0-9a-f]{6,})", notes)
    debug = f"/usr/lib/debug/.build-id/{found[1][:2]}/{found[1][2:]}.debug" if found else ""
    return os.path.exists(debug) or ".gnu_debugdata" in sections(module)


def summarize(report):
    """Shares of time by how the stacks ended, of frames by whether they are named, and where walks broke."""
    ends, broken, stacks = collections.Counter(), collections.Counter(), set()
    depth = count = 0
    for wait in report["waits"]:
        ends[wait["user_end"]] += wait["off_cpu_ns"]
        depth += wait["count"] * len(wait["user"])
        count += wait["count"]
        stacks.add(tuple((frame["module"], frame["name"], frame["offset"], frame.get("why")) for frame in wait["user"]))
        if wait["user_end"] == "broken":
            broken[place(wait["user"][0]) if wait["user"] else "no frame"] += wait["off_cpu_ns"]
    total_ns = sum(ends.values()) - ends["none"]
    frames = [frame for stack in stacks for frame in stack]
    candidates = [frame for frame in frames if has_symbols(frame[0])]
    named = sum(1 for frame in candidates if frame[1])
    unnamed = collections.Counter(f"{hex(offset or 0)} in {os.path.basename(module or '?')}: {why}"
                                  for module, name, offset, why in candidates if not name)
    return {
        "off_cpu_ns": total_ns,
        "complete_percent": percent(ends["complete"], total_ns),
        "truncated_percent": percent(ends["truncated"], total_ns),
        "named_percent": percent(named, len(candidates)),
        "named_of_all_percent": percent(sum(1 for frame in frames if frame[1]), len(frames)),
        "frames": len(frames), "frames_with_symbols": len(candidates), "stacks": len(stacks), "switches": report["coverage"]["switches"],
        "mean_depth": round(depth / count, 1) if count else None,
        "lost": report["coverage"]["lost"],
        "broken_at": [[where, percent(ns, total_ns)] for where, ns in broken.most_common(12)],
        "unnamed": unnamed.most_common(8),
    }


# -- what the others say ----------------------------------------------------------

def peer_summary(path):
    """offcputime prints a block for each stack: frames, `-  COMM (TID)`, microseconds."""
    reached = total = 0
    names, at_value = set(), False
    for line in path.read_text(errors="replace").splitlines():
        if at_value:
            total += int(line)
            reached += int(line) if names & ROOTS else 0
            names, at_value = set(), False
        elif PEER_ROW.match(line):
            at_value = True
        elif line.strip():
            names.add(line.strip())
    return {"complete_percent": percent(reached, total), "off_cpu_us": total}


def perf_summary(data):
    """Share of switches whose user stack reaches the thread's start, by frame pointer."""
    text = subprocess.run(["perf", "script", "-i", str(data), "-F", "comm,tid,event,ip,sym"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False).stdout.decode(errors="replace")
    samples = [block for block in text.split("\n\n") if block.strip()]
    reached = sum(1 for block in samples if ROOTS & {line.split()[1] for line in block.splitlines()[1:]
                                                     if len(line.split()) > 1})
    return {"complete_percent": percent(reached, len(samples)), "samples": len(samples)}


def run_others(args, pids, output, perf):
    """One after the other: two at once starve each other.  A process that has ended leaves them nothing."""
    for command, stdout in (([args.peer, "-p", pids[0], "--stack-storage-size", "65536"], output),
                            (["perf", "record", "-q", "-e", "sched:sched_switch", "-g", "-p",
                              ",".join(map(str, pids)), "-o", perf], subprocess.DEVNULL)):
        tool = process.start(command, stdout=stdout)
        time.sleep(3)
        if tool.poll() is None:
            process.interrupt(tool)


def measure_subject(args, name, folder):
    ours, theirs, perf = folder / f"{name}.offcpu", folder / f"{name}.peer", folder / f"{name}.perf"
    with subjects.started(name, folder) as pids, open(theirs, "wb") as output:
        result = subprocess.run([args.offcpu, "record", "-p", ",".join(map(str, pids)), "-d", str(args.seconds),
                                 "-o", ours], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE, check=False)
        run_others(args, pids, output, perf)
        reference = measure_reference(args, name, pids, folder) if args.reference else None
    if result.returncode != 0:
        raise RuntimeError(f"offcpu record: {result.stderr.decode(errors='replace').strip()}")
    return {"program": name, "processes": len(pids), **summarize(read_report(args.offcpu, ours)),
            "peer": peer_summary(theirs), "perf_fp": perf_summary(perf), "perf_dwarf": reference}


# -- perf's DWARF unwinder as the reference ---------------------------------------------

def without_arguments(name):
    """Names as far as two demanglers agree."""
    return re.sub(r"[(<@].*", "", name) if name else "[unknown]"


def key_of(frames):
    """A stack from (name, module) pairs: libc's functions have several names each, so of them only the module counts."""
    return tuple((os.path.basename(module), "" if "/libc.so" in module or "/ld-linux" in module else without_arguments(name))
                 for name, module in frames)


def reference_stacks(data):
    """
    User stacks of perf's samples, root first: lines are `ADDRESS SYMBOL (MODULE)`.  None for one that
    does not reach the thread's start: perf's own walk broke off, and it says nothing about ours.
    """
    text = subprocess.run(["perf", "script", "--no-inline", "-i", str(data), "-F", "ip,sym,dso"], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, check=False).stdout.decode(errors="replace")
    for block in text.split("\n\n"):
        frames = re.findall(r"^\s*[0-9a-f]+ (.*) \((.*)\)$", block, re.MULTILINE)
        frames = [(None if name == "[unknown]" else name, module) for name, module in frames
                  if not module.startswith(("[kernel", "[guest"))]
        if frames:
            reached = any(name in ROOTS for name, _ in frames)
            yield key_of(reversed(frames)) if reached else None


def measure_reference(args, name, pids, folder):
    """How many of perf's stacks of a sample of switches are, frame by frame, stacks of ours on the same load."""
    data, ours = folder / f"{name}.dwarf", folder / f"{name}.reference.offcpu"
    perf = process.start(["perf", "record", "-q", "-e", "sched:sched_switch", "-c", "41", "--call-graph", "dwarf,32768",
                          "-p", ",".join(map(str, pids)), "-o", data])
    subprocess.run([args.offcpu, "record", "-p", ",".join(map(str, pids)), "-d", "2", "-o", ours],
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    if perf.poll() is None:
        process.interrupt(perf)
    known = {key_of([(frame["name"], frame["module"] or "?") for frame in wait["user"]])
             for wait in read_report(args.offcpu, ours)["waits"] if wait["user_end"] == "complete"}
    samples = collections.Counter(reference_stacks(data))
    cut_off = samples.pop(None, 0)
    strangers = [stack for stack, _ in samples.most_common() if stack not in known]
    return {"samples": sum(samples.values()), "stacks": len(samples), "cut_off": cut_off,
            "same_percent": percent(sum(n for stack, n in samples.items() if stack in known), sum(samples.values())),
            "strangers": strangers[:5]}


# -- what a frame costs -------------------------------------------------------------

AROUND = 5.5  # frames of a stack but those of descend(): pass and read, and main with three of libc or a thread with two
# (what, depth, option).  Beyond some fifty frames a walk is not remembered but done in full each time.
WALKS = (("remembered", 15, None), ("remembered and in full", 15, "--test-verify-walks"), ("in full", 56, None))


def switches_of(pid):
    """Voluntary and other switches of all threads of a process, as the kernel counts them."""
    total = 0
    for path in Path(f"/proc/{pid}/task").iterdir():
        total += sum(map(int, re.findall(r"ctxt_switches:\t(\d+)", (path / "status").read_text())))
    return total


def cost_per_switch(command, pid, seconds):
    """BPF time for each switch of a process."""
    tool = process.start(command)
    try:
        ids = bpfcost.wait_until_counting(tool)
        time.sleep(1)
        before, switches = bpfcost.counters(ids), switches_of(pid)
        time.sleep(seconds)
        after, switches = bpfcost.counters(ids), switches_of(pid) - switches
    finally:
        if tool.poll() is None:
            process.interrupt(tool)
    return sum(after[name][1] - before[name][1] for name in after) / switches


def measure_walk(args, program, walk, folder):
    """What user stacks add to a switch of two threads that switch below so many frames."""
    what, depth, option = walk
    base = [args.offcpu, "record", "-o", folder / "cost.offcpu", "-p"]
    with process.running([program, depth]) as load, host.bpf_stats():
        time.sleep(0.3)
        without = [cost_per_switch([*base, load.pid, "-K"], load.pid, 1) for _ in range(4)]
        with_user = [cost_per_switch([*base, load.pid, "--unwind", "dwarf", *([option] if option else [])], load.pid, 1) for _ in range(4)]
    stack_ns = min(with_user) - min(without)
    return {"walk": what, "frames": depth + AROUND, "stack_ns": round(stack_ns),
            "frame_ns": round(stack_ns / (depth + AROUND), 1), "readings_ns": [list(map(round, without)), list(map(round, with_user))]}


def measure_costs(args, folder):
    program = folder / "depth"
    subprocess.run(["cc", "-O2", "-fomit-frame-pointer", "-fno-optimize-sibling-calls", "-pthread", "-o", str(program),
                    str(Path(__file__).resolve().parent / "depth.c")], check=True)
    costs = []
    for walk in WALKS:
        costs.append(measure_walk(args, program, walk, folder))
        say(f"{costs[-1]}")
    return costs


# -- the table -------------------------------------------------------------------------

def shown(value):
    return "-" if value is None else f"{value:.2f}"


def to_text(args, rows, costs):
    lines = [f"{'program':<14} {'complete':>9} {'named':>8} {'of all':>8} {'depth':>6} {'switches':>9} | {'offcputime':>10} {'perf fp':>8}"]
    for row in rows:
        if "error" in row:
            lines.append(f"{row['program']:<14} {row['error']}")
            continue
        lines.append(f"{row['program']:<14} {shown(row['complete_percent']):>8}% {shown(row['named_percent']):>7}% {shown(row['named_of_all_percent']):>7}% "
                     f"{row['mean_depth'] or 0:>6} {row['switches']:>9} | {shown(row['peer']['complete_percent']):>9}% "
                     f"{shown(row['perf_fp']['complete_percent']):>7}%")
        lines += [f"{'':<14}   {share:.2f}% broke at {where}" for where, share in row["broken_at"][:args.why]]
        if row["perf_dwarf"]:
            lines.append(f"{'':<14}   {shown(row['perf_dwarf']['same_percent'])}% of {row['perf_dwarf']['samples']} samples of "
                         f"perf --call-graph dwarf have a stack that we have, frame by frame; {row['perf_dwarf']['cut_off']} "
                         "more broke off in perf before the thread's start")
        lines += [f"{'':<14}   {times} unnamed: {what}" for what, times in row["unnamed"][:args.why]]
    for cost in costs:
        lines.append(f"walks {cost['walk']}: {cost['stack_ns']} ns for {cost['frames']} frames, {cost['frame_ns']} ns a frame; "
                     f"BPF ns per switch without and with user stacks {cost['readings_ns']}")
    return "\n".join(lines)


def measure_all(args, folder):
    rows, costs = [], []
    for name in args.only or [*subjects.ALL, "cost"]:
        try:
            if name == "cost":
                costs = measure_costs(args, folder)
                continue
            rows.append(measure_subject(args, name, folder))
            say(f"{name}: {rows[-1]['complete_percent']}% complete")
        except (subjects.Missing, RuntimeError, OSError, subprocess.SubprocessError) as error:
            rows.append({"program": name, "error": str(error)})
            say(f"{name}: {error}")
    return rows, costs


def main():
    args = parse_args()
    with tempfile.TemporaryDirectory(prefix="offcpu-unwind-") as temporary:
        folder = args.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows, costs = measure_all(args, folder)
    conditions = {"date": datetime.date.today().isoformat(), "kernel": platform.release(), "cpus": os.cpu_count(),
                  "load_average_1min": round(os.getloadavg()[0], 1), "seconds": args.seconds}
    if args.json:
        print(json.dumps({"schema": 1, "conditions": conditions, "programs": rows, "costs": costs}, indent=1))
    else:
        print(" ".join(f"{key}={value}" for key, value in conditions.items()))
        print(to_text(args, rows, costs))
    reached = all("error" not in row and (row["complete_percent"] or 0) >= TARGET and (row["named_percent"] or 0) >= TARGET
                  for row in rows) and all(cost["frame_ns"] <= TARGET_FRAME_NS for cost in costs)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
