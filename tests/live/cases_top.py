# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu top`: its figures against programs of known truth and the scheduler's own, its keys on a pseudo terminal."""

import glob
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

from lib import Program, case, default_signals
from terminal import Terminal

LEAVE_ALTERNATE = "\x1b[?1049l"
KEYS = "12345vaKiKi" + "aW" + "jkGgbf" + "<>IPTNI" + "FF" + "dd" + "??" + "  " + "/x\r\\x\r\\\x15\x7f\r" + "\t\r\r\x1b\x1b\x0c"


def batch(env, *options, count=3, interval=0.5):
    """Intervals of top as dicts."""
    command = [env.offcpu, "top", "--batch", "--json", "-n", str(count), "-i", str(interval), *map(str, options)]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False,
                            preexec_fn=default_signals)
    env.check.equal(result.returncode, 0, f"status of top: {result.stderr.decode()}")
    return [json.loads(line) for line in result.stdout.decode().splitlines()]


def classes_ns(row):
    return sum(row[name] for name in ("on_cpu_ns", "blocked_ns", "runnable_ns", "preempted_ns", "idle_ns"))


def check_sums(env, intervals):
    for one, other in zip(intervals, intervals[1:]):
        env.check.equal(one["start_ns"] + one["duration_ns"], other["start_ns"], "an interval begins where the one before ends")
    for interval in intervals:
        for row in interval["rows"]:
            env.check.equal(classes_ns(row) + row["residual_ns"], row["observed_ns"], f"the time of {row['name']}")
        if interval["by"] in ("process", "thread"):
            env.check.equal(sum(row["observed_ns"] for row in interval["rows"]), interval["total"]["observed_ns"], "all rows")


class Schedstat(threading.Thread):
    """The scheduler's account of each thread, read again and again, so that it is known for any moment: a busy machine begins top late."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.read, self.is_over = pid, {}, False
        self.start()

    def run(self):
        while not self.is_over:
            for path in glob.glob(f"/proc/{self.pid}/task/*/schedstat"):
                with open(path, encoding="ascii") as file:
                    cpu_ns, queue_ns = map(int, file.read().split()[:2])
                self.read.setdefault(path, []).append((time.monotonic_ns(), cpu_ns, queue_ns))
            time.sleep(0.01)

    def stop(self):
        """Once a wait in the queue that began before now has ended and is counted."""
        time.sleep(1)
        self.is_over = True
        self.join()

    def between(self, begin_ns, end_ns):
        """CPU time and time in the queue of all threads.  A wait in the queue is counted as it ends, for all the time before."""
        sums = [0, 0]
        for readings in self.read.values():
            for (before, *old), (after, *new) in zip(readings, readings[1:]):
                for i, (was, is_now) in enumerate(zip(old, new)):
                    length = max(after - before, is_now - was)
                    part = min(after, end_ns) - max(after - length, begin_ns)
                    sums[i] += (is_now - was) * max(part, 0) / length
        return sums


# A thread reads from a pipe what another one writes there every 20 ms.
RELAY = """
import os, threading, time
read, write = os.pipe()
def writer():
    with open("/proc/thread-self/comm", "w") as file:
        file.write("writer")
    while True:
        time.sleep(0.02)
        os.write(write, b"x")
threading.Thread(target=writer, daemon=True).start()
while os.read(read, 1):
    pass
"""

SPINNER = """
import threading, time
def sleep():
    while True:
        time.sleep(0.02)
for _ in range(4):
    threading.Thread(target=sleep, daemon=True).start()
while True:
    pass
"""


@case
def top_agrees_with_schedstat(env):
    """One thread spins, four sleep: CPU time is what the kernel's own account says."""
    process = subprocess.Popen([sys.executable, "-c", SPINNER])
    env.running.append(process)
    time.sleep(0.3)
    kernel = Schedstat(process.pid)
    intervals = batch(env, "-p", process.pid, count=4)
    kernel.stop()
    process.kill()
    check_sums(env, intervals)
    rows = [row for interval in intervals for row in interval["rows"]]
    env.check.equal({row["pid"] for row in rows}, {process.pid}, "processes")
    env.check.equal({row["threads"] for row in rows}, {5}, "threads")
    begin_ns, length_ns = intervals[0]["start_ns"], sum(interval["duration_ns"] for interval in intervals)
    cpu_ns, queue_ns = kernel.between(begin_ns, begin_ns + length_ns)
    seen_ns, asleep_ns = sum(row["on_cpu_ns"] for row in rows), sum(row["blocked_ns"] + row["idle_ns"] for row in rows)
    close_ns = 0.02 * 5 * length_ns
    env.check.that(abs(seen_ns - cpu_ns) <= close_ns, f"on CPU {seen_ns} ns, by the kernel {cpu_ns:.0f}")
    rest_ns = 5 * length_ns - cpu_ns - queue_ns
    env.check.that(abs(asleep_ns - rest_ns) <= close_ns, f"asleep {asleep_ns} ns of 5 x {length_ns}, by the kernel {rest_ns:.0f}")


