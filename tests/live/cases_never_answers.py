# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Processes whose memory or program lies in a file system that never answers: whoever reads it sleeps where no signal ends it."""

import os
import shutil
import signal
import subprocess
import sys
import time

from cases_agent import Agent, windows
from cases_agent_rights import children_of, comm_of
from lib import Program, Skip, case, default_signals, nightly, wait_until

TURN_S = 15  # a recording of 1 s has ended by then, on a busy machine too; without the opener it never does


class Stranger:
    """The program, and an end to its file system whatever became of the test: nothing that waits for it stays."""

    def __init__(self, env, how, goes=True):
        folder = env.temporary("silent")
        os.mkdir(folder, 0o755)
        self.mount = os.path.join(folder, ".debug" if how == "debug" else "silent")
        self.python = None
        self.program = Program(env, self.executable(env, folder, how), folder, "serve" if how == "heap" else how)
        self.pid = self.program.pid
        told = self.program.truth()[0]
        self.server = told["server"]
        if not told["is_there"]:
            raise Skip("no FUSE here")
        if goes:
            self.program.go()
        if how == "heap":
            self.begin_python(env)

    @staticmethod
    def executable(env, folder, how):
        """Separate debug information is looked for beside the program, so that one lies where the file system is."""
        return shutil.copy(os.path.join(env.programs, "never_answers_debug"), folder) if how == "debug" else "never_answers"

    def begin_python(self, env):
        """An interpreter whose code objects lie in the file."""
        script = os.path.join(os.path.dirname(__file__), "programs", "never_answers_heap.py")
        self.python = subprocess.Popen([sys.executable, script, os.path.join(self.mount, "file")], stdout=subprocess.PIPE, preexec_fn=default_signals)
        env.running.append(self.python)
        self.python.stdout.readline()
        self.pid = self.python.pid

    def end(self):
        os.kill(self.server, signal.SIGKILL)
        subprocess.run(["umount", "-f", "-l", self.mount], stderr=subprocess.DEVNULL, check=False)
        for process in filter(None, (self.python, self.program.process)):
            process.kill()
        perf_map = f"/tmp/perf-{self.pid}.map"
        if os.path.lexists(perf_map):
            subprocess.run(["umount", "-l", perf_map], stderr=subprocess.DEVNULL, check=False)
            os.unlink(perf_map)


