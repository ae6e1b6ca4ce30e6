# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Turns what was measured into rows with a target each, and rows into text."""

MIB = 1 << 20

COLUMNS = ("what", "target", "measured", "ratio", "result")


def row(what, target, measured, unit, **more):
    """A number that must not be above its target."""
    return {"what": what, "target": target, "measured": round(measured, 3), "unit": unit,
            "ratio": round(measured / target, 3), "pass": measured <= target, **more}


def information(what, measured, unit, ratio=None):
    """A number without a target."""
    return {"what": what, "target": None, "measured": round(measured, 3), "unit": unit,
            "ratio": None if ratio is None else round(ratio, 3), "pass": None}


# What a switch may cost us of what it costs the peer.
DEFAULT_RATIO, EXACT_RATIO, WAKERS_RATIO = 0.10, 0.30, 0.15
WAKING_NS = 400
FILTERED_NS = 30


def peer_row(what, ours_ns, peer_ns, ratio):
    """A share of what another tool costs in the same run."""
    return row(f"{what} ({peer_ns:.0f} ns)", ratio * peer_ns, ours_ns, "ns",
               peer_ratio=round(ours_ns / peer_ns, 3), ratio_target=ratio)


def over_least_row(what, ours_ns, least_ns, mode="default"):
    return information(f"{what}: {mode} over that least", ours_ns - least_ns, "ns", ours_ns / least_ns)


def cost_rows(load, cost):
    default, exact, floor, peer = cost["default"], cost["exact"], cost["floor"], cost["peer"]
    with_stacks = cost["floor with stacks"]
    what = f"{load}: BPF ns per switch"
    return [
        peer_row(f"{what}, default, vs offcputime", default["all_ns"], peer["all_ns"], DEFAULT_RATIO),
        peer_row(f"{what}, --exact, vs offcputime", exact["all_ns"], peer["all_ns"], EXACT_RATIO),
        information(f"{load}: the same, accounts only (-m 1000s)", cost["accounts"]["all_ns"], "ns",
                    cost["accounts"]["all_ns"] / peer["all_ns"]),
        information(f"{load}: the least that keeps accounts (bench/floor.bpf.c)", floor["all_ns"], "ns",
                    floor["all_ns"] / peer["all_ns"]),
        over_least_row(load, default["all_ns"], floor["all_ns"]),
        information(f"{load}: the least that sums waits under stacks", with_stacks["all_ns"], "ns",
                    with_stacks["all_ns"] / peer["all_ns"]),
        over_least_row(load, exact["all_ns"], with_stacks["all_ns"], "--exact"),
        information(f"{load}: switches per s beside offcputime", peer["switches_per_s"], "/s"),
        information(f"{load}: switches per s beside us", default["switches_per_s"], "/s",
                    default["switches_per_s"] / peer["switches_per_s"]),
    ]


def filtered_rows(cost):
    filtered, empty = cost["filtered"], cost["empty"]
    return [row(f"pipe: a switch of others, -p, more than empty programs' ({empty['all_ns']:.0f} ns)", FILTERED_NS,
                filtered["all_ns"] - empty["all_ns"], "ns")]


def wakers_rows(load, cost):
    without, default, exact = cost["without"], cost["default"], cost["exact"]
    peers_ns = cost["peer"]["all_ns"] + cost["waker peer"]["all_ns"]
    return [
        peer_row(f"{load}: BPF ns per switch, --wakers, vs offcputime + wakeuptime", default["all_ns"], peers_ns,
                 WAKERS_RATIO),
        information(f"{load}: the same, --wakers --exact", exact["all_ns"], "ns", exact["all_ns"] / peers_ns),
        row(f"{load}: what --wakers adds to a waking", WAKING_NS, default["waking_ns"] - without["waking_ns"], "ns"),
        row(f"{load}: the same, --wakers=8", WAKING_NS, cost["chains"]["waking_ns"] - without["waking_ns"], "ns"),
        information(f"{load}: the same, --exact", exact["waking_ns"] - without["waking_ns"], "ns"),
        information(f"{load}: wakeuptime, ns per waking", cost["waker peer"]["waking_ns"], "ns"),
    ]


