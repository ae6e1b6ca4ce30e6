# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""How fast a recording starts, stops and is read, and how large it and its recorder grow."""
import json
import os
import re
import sqlite3
import statistics
import subprocess
import time
from pathlib import Path

import bpfcost
import checks
import host
import loads
import process

NS_PER_MS = 1_000_000
START_RUNS = 7
READ_RUNS = 5


def start_recording(args, path, target):
    return process.start([args.offcpu, "record", *target, "-o", path])


def report_json(args, path):
    result = subprocess.run([args.offcpu, "report", "--json", path], stdout=subprocess.PIPE, check=True)
    return json.loads(result.stdout)


def first_wait_ms(args):
    """From before the fork and exec of `offcpu events` to the end of the first wait it prints."""
    began_ns = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    tool = process.start([args.offcpu, "events", "-a", "--json"], stdout=subprocess.PIPE)
    try:
        first = json.loads(tool.stdout.readline())
    finally:
        tool.stdout.close()
        process.kill_group(tool)
    return (first["end_ns"] - began_ns) / NS_PER_MS


def window_start_ms(args, folder):
    """From before the fork and exec of `offcpu record` to the start of its recording's window."""
    path = folder / "start.offcpu"
    began_ns = time.time_ns()
    tool = start_recording(args, path, ["-a"])
    time.sleep(1)
    process.interrupt(tool)
    return (report_json(args, path)["window"]["start_unix_ns"] - began_ns) / NS_PER_MS


def floor_start_ms(args):
    """The same until the floor program says that it is attached: four small programs, two of which a switch and a waking run."""
    began = time.monotonic()
    tool = process.start([args.floor], stdout=subprocess.PIPE)
    try:
        if tool.stdout.readline() != b"ready\n":
            raise RuntimeError("the floor program did not start")
        return (time.monotonic() - began) * 1000
    finally:
        tool.stdout.close()
        process.kill_group(tool)


def peer_start_ms(args):
    """The same until offcputime's program has run, by the kernel's statistics; looked at each millisecond."""
    with host.bpf_stats():
        began = time.monotonic()
        tool = process.start([args.peer])
        try:
            while time.monotonic() - began < 10:
                if bpfcost.runs_of(tool.pid):
                    return (time.monotonic() - began) * 1000
                time.sleep(0.001)
            raise RuntimeError("offcputime counted no switch within 10 s")
        finally:
            process.kill_group(tool)


def measure_start(args, folder, say):
    measures = {"first_wait_ms": lambda: first_wait_ms(args), "record_window_ms": lambda: window_start_ms(args, folder),
                "floor_ms": lambda: floor_start_ms(args), "peer_ms": lambda: peer_start_ms(args)}
    readings = {name: [] for name in measures}
    with loads.pipe():
        time.sleep(0.5)
        for name in checks.in_turn(measures, START_RUNS):
            readings[name].append(measures[name]())
    for name, taken in readings.items():
        say(f"start, {name}: " + ", ".join(f"{ms:.0f}" for ms in taken))
    return {name: statistics.median(taken) for name, taken in readings.items()} | {"readings_ms": readings}


def copied_by_sqlite_ms(path, folder):
    """What SQLite itself takes to copy a recording row by row, into a file that it makes with the settings that we make ours with."""
    copy = folder / "copy.db"
    began = time.monotonic()
    db = sqlite3.connect(copy, isolation_level=None)
    try:
        db.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-8192")
        db.execute("ATTACH ? AS recording", (str(path),))
        db.execute("BEGIN")
        tables = db.execute("SELECT name, sql FROM recording.sqlite_schema WHERE type = 'table'").fetchall()
        for name, sql in tables:
            db.execute(sql)
            columns = [column[1] for column in db.execute(f"PRAGMA recording.table_info({name})")]
            # as expressions: whole records are not to be copied as they are
            db.execute(f"INSERT INTO main.{name} SELECT {', '.join('+' + column for column in columns)} FROM recording.{name}")
        db.execute("COMMIT")
    finally:
        db.close()
        copy.unlink(missing_ok=True)
    return (time.monotonic() - began) * 1000