def end_of(env, *arguments, after_s=None):
    """What a command says, and how long it took, or from its SIGINT on: it ends, else that is the failure."""
    command = subprocess.Popen([env.offcpu, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=default_signals)
    begun = time.monotonic()
    if after_s:
        time.sleep(after_s)
        begun = time.monotonic()
        command.send_signal(signal.SIGINT)
    try:
        out, _ = command.communicate(timeout=TURN_S)
    except subprocess.TimeoutExpired:
        command.kill()
        env.check.that(False, f"{arguments} has not ended after {TURN_S} s")
        return "", TURN_S
    env.check.equal(command.returncode, 0, f"status of {arguments}: {out}")
    return out, time.monotonic() - begun


@case
def never_answered_arguments(env):
    """Pages of a user's file system over arguments and environment: they are told by name and not read, so no process is left behind."""
    stranger = Stranger(env, "arguments")
    try:
        path = env.temporary("arguments.offcpu")
        out, _ = end_of(env, "record", "-p", stranger.pid, "-d", "1", "-o", path)
        env.check.that(f"process {stranger.pid} (never_answers)" in out and "may never answer" in out, f"it is told: {out}")
        out, took_s = end_of(env, "record", "-p", stranger.pid, "-o", path, after_s=2)
        env.check.that(took_s < TURN_S / 2, f"Ctrl-C ends it in {took_s:.1f} s")
        report = subprocess.run([env.offcpu, "export", path, "-f", "folded", "-o", "-"], capture_output=True, text=True, check=False).stdout
        env.check.that("sleep_site" in report, f"what is at hand has its name: {report[:2000]}")
        out, _ = end_of(env, "doctor", "-p", stranger.pid)
    finally:
        stranger.end()


@case
def never_answered_text(env):
    """A program of a file system that stopped to answer: the file is skipped, by name, and the recording ends with all else."""
    stranger = Stranger(env, "text")
    try:
        out, _ = end_of(env, "record", "-p", stranger.pid, "-d", "1", "-o", env.temporary("text.offcpu"))
        env.check.that("silent/file" in out and "did not answer" in out, f"it is told: {out}")
    finally:
        stranger.end()


@case
def never_answered_overlay(env):
    """The same through an overlayfs of its own, which looks like a local file system."""
    stranger = Stranger(env, "overlay")
    try:
        out, _ = end_of(env, "record", "-p", stranger.pid, "-d", "1", "-o", env.temporary("overlay.offcpu"))
        env.check.that("merged/file" in out and "did not answer" in out, f"it is told: {out}")
    finally:
        stranger.end()


@case
def never_answered_stack(env):
    """Where a thread sleeps: sample, whose programs in the kernel look there, does not wait for it."""
    stranger = Stranger(env, "stack")
    try:
        for how in ([], ["--proc"]):
            out, _ = end_of(env, "sample", *how, "-p", stranger.pid, "-d", "1", "-o", env.temporary("stack.offcpu"))
            # the programs in the kernel take what is there, so that nobody may have asked
            env.check.that(not how or (f"process {stranger.pid} (never_answers)" in out and "may never answer" in out),
                           f"it is told: {out}")
    finally:
        stranger.end()


@case
@nightly
def never_answered_exec_meanwhile(env):
    """It comes between two programs, where its files are not read, while the sampler that reads them looks at it."""
    stranger = Stranger(env, "exec", goes=False)
    try:
        sampler = subprocess.Popen([env.offcpu, "sample", "--proc", "-p", str(stranger.pid), "-d", "4", "-o", env.temporary("exec.offcpu")],
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=default_signals)
        time.sleep(2)
        stranger.program.go()
        try:
            out, _ = sampler.communicate(timeout=TURN_S)
            env.check.equal(sampler.returncode, 0, f"status of sample: {out}")
            env.check.that(f"process {stranger.pid}" in out and "did not answer" in out, f"it is told: {out}")
        except subprocess.TimeoutExpired:
            sampler.kill()
            env.check.that(False, f"sample has not ended after {TURN_S} s")
    finally:
        stranger.end()


def opener_of(agent):
    """The process that opens: a child of who begins them."""
    for keeper in (pid for pid in children_of(agent.process.pid) if comm_of(pid) == "offcpu-opener"):
        for pid in children_of(keeper):
            with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                if file.read().rsplit(")", 1)[1].split()[0] not in "ZD":
                    return pid
    return 0


@case
def agent_never_answered(env):
    """The agent goes on with its windows beside both; an opener that is stopped, or killed, is replaced."""
    strangers = [Stranger(env, how) for how in ("arguments", "text")]
    agent = Agent(env, env.temporary("history"))
    try:
        env.check.that(agent.await_windows(2), f"windows come: {agent.log()}")
        env.check.that(agent.await_log("may never answer"), f"the memory is told: {agent.log()}")
        env.check.that(agent.await_log("silent/file"), f"the file is told: {agent.log()}")
        for sent in (signal.SIGSTOP, signal.SIGKILL):
            before, opener = len(windows(agent.store)), opener_of(agent)
            os.kill(opener, sent)
            end = time.monotonic() + 20
            while opener_of(agent) in (opener, 0) and time.monotonic() < end:
                subprocess.run(["/bin/true"], check=False)  # somebody to be looked at
                subprocess.run(["sleep", "0.1"], check=False)
            env.check.that(opener_of(agent) not in (opener, 0), f"another opener after {sent}: {agent.log()}")
            env.check.that(agent.await_windows(before + 2), f"windows go on after {sent}: {agent.log()}")
        env.check.that("another one took its place" in agent.log(), f"it says so: {agent.log()}")
        env.check.equal(agent.end(), 0, f"status: {agent.log()}")
    finally:
        for stranger in strangers:
            stranger.end()
        wait_until(lambda: agent.process.poll() is not None, 5)


# What looks at such a process: the words behind `offcpu`, from its number and a path to write to.
COMMANDS = {
    "record": lambda pid, path: ["record", "-p", pid, "-d", "1", "-o", path],
    "record of another": lambda pid, path: ["record", "-p", "1", "-d", "1", "-o", path],  # names are looked for in all
    "record of all": lambda pid, path: ["record", "-a", "-d", "1", "-o", path],
    "record of all that there is": lambda pid, path: ["record", "-p", pid, "-d", "1", "--wakers", "--locks", "--objects", "--cpu", "--tasks", "-o", path],
    "top": lambda pid, path: ["top", "-p", pid, "--batch", "-n", "2"],
    "trace": lambda pid, path: ["trace", "-p", pid, "1"],
    "request": lambda pid, path: ["request", "-p", pid, "-d", "1", "sleep_site"],
    "tasks": lambda pid, path: ["tasks", "-p", pid],
    "sample": lambda pid, path: ["sample", "-p", pid, "-d", "1", "-o", path],
    "sample --proc": lambda pid, path: ["sample", "--proc", "-p", pid, "-d", "1", "-o", path],
    "doctor": lambda pid, path: ["doctor", "-p", pid],
}
HOWS = ("arguments", "text", "overlay", "stack", "perf_map", "debug", "heap", "exec")
MATRIX_TURN_S = 20  # of a command in a recording of a second; without the opener most never end
END_S = 2           # of the agent and of a recording, once they are told to


def agent_ends(env, settle_s):
    """In its second window; how long it takes from SIGTERM on."""
    agent = Agent(env, env.temporary("history"))
    env.check.that(agent.await_windows(1), f"windows come: {agent.log()}")
    time.sleep(settle_s)
    begun = time.monotonic()
    env.check.equal(agent.end(), 0, f"status of the agent: {agent.log()}")
    return time.monotonic() - begun


def look_by_all(env, how):
    stranger = Stranger(env, how)
    try:
        for name, words in COMMANDS.items():
            begun = time.monotonic()
            try:
                result = subprocess.run([env.offcpu, *words(str(stranger.pid), env.temporary("matrix.offcpu"))], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=MATRIX_TURN_S, check=False)
                said, status = result.stdout, result.returncode
            except subprocess.TimeoutExpired:
                said, status = "", None
            took_s = time.monotonic() - begun
            print(f"# {how}, {name}: status {status} after {took_s:.1f} s", file=sys.stderr, flush=True)
            env.check.that(status is not None, f"{name} has not ended after {MATRIX_TURN_S} s")
            env.check.that(status in (0, 1, None), f"status {status} of {name}: {said}")  # 1: nothing to tell
        took_s = agent_ends(env, 0.5)
        print(f"# {how}, agent: ended {took_s:.1f} s after SIGTERM", file=sys.stderr, flush=True)
        env.check.that(took_s < END_S, f"SIGTERM ends the agent in {took_s:.1f} s")
    finally:
        stranger.end()


def case_of(how):
    def look(env):
        look_by_all(env, how)

    look.__name__ = f"never_answered_by_any_{how}"
    look.__doc__ = f"Every command that looks at a process ends beside one whose {how} never answers."
    return look


for one in HOWS:
    nightly(case(case_of(one)))
