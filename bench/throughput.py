# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What tracing takes of a load's throughput: spans with a tracer's programs attached against their neighbours without."""
import math
import os
import shutil
import statistics
import subprocess
import time

import checks
import loads
import process

SPAN_MS = 20
# Of a tool whose programs are attached late, what it had before proves nothing.
SPANS_MIN = 40
# What a tool that cannot trace here needs to find out.
TRIED_S = 3

# What offcputime does, in bpftrace's language.
BPFTRACE = """
tracepoint:sched:sched_switch { @out[args->prev_pid] = nsecs; @st[args->prev_pid] = kstack; @us[args->prev_pid] = ustack;
    $from = @out[args->next_pid];
    if ($from) { @us_of[args->next_comm, @st[args->next_pid], @us[args->next_pid]] = sum((nsecs - $from) / 1000);
        delete(@out[args->next_pid]); delete(@st[args->next_pid]); delete(@us[args->next_pid]); } }
"""


def goes_on(command):
    tool = process.start(command)
    try:
        tool.wait(TRIED_S)
        return False
    except subprocess.TimeoutExpired:
        return True
    finally:
        process.kill_group(tool)


def other_tools(args, folder, say):
    """The peers that are installed and trace here: {name: command}; of the others, that they do not."""
    data = folder / "perf.data"
    tools = {
        "offcputime": [args.peer],
        "bpftrace": ["bpftrace", "-e", BPFTRACE],
        "perf record -e sched:sched_switch -a -g": ["perf", "record", "-q", "-e", "sched:sched_switch", "-a", "-g", "-o", data],
        "perf record --off-cpu": ["perf", "record", "-q", "--off-cpu", "-e", "dummy", "-a", "-g", "-o", data],
    }
    tried = subprocess.run(["perf", "record", "--off-cpu", "-o", data, "true"], stderr=subprocess.PIPE, text=True, check=False)
    if tried.returncode or "ignored" in tried.stderr:  # built without BPF
        del tools["perf record --off-cpu"]
        say("throughput: this perf is built without --off-cpu")
    for name in [name for name, command in tools.items() if not shutil.which(command[0])]:
        del tools[name]
        say(f"throughput: {name} is not installed")
    for name in [name for name, command in tools.items() if not goes_on(command)]:
        del tools[name]
        say(f"throughput: {name} ends by itself here; is tracefs mounted?")
    return tools


def spans(text):
    """[(is attached, transactions per s)] of the spans in which all that the tool attaches was there to be gated."""
    lines = [line.split() for line in text.splitlines()]
    read = [(what == "on", int(count) / int(length_ns) * 1e9, int(gated)) for what, count, length_ns, gated in lines]
    most = max((gated for _, _, gated in read), default=0)
    return [(is_on, per_s) for is_on, per_s, gated in read if gated == most], most


def pair_ratios(read):
    """Each span with the programs attached to the mean of the two beside it."""
    return [here[1] / statistics.mean((before[1], after[1]))
            for before, here, after in zip(read, read[1:], read[2:]) if here[0] and not before[0] and not after[0]]


def trimmed_mean(values):
    """(mean of the middle four fifths, its standard error): Tukey and McLaughlin 1963, by the winsorized variance."""
    ordered = sorted(values)
    cut = len(ordered) // 10
    middle = ordered[cut:len(ordered) - cut]
    winsorized = [middle[0]] * cut + middle + [middle[-1]] * cut
    return statistics.mean(middle), statistics.stdev(winsorized) / (0.8 * math.sqrt(len(ordered)))


def gate_once(args, folder, gate, who, command):
    """A tool for so many seconds: its ratios, and transactions per s without its programs."""
    output = folder / "gate.spans"
    output.write_text("")
    environment = dict(os.environ, LD_PRELOAD=str(gate), GATE_COUNTS=str(folder / "counts"), GATE_OUTPUT=str(output),
                       GATE_SPAN_MS=str(SPAN_MS))
    tool = process.start(command, env=environment)
    try:
        end = time.monotonic() + 30
        while len(output.read_text().splitlines()) < SPANS_MIN and tool.poll() is None and time.monotonic() < end:
            time.sleep(0.1)
        # What the host takes away it takes from neighbouring spans alike.
        with checks.saturated(f"throughput, {who}", stolen_max=1):
            time.sleep(args.throughput_s)
        if tool.poll() is not None:
            raise RuntimeError(f"{who} ended by itself with status {tool.returncode}")
    finally:
        process.kill_group(tool)  # what it would print does not matter, and takes bpftrace minutes
    text = output.read_text()
    read, gated = spans(text[:text.rfind("\n") + 1])
    if not gated and who != "nothing":
        raise RuntimeError(f"{who}: it attached nothing that can be gated")
    return pair_ratios(read), statistics.median(per_s for is_on, per_s in read if not is_on)


def measure(args, folder, socket, say):
    """Each tool in turn beside a sysbench that runs on; "nothing" is the same gate in a program that traces nothing."""
    ours = [args.offcpu, "record", "-a", "-o", folder / "throughput.offcpu"]
    tools = {"nothing": ["sleep", "1000"], "empty programs": [loads.build(folder, "empty")], "the floor program": [args.floor],
             "default": ours, "--exact": [*ours, "--exact"], **other_tools(args, folder, say)}
    gate = loads.build(folder, "gate", "-shared", "-fPIC")
    ratios, alone = {who: [] for who in tools}, []
    with loads.counted_clients(socket, folder / "counts"):
        time.sleep(2)
        for who in checks.in_turn(tools, args.alternations):
            taken, without = gate_once(args, folder, gate, who, tools[who])
            ratios[who] += taken
            alone.append(without)
            say(f"sysbench beside {who}: {statistics.mean(taken):.3f} of {without:.0f} transactions/s in {len(taken)} pairs")
    beside = {}
    for who, taken in ratios.items():
        ratio, error = trimmed_mean(taken)
        beside[who] = {"ratio": ratio, "standard_error": error, "pairs": len(taken)}
    nothing = beside["nothing"]
    is_off = abs(nothing["ratio"] - 1) > 3 * nothing["standard_error"]
    return {"beside": beside, "alone_per_s": statistics.median(alone),
            "unsteady": [f"throughput: nothing at all makes {nothing['ratio']:.4f} of it"] if is_off and not args.quick else []}
