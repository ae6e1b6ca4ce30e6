# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Processes whose memory or program lies in a file system that never answers: whoever reads it sleeps where no signal ends it."""

import os
import signal
import subprocess
import time

from cases_agent import Agent, windows
from cases_agent_rights import children_of, comm_of
from lib import Program, Skip, case, default_signals, wait_until

TURN_S = 15  # a recording of 1 s has ended by then, on a busy machine too; without the opener it never does


class Stranger:
    """The program, and an end to its file system whatever became of the test: nothing that waits for it stays."""

    def __init__(self, env, how):
        folder = env.temporary("silent")
        os.mkdir(folder, 0o755)
        self.program = Program(env, "never_answers", folder, how)
        self.pid = self.program.pid
        told = self.program.truth()[0]
        self.server = told["server"]
        self.mount = os.path.join(folder, "silent")
        if not told["is_there"]:
            raise Skip("no FUSE here")
        self.program.go()

    def end(self):
        os.kill(self.server, signal.SIGKILL)
        subprocess.run(["umount", "-q", "-f", "-l", self.mount], check=False)
        self.program.process.kill()


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
            env.check.that(f"process {stranger.pid} (never_answers)" in out and "may never answer" in out, f"it is told: {out}")
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