@case
def top_of_a_program_that_sleeps(env):
    """20 threads that sleep throughout are that in each interval, to the nanosecond."""
    program = Program(env, "windows")
    intervals = batch(env, "-p", program.pid, "--by", "thread", count=4)
    program.finish()
    check_sums(env, intervals)
    for interval in intervals:
        asleep = [row for row in interval["rows"] if row["blocked_ns"] + row["idle_ns"] == interval["duration_ns"]]
        env.check.that(len(asleep) >= 20, f"{len(asleep)} threads sleep throughout")
        env.check.that(all(row["waits"] == 0 for row in asleep), "of which no wait began in it")


@case
def top_sums_since_the_start(env):
    """With --since-start the last interval is what one window of all that time would hold: threads that sleep throughout do so once."""
    program = Program(env, "windows")
    intervals = batch(env, "-p", program.pid, "--by", "thread", "--since-start", count=4)
    program.finish()
    env.check.equal({interval["start_ns"] for interval in intervals}, {intervals[0]["start_ns"]}, "all begin at the start")
    lengths = [interval["duration_ns"] for interval in intervals]
    # one that comes late is made up for by the next
    env.check.that(lengths == sorted(set(lengths)) and lengths[-1] - lengths[0] > 0.6e9, f"and grow: {lengths}")
    last = intervals[-1]
    for row in last["rows"]:
        env.check.equal(classes_ns(row) + row["residual_ns"], row["observed_ns"], f"the time of {row['name']}")
    asleep = [row for row in last["rows"] if row["blocked_ns"] + row["idle_ns"] == last["duration_ns"]]
    env.check.that(len(asleep) >= 20, f"{len(asleep)} threads sleep throughout")
    env.check.that(all(row["waits"] == 0 and row["max_ns"] in (0, last["duration_ns"]) for row in asleep), "in one wait each, which is whole")


@case
def top_goes_to_the_waker(env):
    """From a stack that waits for a thread to what that one waits for."""
    process = subprocess.Popen([sys.executable, "-c", RELAY])
    env.running.append(process)
    terminal = begin(env, "-p", str(process.pid), "--wakers", "--by", "stack", rows=60, columns=120)
    try:
        env.check.that(terminal.wait_for(r"offcpu top .*process"), "it shows the program")
        terminal.press("a")
        env.check.that(terminal.wait_for(r"\[since the start\]"), "a: all since the start")
        terminal.press("/read\r\r")
        env.check.that(terminal.wait_for(r"woken by .*writer"), "who woke it")
        terminal.press("W")
        env.check.that(terminal.wait_for(r"by stack of .*writer"), "W: the waker's stacks")
        env.check.that(terminal.wait_for(r"nanosleep"), "it sleeps")
        terminal.press("\x1b")
        env.check.that(terminal.wait_for(r"woken by|by stack, sorted"), "Esc: back")
        terminal.press("q")
        env.check.equal(terminal.wait(), 0, "status")
    finally:
        process.kill()
        terminal.close()


@case
def top_names_a_convoy(env):
    """Threads that wait for one mutex: reason and object say so."""
    path = env.disk_file()
    process = subprocess.Popen([os.path.join(env.programs, "planted"), "mutex", "30", path], stdout=subprocess.DEVNULL)
    env.running.append(process)
    try:
        time.sleep(0.3)
        reasons = batch(env, "-p", process.pid, "--by", "reason")[-1]
        objects = batch(env, "-p", process.pid, "--by", "object")[-1]
    finally:
        process.kill()
        process.wait()
        os.unlink(path)
    first = [row for row in reasons["rows"] if row["reason"] != "cpu.queue"][0]
    env.check.equal(first["reason"], "lock.mutex", "the reason that takes most time")
    names = [row["name"] for row in objects["rows"] if row["name"] != "run queue"]
    env.check.that(names[0].startswith("mutex") and "audit_lock" in names[0], f"the object: {names[:3]}")