def distinct_stacks(report):
    return len({json.dumps([wait["user"], wait["kernel"]]) for wait in report["waits"]})


def cpu_seconds(pid):
    """CPU time of a running process so far, its user and system time together."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stop_once(args, path, target, seconds):
    """One recording: ms from SIGINT to exit, ms of CPU in that time, distinct stacks in it."""
    # --exact: sampled, as this load is by default, a recording holds fewer stacks than the target is of
    tool = start_recording(args, path, [*target, "--exact"])
    time.sleep(seconds)
    if tool.poll() is not None:
        raise RuntimeError(f"offcpu record ended by itself with status {tool.returncode}")
    cpu_before_s = cpu_seconds(tool.pid)
    stop_s, status, usage = process.interrupt(tool)
    if status != 0:
        raise RuntimeError(f"offcpu record ended with status {status}")
    cpu_s = usage.ru_utime + usage.ru_stime - cpu_before_s
    return {"ms": stop_s * 1000, "cpu_ms": cpu_s * 1000, "stacks": distinct_stacks(report_json(args, path))}


def summary(readings):
    return {"ms": statistics.median(reading["ms"] for reading in readings),
            "cpu_ms": statistics.median(reading["cpu_ms"] for reading in readings),
            "stacks": min(reading["stacks"] for reading in readings),
            "readings": [{key: round(value, 1) for key, value in reading.items()} for reading in readings]}


def measure_stop(args, folder, say):
    """Stops after a short and a long recording by turns, so that both see the same machine."""
    readings = {(name, seconds): [] for seconds in args.stop_after_s for name in ("-p", "-a")}
    with loads.stacks(folder) as load:
        targets = {"-p": ["-p", load.pid], "-a": ["-a"]}
        for _ in range(args.stop_runs):
            for (name, seconds), taken in readings.items():
                taken.append(stop_once(args, folder / "stop.offcpu", targets[name], seconds))
                say(f"stop {name} after {seconds} s: " + ", ".join(f"{k} {v:.0f}" for k, v in taken[-1].items()))
    return [{"target": name, "seconds": seconds, **summary(taken)} for (name, seconds), taken in readings.items()]


def record_load(args, path, target, say):
    """A long recording of a running load: its size and what it took of the machine."""
    tool = start_recording(args, path, target)
    time.sleep(args.recording_s)
    # Not wait4's maximum: that begins with the memory of this process, which forked it.
    status_file = Path(f"/proc/{tool.pid}/status").read_text()
    peak_bytes = int(re.search(r"^VmHWM:\s+(\d+) kB", status_file, re.MULTILINE).group(1)) * 1024
    stop_s, status, usage = process.interrupt(tool)
    if status != 0:
        raise RuntimeError(f"offcpu record ended with status {status}")
    say(f"recorded {args.recording_s} s with {target[0]}, stopped in {stop_s * 1000:.0f} ms")
    return {"seconds": args.recording_s, "stop_ms": stop_s * 1000, "size_bytes": path.stat().st_size,
            "rss_bytes": peak_bytes, "cpu_s": usage.ru_utime + usage.ru_stime}


def read_load(args, path, measured):
    """What record_load measured, with what the recording says, and how long it takes to read it."""
    report = report_json(args, path)
    tracer_bytes = report["coverage"]["tracer"]["peak_rss_bytes"]
    measured.update({
        "rss_bytes": max(measured["rss_bytes"], tracer_bytes),
        "tracer_rss_bytes": tracer_bytes,
        "switches": report["coverage"]["switches"],
        "lost": report["coverage"]["lost"],
        "waits": len(report["waits"]),
        "stacks": distinct_stacks(report),
    })
    commands = {"report_ms": [args.offcpu, "report", path],
                "flame_ms": [args.offcpu, "flame", path, "-o", path.with_suffix(".svg")]}
    for name, command in commands.items():
        measured[name] = statistics.median(process.timed(command) * 1000 for _ in range(READ_RUNS))
    return measured
