# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Code made at run time: no file, no unwind table, names from a perf map."""

import json
import os
import platform
import re
import shutil
import subprocess
import time

from cases_unwind import ALLOWED, check_all_complete, check_chain
from check import check_account, names
from lib import Recorder, Skip, cached, case, fetched, nightly, until_switched, wait_until

JAVA = """
class Waiter {
    static void innermost() throws Exception { Thread.sleep(1); }
    static void middle() throws Exception { innermost(); }
    static void outer() { try { for (;;) middle(); } catch (Exception e) { } }
    public static void main(String[] words) { new Thread(Waiter::outer, "worker").start(); }
}
"""
NODE = """
const cell = new Int32Array(new SharedArrayBuffer(4));
function innermost() { Atomics.wait(cell, 0, 0, 1); }
function middle() { innermost(); }
function outer() { for (;;) middle(); }
outer();
"""
# two calls block the loop; what waits for its timers does not
NODE_LOOP = """
const fs = require("fs"), { execSync } = require("child_process");
const cell = new Int32Array(new SharedArrayBuffer(4)), spent = { child: 0, nap: 0 };
function timed(name, what) { const begun = process.hrtime.bigint(); what(); spent[name] += Number(process.hrtime.bigint() - begun); }
let turns = 0;
setInterval(() => {
  timed("child", () => execSync("sleep 0.1"));
  timed("nap", () => Atomics.wait(cell, 0, 0, 60));
  if (++turns === 6) {
    fs.writeFileSync(process.argv[2], JSON.stringify(spent));
    process.exit(0);
  }
}, 250);
"""
PYTHON = """
import time
def innermost():
    time.sleep(0.001)
def middle():
    innermost()
def outer():
    while True:
        middle()
outer()
"""


@case
def jit_trampoline(env):
    """CPython's trampoline for perf, in a program whose truth is known."""
    if platform.machine() != "x86_64":
        raise Skip("the trampoline is x86-64 code")
    report, truth, program = env.record("unwind_trampoline", 30, 5000)
    perf_map = f"/tmp/perf-{program.pid}.map"
    if os.path.exists(perf_map):
        os.unlink(perf_map)
    check_account(env.check, report, allowed_losses=ALLOWED)
    check_all_complete(env.check, report)
    for line in truth:
        check_chain(env.check, report, line)