@case
def top_prints_blocks(env):
    program = Program(env, "windows")
    result = subprocess.run([env.offcpu, "top", "--batch", "-n", "2", "-i", "0.3", "-p", str(program.pid), "--by", "thread", "--rows", "5"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=60, check=False, preexec_fn=default_signals)
    program.finish()
    blocks = result.stdout.decode().rstrip("\n").split("\n\n")
    env.check.equal(result.returncode, 0, f"status: {result.stderr.decode()}")
    env.check.equal(len(blocks), 2, "blocks")
    for block in blocks:
        env.check.equal(len(block.splitlines()), 8, "lines of a block: two, the columns, five rows")
        env.check.that("\x1b" not in block, "no escapes")


def begin(env, *options, **terminal):
    return Terminal(env, [env.offcpu, "top", "-i", "0.3", *options], **terminal)


def check_restored(env, terminal, what):
    import termios
    env.check.that(terminal.raw.count("\x1b[?1049h") == terminal.raw.count(LEAVE_ALTERNATE) > 0, f"{what}: the screen before is back")
    env.check.equal(termios.tcgetattr(terminal.fd)[3], terminal.modes[3], f"{what}: the modes of the terminal")
    env.check.that(terminal.raw.rfind("\x1b[?25h") > terminal.raw.rfind("\x1b[?25l"), f"{what}: the cursor is back")


@case
def top_takes_every_key(env):
    program = Program(env, "windows")
    terminal = begin(env, "-p", str(program.pid))
    try:
        lines = terminal.wait_for(r"windows +[█▓▒░]+ ")
        env.check.that(lines, f"a row of the program: {terminal.screen.text()}")
        for key in KEYS:
            terminal.press(key)
            terminal.read(0.02)
        env.check.that(terminal.wait_for(r"offcpu top \d\d:\d\d:\d\d"), "it still runs after all keys")
        terminal.press("1")
        env.check.that(terminal.wait_for("PID PROCESS"), "processes")
        terminal.press("2")
        env.check.that(terminal.wait_for("TID THREAD"), "threads")
        terminal.press("1\r")
        env.check.that(terminal.wait_for("by stack of windows"), "Enter shows stacks")
        # on a machine that keeps us waiting the interval on the screen may lack that row, and what is chosen then is no stack of sleepers
        for _ in range(5):
            terminal.press("/sleeper_site\r")
            terminal.press("\r")
            has_frames = terminal.wait_for(r"^ +sleeper_site ", 5)
            if has_frames:
                break
            terminal.press("\x1b")
            terminal.wait_for("by stack of windows")
            terminal.press("g")
        env.check.that(has_frames, f"the frames of a stack: {terminal.screen.text()}")
        terminal.press("\x1b")
        env.check.that(terminal.wait_for("by stack of windows"), "back to the stacks")
        terminal.press("?")
        env.check.that(terminal.wait_for("any key goes back"), "the help sheet")
        terminal.press("xw")
        env.check.that(terminal.wait_for(r"wrote top-.*\.offcpu"), "w writes")
        terminal.press("q")
        env.check.equal(terminal.wait(), 0, "q ends it")
        check_restored(env, terminal, "q")
    finally:
        terminal.close()
    program.finish()
    written = glob.glob(os.path.join(env.directory, "top-*.offcpu"))
    env.check.equal(len(written), 1, "recordings")
    report = json.loads(subprocess.run([env.offcpu, "export", written[0], "-f", "json", "-o", "-"], check=True, stdout=subprocess.PIPE).stdout)
    env.check.that(any(thread["comm"] == "windows" for thread in report["threads"]), "the program is in the recording")


@case
def top_fits_any_terminal(env):
    """Resizing while it draws, a C locale, no colour; nothing is wider than the screen."""
    program = Program(env, "windows")
    terminal = begin(env, "-p", str(program.pid), variables={"LC_ALL": "C", "NO_COLOR": "1"})
    try:
        env.check.that(terminal.wait_for(r"windows +[#=+.]+ "), f"bars of ASCII: {terminal.screen.text()}")
        for rows, columns in ((10, 40), (50, 200), (3, 10), (1, 1), (24, 80)):
            terminal.resize(rows, columns)
            terminal.read(0.4)
        terminal.resize(30, 120)
        env.check.that(terminal.wait_for("MEDIAN"), "a wide terminal shows more columns")
        env.check.that(all(ord(letter) < 128 for letter in terminal.raw), "nothing but ASCII")
        env.check.that(not re.search(r"\x1b\[[0-9;]*3[0-7]m", terminal.raw), "no colour")
        terminal.press("q")
        env.check.equal(terminal.wait(), 0, "q ends it")
    finally:
        terminal.close()
    program.finish()


@case
def top_gives_the_terminal_back(env):
    program = Program(env, "windows")
    for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGSEGV, signal.SIGABRT):
        terminal = begin(env, "-p", str(program.pid))
        try:
            env.check.that(terminal.wait_for(r"windows +[█▓▒░]+ "), "it shows the program")
            os.kill(terminal.pid, sig)
            env.check.that(terminal.wait() is not None, f"{sig.name} ends it")
            check_restored(env, terminal, sig.name)
        finally:
            terminal.close()
    program.finish()