def start_rows(start):
    return [
        row("start to first counted switch (events)", 120, start["first_wait_ms"], "ms"),
        information("start to the window's start (record)", start["record_window_ms"], "ms"),
        information("the floor program: start to attached", start["floor_ms"], "ms"),
        information("offcputime: start to its first switch", start["peer_ms"], "ms"),
    ]


def at_least(what, target, measured, unit):
    """A number that must not be below its target."""
    return {"what": what, "target": target, "measured": measured, "unit": unit,
            "ratio": round(measured / target, 3), "pass": measured >= target, "at_least": True}


def stop_rows(stops):
    rows = []
    for stop in stops:
        what = f"Ctrl-C to exit, {stop['target']}, after {stop['seconds']} s"
        rows.append(row(what, 250, stop["ms"], "ms"))
        rows.append(information(f"{what}: CPU time", stop["cpu_ms"], "ms"))
        rows.append(at_least(f"{what}: distinct stacks", 5000, stop["stacks"], ""))
    # With -a the longer recording holds more stacks of the rest of the machine: no fair comparison.
    short, *_, long = [stop for stop in stops if stop["target"] == "-p"]
    rows.append(row(f"Ctrl-C to exit, -p, {long['seconds']} s over {short['seconds']} s", 1.25,
                    long["ms"] / short["ms"], "x"))
    return rows


def failed_row(part, reason):
    """A part that could not be measured."""
    return {"what": f"{part}: {reason}", "target": None, "measured": None, "unit": "", "ratio": None, "pass": False}


def load_rows(name, load):
    what = f"MariaDB, {load['seconds']} s, {name}"
    return [
        row(f"{what}: size of the recording", 2 * MIB, load["size_bytes"], "bytes"),
        row(f"{what}: report", 200, load["report_ms"], "ms"),
        row(f"{what}: flame", 200, load["flame_ms"], "ms"),
        row(f"{what}: peak memory of the recorder", 100 * MIB, load["rss_bytes"], "bytes"),
        information(f"{what}: Ctrl-C to exit", load["stop_ms"], "ms"),
        information(f"{what}: switches", load["switches"], ""),
        information(f"{what}: distinct stacks", load["stacks"], ""),
    ]


def parts_rows(parts):
    """What each variant costs, and by how much that is less than the whole."""
    variants = parts["variants"]
    whole = variants["whole"]["all_ns"]
    return [information(f"{parts['load']}: {name}" + ("" if name == "whole" else
                        f" ({variant['all_ns'] - whole:+.0f} ns)"), variant["all_ns"], "ns", variant["all_ns"] / whole)
            for name, variant in variants.items()]


def cpu_rows(cpu):
    rows = []
    for name, one in cpu.items():
        to_hundred_thousand = 100_000 / one["switches_per_s"]
        what = f"{name}: CPU of the recorder"
        rows.append(row(f"{what}, % of one at 100,000 switches/s", 0.3, one["cpu_pct"] * to_hundred_thousand, "%"))
        rows.append(information(f"{what}: user, % of one", one["user_pct"], "%"))
        rows.append(information(f"{what}: system, % of one", one["system_pct"], "%"))
        rows.append(information(f"{name}: switches per s meanwhile", one["switches_per_s"], "/s"))
    return rows


