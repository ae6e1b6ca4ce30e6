# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""How a recording begins and ends: commands, statuses, signals, files."""

import json
import os
import random
import signal
import subprocess
import time

from check import EDGE_LOSSES, check_account, check_truth
from lib import Program, Recorder, TooLate, bpf_program_ids, case, default_signals, nightly, programs_of, wait_until


def children_named(pid, comm):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            children = f.read().split()
        return [child for child in children if open(f"/proc/{child}/comm", encoding="utf-8").read().strip() == comm]
    except OSError:
        return []


def command(env, *words):
    recorder = Recorder(env, command=words)
    return recorder, recorder.wait()


@case
def command_exit_status(env):
    recorder, status = command(env, "sh", "-c", "exit 7")
    env.check.equal(status, 7, "exit status")
    report = recorder.report(status=7)
    check_account(env.check, report)
    env.check.that(any(row["comm"] == "sh" for row in report.threads), "no thread named sh")


@case
def command_signal_status(env):
    recorder, status = command(env, "sh", "-c", "kill -KILL $$")
    env.check.equal(status, 128 + signal.SIGKILL, "exit status")
    check_account(env.check, recorder.report(status=status))


@case
def command_not_found(env):
    recorder, status = command(env, "/nonexistent/program")
    env.check.that(status not in (0, None), f"exit status {status}")
    env.check.that("/nonexistent/program" in recorder.stderr(), f"stderr does not name it: {recorder.stderr()!r}")
    env.check.that(not os.path.exists(recorder.out), "a recording of nothing was written")


@case
def command_from_first_instruction(env):
    """Every sleep is seen from the first, and nobody else's."""
    report, truth = env.record_command("nanosleep", 50, 5000)
    check_account(env.check, report)
    check_truth(env.check, report, truth[0])
    env.check.equal({row["pid"] for row in report.threads}, {truth[0]["pid"]}, "processes in the report")
    rows = report.rows[truth[0]["pid"], truth[0]["tid"]]
    env.check.equal([row["comm"] for row in rows], ["nanosleep"], "rows of the command")
    env.check.equal([row["open_at_start"] for row in rows], [False], "open at the start")


@case
def interrupt_ends_cleanly(env):
    program = Program(env, "nanosleep", 20, 10000)
    recorder = Recorder(env, "-p", program.pid)
    recorder.wait_attached()
    program.go()
    program.wait_done()
    begin = time.monotonic()
    status = recorder.stop(signal.SIGINT)
    took_s = time.monotonic() - begin
    env.check.equal(status, 0, "exit status")
    if took_s >= 2:
        raise TooLate(f"took {took_s:.1f} s to end")
    report = recorder.report()
    check_account(env.check, report)
    check_truth(env.check, report, program.truth()[0])
    program.finish()


@case
def interrupt_from_a_terminal(env):
    """A terminal's Ctrl-C goes to recorder and command alike; what was recorded is kept."""
    recorder = Recorder(env, command=["sleep", "30"], own_group=True)
    recorder.wait_attached()
    wait_until(lambda: children_named(recorder.process.pid, "sleep"), 5)
    time.sleep(0.2)
    os.killpg(recorder.process.pid, signal.SIGINT)
    status = recorder.wait(10)
    env.check.equal(status, 128 + signal.SIGINT, "exit status")
    report = recorder.report(status=status)
    check_account(env.check, report)
    env.check.that(any(row["comm"] == "sleep" for row in report.threads), "no thread named sleep")


@case
def second_interrupt_abandons(env):
    """A second interrupt: the recording is complete or absent.  One that comes with the first takes nothing away."""
    for delay_s in (0.0, 0.005, 0.6, 0.62):
        out = env.temporary("recording.offcpu")
        recorder = Recorder(env, "-a", out=out)
        recorder.wait_attached()
        recorder.process.send_signal(signal.SIGINT)
        time.sleep(delay_s)
        if recorder.process.poll() is None:
            recorder.process.send_signal(signal.SIGINT)
        status = recorder.wait(10)
        if delay_s < 0.1:
            env.check.that(os.path.exists(out), f"no recording: a second interrupt {delay_s} s after the first")
        if os.path.exists(out):
            env.check.equal(status, 0, f"status with a recording, second interrupt after {delay_s} s")
            env.report(out)
        else:
            env.check.that(status != 0, f"status 0 without a recording, second interrupt after {delay_s} s")
        left = [name for name in os.listdir(env.directory) if name.startswith((os.path.basename(out) + ".", "." + os.path.basename(out) + "."))]
        env.check.equal(left, [], "files left beside it")


