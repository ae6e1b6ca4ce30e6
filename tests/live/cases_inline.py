# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Inlined functions, files and lines: `record --inline` and what the reports make of it."""

import os
import re
import subprocess

from check import check_account, names
from lib import Program, Recorder, case

# Mapping events are the whole machine's.
ALLOWED = ("no_unwind_table", "mmap_events")
INLINED = ["outer", "middle", "innermost"]


def marks_of(path):
    """The lines that the source marks with "at: NAME". A compiler's cache may give the object that was made in
    another folder, so of the path that the debug information has only the file's name counts."""
    source_path = os.path.join(os.path.dirname(__file__), "programs", os.path.basename(path))
    with open(source_path, encoding="utf-8") as source:
        return {found[1]: number for number, line in enumerate(source, 1)
                if (found := re.search(r"/\* at: (.*?) \*/", line))}


def check_frames(check, frames, marks):
    """container > outer > middle > innermost: which of the two calls it was, None if the stack is another."""
    called = names(frames)
    if "innermost" not in called:
        return None
    end = called.index("innermost") + 1
    container, *inside = frames[end - 4:end]
    check.equal([container["name"], *(frame["name"] for frame in inside)], ["container", *INLINED], "names")
    check.equal([container["inline"], *(frame["inline"] for frame in inside)], [False, True, True, True], "inline")
    check.equal([frame["line"] for frame in inside], [marks[name] for name in INLINED], "lines")
    check.equal({frame["module"] for frame in inside}, {container["module"]}, "modules")
    check.equal({frame["offset"] for frame in inside}, {container["offset"]}, "offsets")
    check.that("nanosleep" in (called[end] or ""), f"called {called[end:end + 1]}, not nanosleep")
    check.equal(called[end - 5], "main", "the function outside")
    check.that(frames[end - 5]["line"] > container["line"], "main's call is below the function in the file")
    return {marks["first call"]: 1, marks["second call"]: 2}.get(container["line"], container["line"])


@case
def inline_three_deep(env):
    report, truth, _ = env.record("unwind_inline", 20, 5000, extra=["--inline"])
    check_account(env.check, report, allowed_losses=ALLOWED)
    files = {frame["file"] for wait in report.waits for frame in wait["user"] if frame["name"] == "innermost"}
    if not env.check.equal(len(files), 1, f"files of innermost: {files}"):
        return
    marks = marks_of(files.pop())
    calls = {}
    for wait in report.waits:
        # on a busy machine it may lose its CPU anywhere, also in its own clock's functions, which the same ones call
        if wait["state"] != "S" or not any("do_nanosleep" in (name or "") for name in names(wait["kernel"])):
            continue
        which = check_frames(env.check, wait["user"], marks)
        if which is not None:
            calls[which] = calls.get(which, 0) + wait["count"]
    env.check.equal(sorted(calls), [1, 2], "calls told apart")
    slept = sum(line["slept"] for line in truth if line["kind"] == "inline")
    env.check.equal(sum(calls.values()), slept, "naps")


@case
def inline_in_the_reports(env):
    """Text, folded and picture of one recording; a function is one box, whatever its lines."""
    program = Program(env, "unwind_inline", 10, 5000)
    recorder = Recorder(env, "-p", str(program.pids[0]), "--inline")
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    recorder.report()
    program.finish()
    path = recorder.out

    def output(*args):
        return subprocess.run([env.offcpu, *args], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=60, check=True).stdout

    text = output("report", "--full", path)
    for name in INLINED:
        env.check.that(re.search(rf"{name} \(unwind_inline\.c:\d+\) \(inlined\)", text), f"report: no {name}")
    env.check.that(re.search(r"container \(unwind_inline\.c:\d+\)\n", text), "report: no container")
    folded = output("export", path, "-f", "folded")
    env.check.that(";main;container;outer;middle;innermost;" in folded, f"folded: {folded[:400]}")
    marked = output("export", path, "-f", "folded", "--annotate", "--lines")
    env.check.that(re.search(r";container:unwind_inline\.c:\d+;outer:unwind_inline\.c:\d+_\[i\];", marked),
                   f"folded, marked: {marked[:400]}")
    picture = output("flame", path, "-o", "-")
    lines = re.findall(r"<title>container\nunwind_inline\n[^\n]*unwind_inline\.c:(\d+)-(\d+)\n", picture)
    env.check.equal(len(lines), 1, "boxes of container, with both lines")


@case
def inline_is_asked_for(env):
    """Without it no frame has a file, and the function inlined is not there."""
    report, _, _ = env.record("unwind_inline", 10, 5000)
    frames = [frame for wait in report.waits for frame in wait["user"]]
    env.check.equal({frame["file"] for frame in frames}, {None}, "files")
    env.check.that("innermost" not in {frame["name"] for frame in frames}, "an inlined function")
    env.check.that("container" in {frame["name"] for frame in frames}, "no container")
