# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Starts and stops the programs that are measured and the loads they are measured on."""
import os
import signal
import subprocess
import time
from contextlib import contextmanager


def default_sigint():
    """A shell's background job ignores SIGINT and its children inherit that: undo it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(command, **kwargs):
    """Starts a program in a session of its own, with nothing to read and nowhere to print."""
    kwargs.setdefault("stdin", subprocess.DEVNULL)
    kwargs.setdefault("stdout", subprocess.DEVNULL)
    kwargs.setdefault("stderr", subprocess.DEVNULL)
    return subprocess.Popen([str(word) for word in command], preexec_fn=default_sigint, start_new_session=True,
                            **kwargs)


def kill_group(process):
    """Ends a program with the children it started; perf bench leaves one behind otherwise."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


@contextmanager
def running(command, **kwargs):
    """A program that must still be running at the end."""
    process = start(command, **kwargs)
    try:
        yield process
        if process.poll() is not None:
            raise RuntimeError(f"{command[0]} ended by itself with status {process.returncode}")
    finally:
        kill_group(process)


def interrupt(process, timeout_s=120):
    """Sends SIGINT and waits for the end: (seconds it took, exit status, resource usage)."""
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            process.returncode = os.waitstatus_to_exitcode(status)
            return time.monotonic() - began, process.returncode, usage
        if time.monotonic() - began > timeout_s:
            kill_group(process)
            raise RuntimeError(f"{process.args[0]} did not end within {timeout_s} s of SIGINT")
        time.sleep(0.0005)


def timed(command):
    """Seconds a command took from start to end; its output goes nowhere."""
    began = time.monotonic()
    subprocess.run([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - began
