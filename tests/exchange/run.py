#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Reads every export by a reader that is not ours, and compares its sums with the recording's.

    run.py OFFCPU MAKE_RECORDING [RECORDING ...]

Readers: go tool pprof, protoc with the .proto files beside this one, npm's pprof-format and profiler-cli (the Firefox
Profiler's), speedscope in Chromium, Python's own JSON and CSV.  A reader that cannot be had is skipped by name.  Prints TAP.
"""
import collections
import csv
import gzip
import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
from decimal import Decimal

import firefox_cli
import npm
import perfetto_trace
from schema import walk_schema
import speedscope_page

HERE = pathlib.Path(__file__).resolve().parent
count = failed = 0


def point(name, error=None, skip=None):
    global count, failed
    count += 1
    failed += bool(error)
    print(f"{'not ok' if error else 'ok'} {count} - {name}{f' # SKIP {skip}' if skip else ''}")
    for line in (error or "").splitlines():
        print(f"# {line}")


def same(name, got, want):
    point(name, None if got == want else f"got {got}\nwanted {want}")


def same_rows(name, got, r):
    if "fold" not in r.options:    # which parts rows
        same(name, got, r.waits)


class Recording:
    """With options: the part of it that these leave."""

    def __init__(self, offcpu, path, *options):
        self.offcpu, self.path, self.options = offcpu, path, options
        rows = [word if word != "fold" else "keep" for word in options]    # what is folded is in sums as it was
        done = subprocess.run([offcpu, "export", "-f", "json", *rows, path], check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL)
        report = json.loads(done.stdout)
        keys = ["count", "off_cpu_ns", "blocked_ns", "runnable_ns", "preempted_ns"]
        self.sums = [sum(w[key] for w in report["waits"]) for key in keys]
        self.waits = len(report["waits"])
        self.duration_ns = report["window"]["duration_ns"]
        self.threads = len({(w["comm"], w["pid"], w["tid"]) for w in report["waits"]})

    def export(self, name, *options):
        words = [self.offcpu, "export", "-f", name, *options, *self.options, self.path]
        return subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def protoc(proto, message, data):
    """What protoc prints, as lines; None without protoc."""
    if not shutil.which("protoc"):
        return None
    done = subprocess.run(["protoc", f"--proto_path={HERE / 'proto'}", f"--decode={message}", proto], input=data,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        return ["failed: " + done.stderr.decode()]
    return done.stdout.decode(errors="replace").splitlines()


def fields(lines, name, indent):
    """The values of a field at that depth."""
    start = "  " * indent + name + ": "
    return [line[len(start):] for line in lines if line.startswith(start)]


def check_unknown_fields(name, lines):
    unknown = [line for line in lines if re.match(r"\s*\d+[:\s]", line)]
    point(f"{name}: every field is in the .proto", "\n".join(unknown[:5]))


def check_pprof(r):
    data = r.export("pprof")
    with tempfile.NamedTemporaryFile(suffix=".pb.gz") as file:
        file.write(data)
        file.flush()
        if not shutil.which("go"):
            point("go tool pprof -raw", skip="go is not installed")
        else:
            raw = subprocess.run(["go", "tool", "pprof", "-raw", "-symbolize=none", file.name], stdout=subprocess.PIPE,
                                 stderr=subprocess.DEVNULL, check=True,
                                 env={**os.environ, "HOME": tempfile.gettempdir()}).stdout
            lines = raw.decode(errors="replace").splitlines()
            rows = [re.match(r"\s+(-?\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+):", line) for line in lines]
            rows = [[int(n) for n in row.groups()] for row in rows if row]
            same("go tool pprof -raw: events, off_cpu, blocked, runnable, preempted",
                 [sum(column) for column in zip(*rows)], r.sums)
            same_rows("go tool pprof -raw: a sample a row", len(rows), r)
    lines = protoc("pprof.proto", "pprof.Profile", gzip.decompress(data))
    if lines is None:
        point("protoc reads pprof", skip="protoc is not installed")
        return
    check_unknown_fields("pprof", lines)
    values = [int(v) for v in fields(lines, "value", 1)]
    same("protoc: sums of pprof", [sum(values[i::5]) for i in range(5)], r.sums)
    ids = [int(v) for v in fields(lines, "id", 1)]
    breaks = sum(b != a + 1 for a, b in zip(ids, ids[1:]))
    point("protoc: ids of mappings, locations and functions are 1..n", None if breaks == 2 else f"{breaks} gaps, not 2")


def check_otlp(r):
    data = r.export("otlp")
    lines = protoc("otlp.proto", "otlp.Request", data)
    if lines is None:
        point("protoc reads OTLP", skip="protoc is not installed")
        return
    check_unknown_fields("OTLP", lines)
    strings = [json.loads(s) if "\\" not in s else s for s in fields(lines, "string_table", 1)]
    link = next((i for i, line in enumerate(lines) if line == "  link_table {"), 0)
    ids = [len(re.findall(r"\\000", line)) for line in lines[link + 1:link + 3]]
    point("OTLP: the empty link has ids of full length", None if ids == [16, 8] else f"{ids}")
    point("OTLP: the first string is empty", None if strings and strings[0] == "" else repr(strings[:1]))
    sums, current = {}, None
    for line in lines:
        if line.startswith("        type_strindex: "):
            current = strings[int(line.split(": ")[1])]
        elif line.startswith("        values: "):
            sums[current] = sums.get(current, 0) + int(line.split(": ")[1])
    names = ["events", "off_cpu", "blocked", "runnable", "preempted"]
    same("protoc: sums of OTLP", [sums.get(name, 0) for name in names], r.sums)


def check_perfetto(r):
    lines = protoc("perfetto.proto", "perfetto.Trace", r.export("perfetto"))
    if lines is None:
        point("protoc reads Perfetto", skip="protoc is not installed")
        return
    check_unknown_fields("Perfetto", lines)
    same("protoc: sum of Perfetto", sum(int(v) for v in fields(lines, "primary_weight", 2)), r.sums[1])
    found, wrong = perfetto_trace.samples(lines)
    point("Perfetto: stacks, frames and names of samples are told before them", "\n".join(wrong[:5]))
    if "fold" not in r.options:    # which parts rows
        want = {}
        for w in map(json.loads, r.export("jsonl").decode().splitlines()):
            if w["type"] == "wait":
                stack = tuple(w["user"] + w["kernel"])
                want[stack] = want.get(stack, 0) + w["off_cpu_ns"]
        got = dict.fromkeys((stack for stack, _ in found), 0)
        for stack, ns in found:
            got[stack] += ns
        point("Perfetto: each stack, by its names, has its sum", "\n".join(map(repr, list(got.items() ^ want.items())[:4])))
    samples, at = len(fields(lines, "primary_weight", 2)), [int(v) for v in fields(lines, "timestamp", 1)] or [0]
    point("protoc: a stack sample a row, or one in each slice of it", None if samples >= r.waits or "fold" in r.options
          else f"{samples} of {r.waits} rows")
    flows, ends = fields(lines, "flow_ids", 2), fields(lines, "terminating_flow_ids", 2)
    begun, ended = fields(lines, "type", 2).count("1"), fields(lines, "type", 2).count("2")
    point("protoc: each longest wait begins and ends, and each arrow from a waker", None if sorted(flows) == sorted(ends) and begun == ended
          else f"{begun} begin, {ended} end; arrows {flows}, {ends}")
    point("protoc: samples lie in the window", None if max(at) - min(at) < r.duration_ns else f"from {min(at)} to {max(at)}")


def check_firefox(r):
    profile = json.loads(gzip.decompress(r.export("firefox")), parse_float=Decimal)
    schema = json.loads((HERE / "firefox.schema.json").read_text())
    point("Firefox: agrees with the schema", "\n".join(list(walk_schema(schema, profile))[:5]))
    weights = sum((sum(t["samples"]["weight"]) for t in profile["threads"]), Decimal(0))
    same("Firefox: sum of the samples' weights", weights * 1000000, r.sums[1])
    markers = sum((m["total"] for t in profile["threads"] for m in t["markers"]["data"]), Decimal(0))
    same("Firefox: sum of the markers", markers * 1000000, r.sums[1])
    same_rows("Firefox: a marker a row", sum(t["markers"]["length"] for t in profile["threads"]), r)
    wrong = []
    for t in profile["threads"]:
        for name, table in t.items():
            if isinstance(table, dict) and "length" in table:
                wrong += [f"{t['name']}.{name}.{key}" for key, column in table.items()
                          if isinstance(column, list) and len(column) != table["length"]]
        stacks, frames = t["stackTable"], t["frameTable"]
        wrong += [f"{t['name']}: stack {i}" for i, p in enumerate(stacks["prefix"]) if p is not None and p >= i]
        functions = t["funcTable"]
        wrong += [f"{t['name']}: func of frame {i}" for i, f in enumerate(frames["func"]) if f >= functions["length"]]
        wrong += [f"{t['name']}: name of function {i}" for i, s in enumerate(functions["name"])
                  if s >= len(t["stringArray"])]
    point("Firefox: columns are of one length, indices in range", "\n".join(wrong[:5]))


def check_speedscope(r):
    data = r.export("speedscope")
    file = json.loads(data)
    totals = [sum(p["weights"]) for p in file["profiles"]]
    same("speedscope: the first profile is all of it", totals[0], r.sums[1])
    same("speedscope: the others are, too", sum(totals[1:]), r.sums[1])
    frames = len(file["shared"]["frames"])
    wrong = [p["name"] for p in file["profiles"] if len(p["weights"]) != len(p["samples"]) or
             any(i >= frames for s in p["samples"] for i in s) or p["endValue"] != sum(p["weights"])]
    point("speedscope: samples, weights and frames agree", "\n".join(wrong[:5]))


def check_tables(r):
    rows = list(csv.DictReader(io.StringIO(r.export("csv").decode())))
    same("CSV: sums", [sum(int(row[key]) for row in rows) for key in
                       ("count", "off_cpu_ns", "blocked_ns", "runnable_ns", "preempted_ns")], r.sums)
    lines = [json.loads(line) for line in r.export("jsonl").decode().splitlines()]
    waits = [line for line in lines if line["type"] == "wait"]
    same("JSON lines: sums", [sum(w[key] for w in waits) for key in
                              ("count", "off_cpu_ns", "blocked_ns", "runnable_ns", "preempted_ns")], r.sums)


def check_text(r):
    lines = r.export("collapsed", "--columns", "2", "--unit", "ns").decode().splitlines()
    folded = [line.rsplit(" ", 2) for line in lines]
    same("collapsed, two columns: waits and time", [sum(int(f[column]) for f in folded) for column in (1, 2)], r.sums[:2])
    script = re.findall(r"(?m)^\S.* (\d+) offcpu-time:$", r.export("perf-script").decode())
    same("perf script: sum of the periods", sum(map(int, script)), r.sums[1])


NODE = r"""
const fs = require('fs'), zlib = require('zlib');
const [, , what, file] = process.argv;
if (what === 'pprof') {
  const { Profile } = require('pprof-format');
  const p = Profile.decode(zlib.gunzipSync(fs.readFileSync(file)));
  const sums = p.sampleType.map((_, i) => p.sample.reduce((s, x) => s + BigInt(x.value[i]), 0n));
  console.log(sums.join(' '));
}
"""


def check_node(r):
    modules = npm.folder_of("pprof-format")
    if not shutil.which("node") or not modules:
        point("npm's pprof-format", skip="node or npm is not installed, or the package cannot be had")
        return
    with tempfile.TemporaryDirectory() as folder:
        script, data = pathlib.Path(folder, "read.js"), pathlib.Path(folder, "x.pb.gz")
        script.write_text(NODE)
        data.write_bytes(r.export("pprof"))
        out = subprocess.run(["node", script, "pprof", data], stdout=subprocess.PIPE, check=True,
                             env={**os.environ, "NODE_PATH": str(modules)}).stdout.decode()
    same("npm's pprof-format: sums", [int(n) for n in out.split()], r.sums)


def check_speedscope_page(r):
    name = "speedscope in Chromium"
    modules = npm.folder_of("speedscope")
    if not speedscope_page.CHROMIUM or not modules:
        point(name, skip="Chromium or npm is not installed, or the package cannot be had")
        return
    browser = speedscope_page.Browser()
    try:
        text = speedscope_page.read(browser, modules / "speedscope" / "dist" / "release", r.export("speedscope"))
        problems = browser.problems
    finally:
        browser.close()
    got, error = speedscope_page.self_times_ns(text)
    point(f"{name}: its functions' own time is all of it",
          None if abs(got - r.sums[1]) <= error else f"got {got}\nwanted {r.sums[1]} +- {error}\n{text[:500]}")
    point(f"{name}: nothing goes wrong", "\n".join(problems[:5]))


def check_firefox_cli(r):
    name = "the Firefox Profiler's own reader"
    modules = npm.folder_of(firefox_cli.PACKAGE)
    if not shutil.which("node") or not modules:
        point(name, skip="node or npm is not installed, or the package cannot be had")
        return
    data = r.export("firefox")
    threads = json.loads(gzip.decompress(data))["threads"]
    want = [(t["name"], t["pid"], str(t["tid"]), t["markers"]["length"]) for t in threads]
    try:
        got = firefox_cli.read(modules, data)
    except firefox_cli.TooSlow as why:
        point(name, skip=str(why))
        return
    except (RuntimeError, ValueError, KeyError, subprocess.TimeoutExpired) as err:
        point(name, str(err) or repr(err))
        return
    same(f"{name}: threads and their markers", [row[:4] for row in got], want)
    # a function's time is of samples that have a stack
    stacks_ms = [sum(w for w, s in zip(t["samples"]["weight"], t["samples"]["stack"]) if s is not None) for t in threads]
    wrong = [f"{row}, not {ms}" for row, ms in zip(got, stacks_ms) if abs(row[4] - ms) > 1e-6]
    point(f"{name}: the functions' own time is the thread's", "\n".join(wrong))


def labels_of_pprof(data):
    """Of each sample what its labels of that name say, as go tool pprof -raw prints them."""
    with tempfile.NamedTemporaryFile(suffix=".pb.gz") as file:
        file.write(data)
        file.flush()
        raw = subprocess.run(["go", "tool", "pprof", "-raw", "-symbolize=none", file.name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             check=True, env={**os.environ, "HOME": tempfile.gettempdir()}).stdout.decode(errors="replace")
    return {name: sorted(re.findall(rf"(?<![\w.]){name}:\[([^]]*)\]", raw)) for name in ("span_name", "http.route", "trace_id", "longest_trace_id", "span_id")}


def check_contexts(r):
    """Whose request a row is for arrives everywhere: its route, and the trace and span of its longest wait."""
    rows = [w for w in json.loads(r.export("json"))["waits"] if "route" in w]
    if not rows:
        return
    want = sorted((w["route"], w["longest_trace"]["trace_id"], w["longest_trace"]["span_id"]) for w in rows)
    single = sorted(w["longest_trace"]["trace_id"] for w in rows if w["count"] == 1)
    threads = json.loads(gzip.decompress(r.export("firefox")))["threads"]
    same("Firefox: markers have route, trace and span", sorted((m["route"], m["trace"], m["span"]) for t in threads for m in t["markers"]["data"] if "route" in m), want)
    if shutil.which("go"):
        got = labels_of_pprof(r.export("pprof"))
        same("go tool pprof: routes", got["span_name"], sorted(w[0] for w in want))
        same("go tool pprof: attributes", [any(route.endswith(value) for route in got["span_name"]) for value in got["http.route"]], [True] * len(want))
        same("go tool pprof: traces", sorted(got["trace_id"] + got["longest_trace_id"]), sorted(w[1] for w in want))
        same("go tool pprof: traces of rows that are one wait", got["trace_id"], single)
    lines = protoc("perfetto.proto", "perfetto.Trace", r.export("perfetto"))
    if lines is None:
        point("protoc reads contexts", skip="protoc is not installed")
        return
    said = {name: sorted(json.loads(text.split(": ", 1)[1]) for text, named in zip(lines, lines[1:]) if named.strip() == f'name: "{name}"')
            for name in ("route", "trace_id", "span_id")}
    told = [(w["route"], w["longest_trace"]["trace_id"], w["longest_trace"]["span_id"]) for w in rows if w.get("max_start_unix_ns")]
    same("Perfetto: slices have route, trace and span", list(said.values()), [sorted(column) for column in zip(*told)] or [[]] * 3)
    lines = protoc("otlp.proto", "otlp.Request", r.export("otlp"))
    links = sorted(line.split('"')[1].encode().decode("unicode_escape").encode("latin-1").hex() for line in lines if line.startswith("    trace_id: "))
    same("OTLP: links are to the traces of rows that are one wait", links, sorted(["0" * 32, *single]))


def without_routes(lines):
    """Collapsed stacks without the frames of routes, which are labels of pprof; rows that then have one stack are one."""
    sums = collections.Counter()
    for line in lines:
        stack, _, ns = line.rpartition(b" ")
        sums[b";".join(frame for frame in stack.split(b";") if frame not in (b"/order/create", b"/stock/{id}"))] += int(ns)
    return sorted(sums.items())


def check_round_trips(r):
    def stacks(path, *options):
        words = [r.offcpu, "export", "-f", "folded", "--unit", "ns", "--no-delimiter", "--by", "thread", *options, path]
        done = subprocess.run(words, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        return sorted(done.stdout.splitlines())

    with tempfile.TemporaryDirectory() as folder:
        for name in ("pprof", "speedscope", "perf-script"):
            path = os.path.join(folder, name)
            pathlib.Path(path).write_bytes(r.export(name))
            got, want = without_routes(stacks(path)), without_routes(stacks(r.path, *r.options))
            different = set(got) ^ set(want)
            point(f"{name}: read back, each stack has its sum",
                  "\n".join(repr(line[-300:]) for line in list(different)[:4]))


CHECKS = (check_pprof, check_otlp, check_perfetto, check_firefox, check_speedscope, check_tables, check_text, check_node,
          check_speedscope_page, check_firefox_cli, check_round_trips, check_contexts)
NOT_FOLDED = (check_tables, check_contexts)    # a row a wait
SLOW = (check_node, check_speedscope_page, check_firefox_cli)
SLOWEST = (check_firefox_cli,)    # starts node once a thread: of one recording

# Parts of a recording, which all formats have alike.
PARTS = [(), ("--idle", "drop"), ("--idle", "fold"), ("--state", "SR", "--user-threads")]


def check_idle(offcpu, path):
    """Idle time that is dropped is what is in the folded one's frames."""
    keep, drop, fold = (Recording(offcpu, path, "--idle", how) for how in ("keep", "drop", "fold"))
    lines = fold.export("folded", "--unit", "ns").decode().splitlines()
    idle = sum(int(line.rsplit(" ", 1)[1]) for line in lines if re.search(r";\[idle\] \d+$", line))
    same("idle time, dropped and folded", keep.sums[1] - drop.sums[1], idle)
    same("idle time is blocked time", keep.sums[2] - drop.sums[2], idle)
    same("of idle threads the time in the queue stays", drop.sums[3:], keep.sums[3:])


def is_due(check, part, is_last):
    if "fold" in part and check in NOT_FOLDED:
        return False
    return not (part and check in SLOW) and (is_last or check not in SLOWEST)


def main():
    offcpu, make_recording = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("plain", "contexts", "wakers", "crowd", "chains")]
        for path in paths:
            kind = os.path.basename(path)
            subprocess.run([make_recording, path] + ([kind] if kind != "plain" else []), check=True)
        for path in paths + sys.argv[3:]:
            for part in PARTS:
                print(f"# {os.path.basename(path)} {' '.join(part)}")
                r = Recording(offcpu, path, *part)
                for check in CHECKS:
                    if is_due(check, part, path == (paths + sys.argv[3:])[-1]):
                        check(r)
            check_idle(offcpu, path)
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