@case
def hangup_ends_unless_ignored(env):
    """A closed terminal ends a recording, which is kept; under nohup it goes on."""
    for is_ignored in (False, True):
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN if is_ignored else signal.SIG_DFL)
        try:
            recorder = Recorder(env, "-a")
        finally:
            signal.signal(signal.SIGHUP, before)
        recorder.wait_attached()
        recorder.process.send_signal(signal.SIGHUP)
        if is_ignored:
            time.sleep(0.5)
            env.check.equal(recorder.process.poll(), None, "status after a hangup that is ignored")
            recorder.process.send_signal(signal.SIGINT)
        env.check.equal(recorder.wait(10), 0, f"status (hangups ignored: {is_ignored})")
        env.report(recorder.out)


GONE_S = 5  # after a SIGKILL
KILLS, KILLED_WITHIN_S = 40, 2


@case
@nightly
def killed_at_any_time(env):
    """While it loads, records or writes: it is gone within seconds, and what it left beside its file the next one clears away."""
    folder, chance, slowest_s = env.temporary("killed"), random.Random(46), 0
    os.mkdir(folder)
    words = [env.offcpu, "record", "-a", "-d", "0.3", "-o", os.path.join(folder, "recording.offcpu")]
    for _ in range(KILLS):
        process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=default_signals)
        env.running.append(process)
        time.sleep(chance.uniform(0, KILLED_WITHIN_S))
        begun = time.monotonic()
        process.kill()
        process.wait(60)
        slowest_s = max(slowest_s, time.monotonic() - begun)
    env.check.that(slowest_s < GONE_S, f"the slowest was gone {slowest_s:.1f} s after SIGKILL")
    env.check.equal(subprocess.run(words, capture_output=True, timeout=60, check=False).returncode, 0, "status of the next recording")
    left = set(os.listdir(folder)) - {"recording.offcpu", "recording.offcpu.old"}
    env.check.equal(left, set(), "files left beside the recording")


@case
def killed_leaves_nothing_loaded(env):
    out = env.temporary("recording.offcpu")
    recorder = Recorder(env, "-a", out=out)
    recorder.wait_attached()
    own = programs_of(recorder.process.pid)
    env.check.that(own, "the recorder holds no BPF program")
    env.check.equal(own - bpf_program_ids(), set(), "its programs that are not loaded")
    time.sleep(1.2)
    recorder.process.kill()
    recorder.wait(GONE_S)
    wait_until(lambda: not own & bpf_program_ids(), 5, 0.05)
    env.check.equal(own & bpf_program_ids(), set(), "programs still loaded")
    if os.path.exists(out):
        check_account(env.check, env.report(out), allowed_losses=EDGE_LOSSES)
    again = Recorder(env, "-a", "-d", "0.3", out=out)
    again.wait()
    env.check.equal(again.process.returncode, 0, f"status of the next recording ({again.stderr()})")


@case
def refused_without_rights(env):
    """A status of its own, and what to do about it."""
    program = Program(env, "sleeper")
    for words in (["record", "-o", "/tmp/none.offcpu"], ["trace"], ["events"], ["hist"], ["top", "--batch", "-n", "1"], ["io"],
                  ["request", "-p", str(program.pid), "main"]):
        result = subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", env.offcpu, *words],
                                capture_output=True, text=True, timeout=30, check=False)
        env.check.equal(result.returncode, 3, f"status of {words[0]} without rights ({result.stderr.strip()})")
        env.check.that("root" in result.stderr, f"stderr of {words[0]} names no way out: {result.stderr!r}")
    program.finish()