def threads_rows(threads):
    """10,000 threads against twice the figures of 100 and what the iterators cost: their programs, and the kernel to go from thread to thread."""
    few, many = threads["few"], threads["many"]
    rows = []
    for key, words, walks in (("start", "start to the window's start", 2), ("stop", "Ctrl-C to exit", 1)):
        few_ms, many_ms = few[f"{key}_ms"], many[f"{key}_ms"]
        iterators_ms = many[f"{key}_iterators_ms"] + walks * many["walk_ms"]
        rows.append(information(f"{few['threads']} threads: {words}", few_ms, "ms"))
        rows.append(row(f"{many['threads']} threads: {words}, to twice that and the iterators' {iterators_ms:.0f} ms",
                        2 * few_ms + iterators_ms, many_ms, "ms"))
    least_ms = few["stop_ms"] + many["stop_iterators_ms"] + many["walk_ms"] + many["sqlite_ms"] - few["sqlite_ms"]
    rows.append(information(f"{many['threads']} threads: SQLite alone, to copy that recording", many["sqlite_ms"], "ms"))
    rows.append(information(f"{many['threads']} threads: Ctrl-C to exit, over the {few['threads']} threads', the iterators and what SQLite takes more",
                            many["stop_ms"] - least_ms, "ms", many["stop_ms"] / least_ms))
    rows.append(information(f"{few['threads']} threads: BPF ns per switch", few["all_ns"], "ns"))
    rows.append(row(f"{many['threads']} threads: BPF ns per switch, to twice that", 2 * few["all_ns"], many["all_ns"], "ns"))
    for one in (few, many):
        what = f"{one['threads']} threads"
        rows.append(information(f"{what}: the least that keeps accounts", one["least_ns"], "ns"))
        rows.append(over_least_row(what, one["all_ns"], one["least_ns"]))
    return rows


def throughput_rows(throughput):
    """What each tool takes away; ours may take 1 %."""
    beside = throughput["beside"]

    def what(who):
        return f"sysbench beside {who}, of without (+- {1.96 * beside[who]['standard_error']:.3f})"

    rows = [information("sysbench alone", throughput["alone_per_s"], "/s"),
            at_least(what("default"), 0.99, round(beside["default"]["ratio"], 4), "part")]
    return rows + [information(what(who), one["ratio"], "part") for who, one in beside.items() if who != "default"]


def without_verdict(rows, why):
    """Numbers that prove nothing, reached or not; what failed has failed all the same."""
    return [{**entry, "pass": None, "verdict": why} if entry["measured"] is not None else entry for entry in rows]


def number(value, unit):
    if value is None:
        return "-"
    if unit == "bytes":
        return f"{value / MIB:.2f} MiB"
    if unit == "x":
        return f"{value:.2f}"
    if unit == "part":
        return f"{value:.3f}"
    if unit == "%":
        return f"{value:.3f} %"
    return f"{value:,.0f} {unit}".strip()


def cells(entry):
    sign = ">= " if entry.get("at_least") else "<= "
    result = entry.get("verdict") or {None: "-", True: "pass", False: "missed"}[entry["pass"]]
    ratio = entry.get("peer_ratio", entry["ratio"])
    target = "-" if entry["target"] is None else sign + number(entry["target"], entry["unit"])
    if "peer_ratio" in entry:
        target = f"<= {entry['ratio_target']:.2f} of it"
    return (entry["what"], target, number(entry["measured"], entry["unit"]),
            "-" if ratio is None else f"{ratio:.2f}", result)


def to_text(rows):
    """A table in Markdown, which reads as plain text too."""
    lines = [COLUMNS] + [cells(entry) for entry in rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    text = []
    for line in lines:
        padded = [cell.ljust(width) if i in (0, 4) else cell.rjust(width)
                  for i, (cell, width) in enumerate(zip(line, widths))]
        text.append("| " + " | ".join(padded) + " |")
    rule = ["-" * width if i in (0, 4) else "-" * (width - 1) + ":" for i, width in enumerate(widths)]
    text.insert(1, "| " + " | ".join(rule) + " |")
    return "\n".join(text)


def conditions_text(conditions):
    return "\n".join(f"{name.replace('_', ' ')}: {value}" for name, value in conditions.items())
