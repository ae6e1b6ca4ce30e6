# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Time inside the recording: slices add up to the whole, and a range shows what was done in it and nothing else."""

import collections
import json
import subprocess
import sys
import time

from cases_agent import WAITER
from check import Report, check_account, names
from lib import Broken, Recorder, case

SLICE_NS = 10_000_000
PHASE_MS = 1000
WORKERS = 3
CLASSES = ("blocked_ns", "runnable_ns", "preempted_ns")


def cut(env, path, from_text, to_text):
    result = subprocess.run([env.offcpu, "report", "--json", path, "--from", from_text, "--to", to_text],
                            stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    if result.returncode != 0:
        raise Broken(f"report --from {from_text} --to {to_text}: {result.stderr.decode(errors='replace')[-400:]}")
    return Report(json.loads(result.stdout))


def of_waits(report):
    """{(thread, state, stacks, class): ns}"""
    sums = collections.Counter()
    for wait in report.waits:
        for part in CLASSES:
            stacks = json.dumps([wait["user"], wait["kernel"]])
            sums[wait["pid"], wait["tid"], wait["state"], stacks, part] += wait[part]
    return +sums


def of_threads(report):
    sums = collections.Counter()
    for row in report.threads:
        for part in (*CLASSES, "on_cpu_ns", "observed_ns"):
            sums[row["pid"], row["tid"], part] += row[part]
    return +sums


def slice_sums(env, report, who):
    """The slices of a report against its waits: times to the nanosecond, and each wait once."""
    slices = report.data["slices"]["each"]
    for part in (*CLASSES, "count"):
        env.check.equal(sum(row[part] for row in slices), sum(wait[part] for wait in report.waits), f"{part} of {who}'s slices")
    bars = collections.Counter()
    for row in slices:
        bars.update(dict(map(tuple, row["log2_ns"])))
    of_rows = collections.Counter()
    for wait in report.waits:
        of_rows.update(dict(map(tuple, wait["log2_ns"])))
    env.check.equal(+bars, +of_rows, f"histograms of {who}'s slices")


def adds_up(env, path, whole):
    """Ranges next to one another, one of a single slice, together are the whole."""
    window_ns = whole.window["duration_ns"]
    edges = [0, 100_000_000, 110_000_000, 700_000_000, 1_390_000_000, 2 * window_ns]
    waits, threads = collections.Counter(), collections.Counter()
    for begin, end in zip(edges, edges[1:]):
        part = cut(env, path, f"{begin}ns", f"{end}ns")
        check_account(env.check, part)
        slice_sums(env, part, f"{begin} to {end}")
        env.check.that(not part.window["range"]["estimated"] or env.unseen, f"{begin} to {end} is an estimate")
        waits.update(of_waits(part))
        threads.update(of_threads(part))
    env.check.equal(waits, of_waits(whole), "waits of all ranges")
    env.check.equal(threads, of_threads(whole), "accounts of all ranges")


def by_site(report, tids):
    sums = collections.Counter()
    for wait in report.waits:
        if wait["tid"] in tids:
            sums[next((name for name in names(wait["user"]) if name in ("pipe_site", "lock_site")), None)] += wait["off_cpu_ns"]
    return sums


def shows_phase(env, path, begin_ns, site):
    """begin_ns: of the phase, into the window.  In its middle all workers wait at its site, nearly all of the time."""
    begin, end = begin_ns + 40_000_000, begin_ns + (PHASE_MS - 40) * 1_000_000
    begin, end = -(-begin // SLICE_NS) * SLICE_NS, end // SLICE_NS * SLICE_NS
    part = cut(env, path, f"{begin / 1e9:.2f}", f"{end / 1e9:.2f}s")
    tids = {wait["tid"] for wait in part.waits if "worker_main" in names(wait["user"])}
    rows = [row for row in part.threads if row["tid"] in tids]
    off_ns = sum(row["off_cpu_ns"] for row in rows)
    here = by_site(part, tids)
    env.check.equal(part.window["duration_ns"], end - begin, f"{site}: length of the range")
    env.check.equal(len(tids), WORKERS, f"{site}: workers that waited in the range")
    env.check.equal(sum(row["observed_ns"] for row in rows), WORKERS * (end - begin), f"{site}: observed in the range")
    env.check.that(here[site] >= 0.99 * sum(here.values()) > 0, f"{site}: waits in its phase were elsewhere: {here}")
    env.check.equal(set(here) - {site, None}, set(), f"{site}: sites in its phase")
    env.check.equal(sum(here.values()), off_ns, f"{site}: waits against the accounts")
    env.check.that(off_ns >= 0.9 * WORKERS * (end - begin), f"{site}: {off_ns} ns off CPU of {WORKERS * (end - begin)}")


@case
def slices_of_a_program_that_changes(env):
    env.tolerate_unseen()  # three seconds
    whole, truth, program = env.record("phases", PHASE_MS, extra=("--slice", "10ms"), settle_s=0.1)
    path = program.env.running[-1].args[program.env.running[-1].args.index("-o") + 1]
    check_account(env.check, whole)
    env.check.equal(whole.data["slices"]["length_ns"], SLICE_NS, "length of a slice")
    slice_sums(env, whole, "the whole")
    adds_up(env, path, whole)
    begun_ns = truth[0]["begun_unix_ns"] - whole.window["start_unix_ns"]
    shows_phase(env, path, begun_ns, "pipe_site")
    shows_phase(env, path, begun_ns + truth[0]["phase_ns"], "lock_site")


@case
def slices_by_the_clock(env):
    """A range may be said by the clock on the wall."""
    whole, truth, program = env.record("phases", 2 * PHASE_MS)
    path = program.env.running[-1].args[program.env.running[-1].args.index("-o") + 1]
    second = (truth[0]["begun_unix_ns"] + 1_000_000_000) // 1_000_000_000
    words = [time.strftime(layout, time.localtime(at)) for layout, at in (("%H:%M:%S", second), ("%Y-%m-%dT%H:%M:%S", second + 1))]
    part = cut(env, path, *words)
    begin, end = part.window["range"]["from_ns"], part.window["range"]["to_ns"]
    start_ns = second * 1_000_000_000 - whole.window["start_unix_ns"]
    env.check.that(0 <= start_ns - begin < 100_000_000 and 0 <= end - start_ns - 1_000_000_000 < 100_000_000,
                   f"{words} became {begin} to {end}, wanted {start_ns} and a second on")


@case
def longest_of_a_recording(env):
    """When the longest wait of a stack began and who ended it, by the program's own clock."""
    said = env.temporary("said")
    script = WAITER.replace("sleep(3.3)", "sleep(1)").replace("time.sleep(60)\n", "").replace("flush=True", "file=open(SAID, 'w')")
    recorder = Recorder(env, command=[sys.executable, "-c", f"SAID = {said!r}\n{script}"])
    recorder.wait()
    with open(said, encoding="ascii") as f:
        tid, before_ns, told_ns, after_ns = map(int, f.read().split())
    waits = [w for w in recorder.report().waits if w["tid"] == tid and w.get("max_start_unix_ns")]
    longest = max(waits, key=lambda w: w["max_ns"], default={"max_start_unix_ns": 0, "max_ns": 0})
    began_ns, ended_ns = longest["max_start_unix_ns"], longest["max_start_unix_ns"] + longest["max_ns"]
    slack_ns = 20_000_000  # of clocks: the machine's time of day may be slewed meanwhile
    env.check.that(before_ns - slack_ns <= began_ns <= told_ns, f"it began at {began_ns}, behind {before_ns}")
    env.check.that(told_ns - slack_ns <= ended_ns <= after_ns + slack_ns, f"it ended at {ended_ns}, between {told_ns} and {after_ns}")
    env.check.equal(longest.get("max_waker", {}).get("pid"), longest.get("pid"), "whose process ended it")
    text = subprocess.check_output([env.offcpu, "report", "--stacks", recorder.out], text=True)
    env.check.that("longest 1.0" in text and f": thread {tid} " in text, f"the longest in the text: {text[-800:]}")