@case
def recording_of_nobody(env):
    """A window in which nobody was that is asked for is a recording, and both commands say so."""
    out = env.temporary("recording.offcpu")
    said = subprocess.run([env.offcpu, "record", "-d", "0.1", "--comm", "no-such-thread", "-o", out],
                          capture_output=True, text=True, timeout=30, check=False)
    env.check.equal(said.returncode, 0, f"status ({said.stderr.strip()})")
    env.check.that("warning: no thread was seen" in said.stderr and "no-such-thread" in said.stderr, said.stderr)
    report = subprocess.run([env.offcpu, "report", out], capture_output=True, text=True, timeout=30, check=False)
    env.check.equal(report.returncode, 0, f"status of report ({report.stderr.strip()})")
    env.check.that("No thread was seen" in report.stdout, report.stdout)
    drawn = subprocess.run([env.offcpu, "flame", out, "-o", env.temporary("x.PNG")], capture_output=True, text=True,
                           timeout=30, check=False)
    env.check.equal(drawn.returncode, 2, "status of a picture of another format")
    env.check.that("not as .png" in drawn.stderr, drawn.stderr)


@case
def output_that_fails(env):
    """What is printed while it is traced and cannot be written ends the run, and is said."""
    for words in (["events", "-d", "20"], ["hist", "0.1"]):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([env.offcpu, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=15, check=False)
        env.check.equal(result.returncode, 1, f"status of {words}")
        env.check.that("standard output" in result.stderr, f"stderr of {words}: {result.stderr!r}")


@case
def ends_before_the_interval(env):
    """What came in is printed where the command ends before INTERVAL and COUNT; windows of top follow one another up to the end."""
    result = subprocess.run([env.offcpu, "hist", "--json", "100", "2", "--", "sleep", "0.2"], capture_output=True, text=True, timeout=30, check=False)
    rows = [row for line in result.stdout.splitlines() for row in json.loads(line)["histograms"]]
    env.check.that(sum(row["count"] for row in rows) >= 1 and sum(row["sum_ns"] for row in rows) >= 200_000_000, f"hist: {result.stdout} {result.stderr}")
    for options in ((), ("--since-start",)):
        result = subprocess.run([env.offcpu, "top", "--batch", "--json", "-i", "0.3", *options, "--", "sleep", "0.8"], capture_output=True, text=True,
                                timeout=30, check=False)
        windows = [json.loads(line) for line in result.stdout.splitlines()]
        env.check.that(len(windows) >= 2, f"windows: {result.stdout} {result.stderr}")
        slept = sum(w["total"]["observed_ns"] for w in (windows[-1:] if options else windows))
        env.check.that(slept >= 800_000_000, f"{options}: {slept} ns of the sleep are told")
        for one, next_one in zip(windows, [] if options else windows[1:]):
            env.check.equal(next_one["start_ns"], one["start_ns"] + one["duration_ns"], "where a window begins")


@case
def refused_target_keeps_the_file(env):
    program = Program(env, "sleeper")
    recorder = Recorder(env, "-p", program.pid, "-d", "0.2")
    recorder.wait()
    check_account(env.check, recorder.report())
    program.finish()
    with open(recorder.out, "rb") as f:
        before = f.read()
    refused = Recorder(env, "-p", "2147483000", "-d", "0.2", out=recorder.out)
    env.check.that(refused.wait() in (1, 2), f"status {refused.process.returncode} for a process that is not there")
    env.check.that("2147483000" in refused.stderr(), f"stderr does not name the process: {refused.stderr()!r}")
    with open(recorder.out, "rb") as f:
        env.check.that(f.read() == before, "the older recording has changed")


@case
def default_name_keeps_the_older(env):
    """trace.offcpu in the current folder; the one before it stays as trace.offcpu.old."""
    folder = env.temporary("folder")
    os.mkdir(folder)
    for turn in range(2):
        result = subprocess.run([env.offcpu, "record", "--", "sleep", f"{turn}.1"], cwd=folder,
                                capture_output=True, text=True, timeout=30, check=False)
        env.check.equal(result.returncode, 0, f"status ({result.stderr.strip()[-300:]})")
    env.check.equal(sorted(os.listdir(folder)), ["trace.offcpu", "trace.offcpu.old"], "files")
    lengths = [env.report(os.path.join(folder, name)).window["duration_ns"] for name in sorted(os.listdir(folder))]
    env.check.that(lengths[0] > lengths[1], f"windows of new and old: {lengths} ns")