def is_writing(pid):
    """For a while already: in write() to its output."""
    for _ in range(10):
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            if not file.read().startswith("1 0x1 "):
                return False
        time.sleep(0.03)
    return True


@case
def top_ends_while_nobody_reads(env):
    """Its terminal is full, as after Ctrl-S: it can be ended all the same."""
    program = Program(env, "windows")
    terminal = begin(env, "-i", "0.1", "-p", str(program.pid))
    try:
        env.check.that(terminal.wait_for(r"windows +[█▓▒░]+ "), "it shows the program")
        for _ in range(400):  # each has it write the screen anew, until the terminal takes no more
            terminal.press("\x0c")
            time.sleep(0.02)
            if is_writing(terminal.pid):
                break
        env.check.that(is_writing(terminal.pid), "it is stuck in a write")
        os.kill(terminal.pid, signal.SIGTERM)
        end = time.monotonic() + 10
        status = None
        while status is None and time.monotonic() < end:
            pid, status = os.waitpid(terminal.pid, os.WNOHANG)
            status = status if pid else None
            time.sleep(0.05)
        env.check.equal(status, int(signal.SIGTERM), "ended by the signal")
        terminal.status = status
    finally:
        terminal.close()
    program.finish()


@case
def top_suspends_and_resumes(env):
    program = Program(env, "windows")
    # only a shell's job may be stopped: an orphan's stop is ignored
    terminal = Terminal(env, ["/bin/bash", "--norc", "-im"], variables={"PS1": "ready> "})
    try:
        env.check.that(terminal.wait_for("ready>"), "a shell")
        terminal.press(f"{env.offcpu} top -i 0.3 -p {program.pid}\n")
        env.check.that(terminal.wait_for(r"windows +[█▓▒░]+ "), "it shows the program")
        for i in range(10):  # at any moment: curses of its own loses what comes while it writes
            terminal.press("\x1a")
            env.check.that(terminal.wait_for("Stopped"), f"Ctrl-Z suspends it, time {i}")
            terminal.press("clear; fg\n")
            env.check.that(terminal.wait_for("PID PROCESS"), f"fg resumes it, time {i}")
            time.sleep(0.037 * i)
        terminal.press("q")
        env.check.that(terminal.wait_for("ready>"), "q ends it")
        terminal.press("exit\n")
        env.check.equal(terminal.wait(), 0, "the shell ends")
    finally:
        terminal.close()
    program.finish()


@case
def top_refuses(env):
    for options, words in ((["-m", "1ms"], "offcpu record"), (["--json"], "--batch"), (["--by", "x"], "process"), (["-i", "0"], "-i takes"),
                           (["--batch", "x"], "unexpected"), ([], "needs a terminal"), (["--", "true"], "--batch")):
        result = subprocess.run([env.offcpu, "top", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                timeout=20, check=False)
        env.check.that(result.returncode in (1, 2) and words in result.stderr.decode() and result.stderr.count(b"\n") == 1,
                       f"top {options}: {result.returncode}, {result.stderr.decode()}")