def source_file(env, name, text):
    path = env.temporary(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


WAITS = 500     # below the functions, at least


def record_interpreter(env, command, warm_s, prepare=None):
    """A program that sleeps below its own functions innermost < middle < outer, for two seconds and more often than WAITS."""
    env.tolerate_unseen()
    process = subprocess.Popen(command, cwd=os.path.dirname(env.temporary("here")),  # node leaves a log there
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    env.running.append(process)
    perf_map = f"/tmp/perf-{process.pid}.map"
    try:
        time.sleep(warm_s)
        until_switched(WAITS, process.pid)  # it has long begun, on a slow machine, too
        if prepare:
            prepare(process.pid)
        if not wait_until(lambda: os.path.exists(perf_map), 10):
            raise Skip(f"{command[0]} wrote no {perf_map}")
        recorder = Recorder(env, "-p", process.pid)
        recorder.wait_attached()
        end = time.monotonic() + 2
        until_switched(3 * WAITS, process.pid)  # some are of other threads of its runtime
        time.sleep(max(0, end - time.monotonic()))
        recorder.stop()
        report = recorder.report()
    finally:
        process.kill()
        process.wait()
        if os.path.exists(perf_map):
            os.unlink(perf_map)
    check_account(env.check, report, allowed_losses=ALLOWED)
    return report


def check_functions(env, report, functions, complete=True):
    """Most of the sleeping thread's waits have the functions in this order, each named once, and reach its start."""
    def has_functions(wait):
        at = 0
        for name in names(wait["user"]):
            if at < len(functions) and name and functions[at] in name:
                at += 1
        return at == len(functions)

    found = [wait for wait in report.waits if wait["state"] == "S" and has_functions(wait)]
    count = sum(wait["count"] for wait in found)
    env.check.that(count >= WAITS, f"{count} waits below {functions}; seen "
                   f"{sorted({tuple(map(str, names(wait['user'])))[-8:] for wait in report.waits})[:4]}")
    if complete:
        broken = sum(wait["count"] for wait in found if wait["user_end"] != "complete")
        env.check.that(broken <= count / 100, f"{broken} of {count} stacks do not reach the thread's start")


@case
@nightly
def jit_java(env):
    """HotSpot keeps frame pointers where it is told to, and writes a perf map when it is asked."""
    for tool in ("java", "javac", "jcmd"):
        if not shutil.which(tool):
            raise Skip(f"{tool} is not installed")
    source = source_file(env, "Waiter.java", JAVA)
    subprocess.run(["javac", "-d", os.path.dirname(source), source], check=True)
    report = record_interpreter(
        env, ["java", "-XX:+PreserveFramePointer", "-Xcomp", "-XX:CompileCommand=quiet",
              "-XX:CompileCommand=compileonly,Waiter::*", "-XX:CompileCommand=dontinline,Waiter::*",
              "-cp", os.path.dirname(source), "Waiter"], 3,
        lambda pid: subprocess.run(["jcmd", str(pid), "Compiler.perfmap"], check=False,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    check_functions(env, report, ["Waiter.middle", "Waiter.innermost"])


@case
def jit_node(env):
    if not shutil.which("node"):
        raise Skip("node is not installed")
    source = source_file(env, "waiter.js", NODE)
    report = record_interpreter(env, ["node", "--perf-basic-prof", "--interpreted-frames-native-stack", source], 2)
    check_functions(env, report, ["outer", "middle", "innermost"])


NODE_TIMED = """
const fs = require("fs");
const cell = new Int32Array(new SharedArrayBuffer(4));
let spent = 0, calls = 0;
function innermost() {
  const begun = process.hrtime.bigint();
  Atomics.wait(cell, 0, 0, 2);
  spent += Number(process.hrtime.bigint() - begun);
}
class Shop { pay() { innermost(); } }
const shop = new Shop();
const sale = { close: () => shop.pay() };
function timed() {
  const begun = process.hrtime.bigint();
  for (;;) {
    [1].forEach(() => { const made = () => sale.close(); made(); });
    if (++calls % 50)
      continue;
    globalThis.rest = Array.from({ length: 20000 }, (_, i) => ({ i }));
    if (fs.existsSync(process.argv[2] + ".end"))
      process.exit(0);
    fs.writeFileSync(process.argv[2] + ".new", JSON.stringify({ spent, elapsed: Number(process.hrtime.bigint() - begun) }));
    fs.renameSync(process.argv[2] + ".new", process.argv[2]);
  }
}
timed();
"""


# compiled before it is recorded, and all but the outermost function inlined
NODE_INLINED = """
const fs = require("fs");
const cell = new Int32Array(new SharedArrayBuffer(4));
let spent = 0, calls = 0;
function innermost(ms) {
  const begun = performance.now();
  Atomics.wait(cell, 0, 0, ms);
  spent += performance.now() - begun;
}
class Shop {
  pay(ms) { calls++; innermost(ms); }
}
const shop = new Shop();
function outer(ms) { shop.pay(ms); }
for (let i = 0; i < 40000; i++)
  outer(0);
spent = calls = 0;
const begun = performance.now();
for (;;) {
  outer(5);
  if (calls % 20)
    continue;
  if (fs.existsSync(process.argv[2] + ".end"))
    process.exit(0);
  fs.writeFileSync(process.argv[2] + ".new", JSON.stringify({ spent: spent * 1e6, elapsed: (performance.now() - begun) * 1e6 }));
  fs.renameSync(process.argv[2] + ".new", process.argv[2]);
}
"""


def told(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


@case
def node_functions_are_known_by_v8_itself(env):
    """Without a perf map: names, scripts and lines, of functions that are interpreted first and compiled then, while garbage is collected."""
    nodes = [path for path in [shutil.which("node"), *fetched("node*")] if path]
    if not nodes or platform.machine() != "x86_64":
        raise Skip("node is not installed, or not x86-64's")
    for node in nodes:
        check_node(env, node)


def record_node(env, node, options, text):
    """Its report, where the script is, what the program says of its time there, and what node printed."""
    source, truth, recording = source_file(env, "shop.js", text), env.temporary("truth"), env.temporary("v8.offcpu")
    printed = env.temporary("printed")
    with open(printed, "w", encoding="utf-8") as file:
        program = subprocess.Popen([node, *options, source, truth], stdin=subprocess.DEVNULL, stdout=file)
    env.running.append(program)
    wait_until(lambda: os.path.exists(truth), 60)
    before = told(truth)
    made = subprocess.run([env.offcpu, "record", "--exact", "-p", str(program.pid), "-d", "2", "-o", recording],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    after = told(truth)
    with open(truth + ".end", "w", encoding="utf-8"):
        pass
    program.wait()
    env.check.equal(made.returncode, 0, f"status: {made.stderr[-300:]}")
    report = json.loads(subprocess.run([env.offcpu, "report", "--json", recording], capture_output=True, check=True).stdout)
    # it is timed from before the recording to its end
    spent = (after["spent"] - before["spent"]) / (after["elapsed"] - before["elapsed"]) * report["window"]["duration_ns"]
    # on a busy machine node's tables come late, and until then its stacks are broken
    spent -= sum(wait["off_cpu_ns"] for wait in report["waits"] if wait["tid"] == program.pid and wait["user_end"] == "broken")
    with open(printed, encoding="utf-8") as file:
        return report, source, spent, file.read()


def check_node(env, node):
    report, source, spent, _ = record_node(env, node, ["--no-turbo-inlining"], NODE_TIMED)
    lines = NODE_TIMED.split("\n")
    expected = [("timed", "function timed() {"), ("<anonymous>", "[1].forEach(() =>"), ("made", "const made ="), ("close", "const sale ="),
                ("pay", "class Shop"), ("innermost", "function innermost() {")]
    seen, others, misplaced = 0, {}, set()
    for wait in report["waits"]:
        own = [frame for frame in wait["user"] or () if frame.get("file") == source]
        found = [(frame["name"], lines[frame["line"] - 1]) for frame in own if frame["name"] != "<anonymous>" or frame["line"] > 2]
        if [name for name, _ in found][-len(expected):] == [name for name, _ in expected]:
            seen += wait["off_cpu_ns"]
            misplaced.update(place for place, (_, there) in zip(found[-len(expected):], expected) if there not in place[1])
        elif wait["off_cpu_ns"] > 1e6:
            others[str([name for name, _ in found])] = others.get(str([name for name, _ in found]), 0) + wait["off_cpu_ns"]
    env.check.that(0.9 * spent < seen < 1.1 * spent, f"{os.path.basename(node)}: {seen} ns at the chain, by the program {spent}; others {others}")
    env.check.equal(misplaced, set(), "functions at another line than theirs")
    built_in = {frame["name"] for wait in report["waits"] for frame in wait["user"] or () if frame["module"] == "[javascript]"}
    env.check.that("forEach" in built_in, f"built-in functions: {sorted(map(str, built_in))}")


@case
def node_inlined_functions(env):
    """What V8 itself says that it inlined stands in the stacks all the same, each function in its own line, in its order."""
    node = shutil.which("node")
    if not node or platform.machine() != "x86_64":
        raise Skip("node is not installed, or not x86-64's")
    if not subprocess.run([node, "-p", "process.versions.v8"], capture_output=True, text=True, check=True).stdout.startswith("11.3."):
        raise Skip("node is none whose inlined functions are known")
    report, source, spent, printed = record_node(env, node, ["--trace-turbo-inlining"], NODE_INLINED)
    pairs = set(re.findall(r"^Inlining .*<SharedFunctionInfo (\w+)>} into .*<SharedFunctionInfo (\w+)>}", printed, re.M))
    env.check.that({("pay", "outer"), ("innermost", "outer")} <= pairs, f"V8 inlined {pairs}")
    lines, seen, others = NODE_INLINED.split("\n"), 0, set()
    for wait in report["waits"]:
        own = [(frame["name"], lines[frame["line"] - 1].strip()) for frame in wait["user"] or () if frame.get("file") == source]
        if own[-3:] == [("outer", "function outer(ms) { shop.pay(ms); }"), ("pay", "pay(ms) { calls++; innermost(ms); }"),
                        ("innermost", "function innermost(ms) {")]:
            seen += wait["off_cpu_ns"]
        elif own:
            others.add(str(own))
    env.check.that(0.9 * spent < seen < 1.1 * spent, f"{seen} ns at the chain, by the program {spent}; others {others}")


@case
def jit_python(env):
    """CPython's trampolines have neither a table nor a frame pointer (3.12, 3.13)."""
    probe = ["-X", "perf", "-c", "import sys; sys.exit(not sys.is_stack_trampoline_active())"]
    found = [python for python in ["python3", *cached("python3.1[2-9]")]
             if not subprocess.run([python, *probe], capture_output=True, check=False).returncode]
    if not found:
        raise Skip("python3 has no -X perf (it came with 3.12), and tests/live/fetch-runtimes got no other")
    source = source_file(env, "waiter.py", PYTHON)
    report = record_interpreter(env, [found[0], "-X", "perf", source], 1)
    check_functions(env, report, ["py::outer", "py::middle", "py::innermost"])


@case
def node_event_loop_is_held_up(env):
    """What blocks in a callback is a finding, without an option of node's; what the loop itself waits for is none."""
    node = shutil.which("node")
    if not node:
        raise Skip("node is not installed")
    truth, recording = env.temporary("truth.json"), env.temporary("node.offcpu")
    made = subprocess.run([env.offcpu, "record", "--exact", "-o", recording, "--", node, source_file(env, "loop.js", NODE_LOOP), truth],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False)
    env.check.equal(made.returncode, 0, f"status: {made.stderr[-300:]}")
    report = json.loads(subprocess.run([env.offcpu, "report", "--json", recording], capture_output=True, check=True).stdout)
    with open(truth, encoding="utf-8") as file:
        spent = json.load(file)
    held_up = [finding for finding in report["findings"] if finding.get("holds_up_loop")]
    env.check.equal({finding["holds_up_loop"] for finding in held_up}, {"nodejs"}, "the loop")
    env.check.that("waits in Atomics.wait()" in {finding["says"] for finding in held_up}, f"{[finding['says'] for finding in held_up]}")
    seen = sum(finding["time_ns"] for finding in held_up)
    # a child is also begun, and both wait for CPUs
    env.check.that(0.75 * sum(spent.values()) < seen <= 1.01 * sum(spent.values()), f"{seen} ns, by the program {spent}")
