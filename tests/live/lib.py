# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Runs the test programs and the recorder, and reads the report.

A case is a function taking an Env, registered with @case.  It raises Skip, or collects
what is wrong in env.check; run.py prints one TAP point for each.
"""

import ctypes
import errno
import fnmatch
import glob
import json
import os
import platform
import select
import shutil
import signal
import struct
import subprocess
import time

from check import Check, Report

CASES = []
NIGHTLY = set()     # of them: what costs much and finds little runs with ./bootstrap test --all only
LIBC = ctypes.CDLL(None, use_errno=True)

# Cases run commands as root: by sudo they would run as who called that.
os.environ.pop("SUDO_USER", None)

# What a guarded process (see guarded_processes) makes of the threads it wakes or makes way for.
UNSEEN = {"missed_switch", "missed_wakeup"}


class Skip(Exception):
    """The case cannot run here; its text says why."""


class Broken(Exception):
    """offcpu or a test program did not do its part, so nothing can be compared."""


class TooLate(Broken):
    """What a case needs did not come about, since the machine was slow: a program was done before the tracer was there.  It is tried again."""


def case(function):
    CASES.append(function)
    return function


def nightly(function):
    """Behind @case."""
    NIGHTLY.add(function)
    return function


def wait_until(condition, timeout_s, step_s=0.005):
    end = time.monotonic() + timeout_s
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(step_s)
    return bool(condition())


def cached(pattern):
    """Interpreters of other releases that fetch-runtimes got, by their names."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return sorted(glob.glob(os.path.join(cache, "offcpu-runtimes", "bin", pattern)))


def fetched(pattern):
    """The same, with OFFCPU_RUNTIMES=1 only, for with all of them the suite takes ten minutes more."""
    return cached(pattern) if os.environ.get("OFFCPU_RUNTIMES") == "1" else []


def default_signals():
    """A background job of a non-interactive shell ignores SIGINT; its children must not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)


# -- BPF programs of the whole machine and of one process ---------------------

def bpf(command, layout, *values):
    """bpf(2) with attributes that begin with these values: (what it returns, the attributes afterwards)."""
    number = {"x86_64": 321, "aarch64": 280}.get(platform.machine())
    if number is None:
        raise Skip(f"bpf(2) has no number here for {platform.machine()}")
    attributes = ctypes.create_string_buffer(struct.pack(layout, *values), 128)
    return LIBC.syscall(number, command, attributes, len(attributes)), attributes.raw


def bpf_program_ids():
    """Ids of every BPF program loaded now."""
    ids = set()
    result, attributes = bpf(11, "=I", 0)  # BPF_PROG_GET_NEXT_ID
    while result == 0:
        ids.add(struct.unpack_from("=4xI", attributes)[0])
        result, attributes = bpf(11, "=I", max(ids))
    if ctypes.get_errno() == errno.EPERM:
        raise Skip("bpf(2) is not permitted")
    return ids


def descriptors(pid):
    """{fd: target} of a process, {} once it is gone."""
    found = {}
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            try:
                found[name] = os.readlink(f"/proc/{pid}/fd/{name}")
            except OSError:
                pass
    except OSError:
        pass
    return found


def programs_of(pid):
    """Ids of the BPF programs a process holds."""
    ids = set()
    for name, target in descriptors(pid).items():
        if "bpf" not in target:
            continue
        try:
            with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as f:
                ids |= {int(line.split()[1]) for line in f if line.startswith("prog_id:")}
        except OSError:
            pass
    return ids


def enter_cgroup(group, pid):
    """pid 0: who calls."""
    with open(os.path.join(group, "cgroup.procs"), "w", encoding="ascii") as f:
        f.write(str(pid))


def switches_of(*pids):
    """How often their threads that live were taken off a CPU, by the kernel's own count."""
    cnt = 0
    for pid in pids:
        for path in glob.glob(f"/proc/{pid}/task/*/status"):
            try:
                with open(path, encoding="utf-8", errors="replace") as f:
                    cnt += sum(int(line.split()[1]) for line in f if "_ctxt_switches:" in line)
            except OSError:
                pass
    return cnt


def until_switched(cnt, *pids, seconds=60):
    """Until they have switched so often from now on, however slow the machine is."""
    before = switches_of(*pids)
    return wait_until(lambda: switches_of(*pids) - before >= cnt, seconds, 0.1)


# -- programs with a known truth ----------------------------------------------

class Program:
    """One test program: see programs/truth.h for what it says when."""

    def __init__(self, env, name, *args, cgroup=None):
        self.env = env
        self.truth_path = env.temporary(f"{os.path.basename(name)}.truth")
        self.path = os.path.join(env.programs, name)
        command = [self.path, self.truth_path, *map(str, args)]

        def enter():
            default_signals()
            if cgroup:
                enter_cgroup(cgroup, 0)

        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        preexec_fn=enter)
        env.running.append(self.process)
        words = self._line("ready", 20).split()
        self.pids = [int(word) for word in words[1:]]
        self.pid = self.process.pid
        # every thread asleep: the recording must find them at the edge, not on their way there
        time.sleep(0.02)

    def _line(self, word, timeout_s):
        ready, _, _ = select.select([self.process.stdout], [], [], timeout_s)
        line = self.process.stdout.readline().decode() if ready else ""
        if not line.startswith(word):
            raise Broken(f"{self.path} did not say '{word}' within {timeout_s} s but {line!r}")
        return line

    def go(self):
        self.process.stdin.write(b"g")
        self.process.stdin.flush()

    def wait_done(self, timeout_s=60):
        self._line("done", timeout_s)

    def finish(self):
        self.process.stdin.close()
        if self.process.wait(20) != 0:
            raise Broken(f"{self.path} exited with {self.process.returncode}")

    def truth(self):
        return read_truth(self.truth_path)


def read_truth(path):
    with open(path, encoding="utf-8") as f:
        return [json.loads(line) for line in f]


# -- the recorder --------------------------------------------------------------

def exact(*options):
    """
    What a program knows of itself is compared with every wait: on a slow machine the governor would sample them. And the
    waits of a thread at a place are one row, whatever they are for. Wakers where they are asked for.
    """
    sampled = {"--exact", "--sample", "--max-overhead"} & set(options)
    named = {"--locks", "--objects"} & set(options)
    woken = any(str(option).startswith("--wakers") for option in options)
    return (() if sampled else ("--exact",)) + (() if named else ("--no-objects",)) + (() if woken else ("--no-wakers",))


def fork_children(cnt):
    """A shell that forks so many children, each of which ends at once."""
    subprocess.run(["sh", "-c", f"i=0; while [ $i -lt {cnt} ]; do (:); i=$((i+1)); done"], check=True)


def links_and_ticks(pid):
    """Of a tracer that holds links, and sleeps as one that waits for its signal: loading is D or R, and waiting for a thread that loads a futex."""
    links = sum("bpf_link" in target or "bpf-link" in target for target in descriptors(pid).values())
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
        with open(f"/proc/{pid}/wchan", encoding="ascii") as f:
            is_joining = "futex" in f.read()
    except OSError:
        return None
    return (links, int(fields[11]) + int(fields[12])) if links and fields[0] == "S" and not is_joining else None


def wait_attached(process, what, timeout_s=20, said=lambda: ""):
    """
    Until it has held the same links and slept for 0.25 s with at most three ticks (30 ms) of CPU time; or, as one that has
    much to do from the first moment, for 3 s.
    """
    end = time.monotonic() + timeout_s
    first, since, held_since = None, time.monotonic(), time.monotonic()
    while time.monotonic() < end:
        if process.poll() is not None:
            raise Broken(f"`{what}` ended with {process.returncode}: {said()}")
        now = links_and_ticks(process.pid)
        if now and (not first or first[0] != now[0]):
            held_since = time.monotonic()
        if now and (not first or first[0] != now[0] or now[1] - first[1] > 3):
            first, since = now, time.monotonic()
        elif now and time.monotonic() - since > 0.25:
            return
        if now and time.monotonic() - held_since > 3:
            return
        time.sleep(0.01)
    raise Broken(f"`{what}` attached nothing within {timeout_s} s: {said()}")


class Recorder:
    """`offcpu record`, or `events` into a file, in the background; its window is open once it holds its BPF links."""

    def __init__(self, env, *args, out=None, command=None, own_group=False, verb="record", before=()):
        """before: the beginning of a command that runs ours in its place."""
        self.env = env
        self.out = out or env.temporary("recording.offcpu")
        self.errors = env.temporary("record.stderr")
        line = [*before, env.offcpu, verb, *map(str, args)]
        if verb == "record":
            line += ["-o", self.out]
        if command:
            line += ["--", *map(str, command)]
        self.line = " ".join(line)
        with open(self.errors, "wb") as errors, open(os.devnull if verb == "record" else self.out, "wb") as printed:
            self.process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=printed,
                                            stderr=errors, preexec_fn=default_signals, start_new_session=own_group)
        env.running.append(self.process)

    def wait_attached(self, timeout_s=20):
        """Env.record checks afterwards that the window was open in time."""
        wait_attached(self.process, self.line, timeout_s, self.stderr)

    def said(self):
        with open(self.errors, encoding="utf-8", errors="replace") as f:
            return f.read()

    def stderr(self):
        """The end of that, to be shown."""
        return self.said().strip()[-600:]

    def stop(self, sig=signal.SIGINT, timeout_s=20):
        if self.process.poll() is None:
            self.process.send_signal(sig)
        return self.wait(timeout_s)

    def wait(self, timeout_s=60):
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired as timeout:
            self.process.kill()
            self.process.wait()
            raise Broken(f"`{self.line}` did not end within {timeout_s} s") from timeout

    def report(self, status=0):
        """The recording as a Report, once the recorder has ended with that status."""
        if self.process.returncode != status:
            raise Broken(f"`{self.line}` exited with {self.process.returncode}, not {status}: {self.stderr()}")
        return self.env.report(self.out)


# -- what a case gets ----------------------------------------------------------

class Env:
    def __init__(self, offcpu, programs, directory):
        self.offcpu, self.programs, self.directory = offcpu, programs, directory
        self.running = []
        self.cgroups = []
        self.folders = []
        self.mounts = []
        self.serial = 0
        # A switch to a guarded thread, which is none of our subjects.
        self.check = Check({"hidden_thread"} if guarded_processes() else ())
        self.notes = []
        self.unseen = False  # a recording of this case counted events that did not reach it

    def temporary(self, name):
        self.serial += 1
        return os.path.join(self.directory, f"{self.serial:03}-{name}")

    def report(self, path):
        result = subprocess.run([self.offcpu, "report", "--json", path], stdin=subprocess.DEVNULL,
                                capture_output=True, timeout=60, check=False)
        if result.returncode != 0:
            raise Broken(f"`offcpu report --json` exited with {result.returncode}: "
                         f"{result.stderr.decode(errors='replace').strip()[-400:]}")
        try:
            report = Report(json.loads(result.stdout))
            self.unseen |= bool(UNSEEN & set(report.coverage["lost"]))
            return report
        except (ValueError, KeyError, TypeError) as error:
            raise Broken(f"`offcpu report --json` gave no such JSON: {error!r}") from error

    def record(self, name, *args, options=None, extra=(), settle_s=0.0):
        """Runs one program under a recording of its processes (options: of other ones); returns (report, truth, program)."""
        program = Program(self, name, *args)
        if options is None:
            options = ["-p", ",".join(map(str, program.pids))]
        recorder = Recorder(self, *options, *exact(*options, *extra), *extra)
        recorder.wait_attached()
        go_ns = time.time_ns()
        program.go()
        program.wait_done()
        time.sleep(settle_s)
        end_ns = time.time_ns()
        recorder.stop()
        report = recorder.report()
        program.finish()
        window = report.window
        if window["start_unix_ns"] > go_ns or window["start_unix_ns"] + window["duration_ns"] < end_ns:
            raise Broken(f"the window {window} does not hold the program's work, from {go_ns} to {end_ns}")
        return report, program.truth(), program

    def record_command(self, name, *args, options=(), status=0):
        """Runs one program as the recorder's COMMAND; returns (report, truth)."""
        path = self.temporary(f"{name}.truth")
        recorder = Recorder(self, *options, *exact(*options), command=[os.path.join(self.programs, name), path, *args])
        recorder.wait()
        return recorder.report(status), read_truth(path)

    def disk_file(self):
        """A path on a file system that has a disk below it."""
        for directory in (self.directory, "/var/tmp", os.getcwd(), "/"):
            kind = subprocess.run(["stat", "-f", "-c", "%T", directory], capture_output=True, text=True,
                                  check=False).stdout.strip()
            if kind not in ("tmpfs", "ramfs", "overlayfs", "") and os.access(directory, os.W_OK):
                return os.path.join(directory, f"offcpu-live-{os.getpid()}")
        raise Skip("no writable file system on a disk")

    def cgroup(self, name):
        """A new cgroup v2 group, removed after the case."""
        for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
            if not os.path.exists(os.path.join(root, "cgroup.procs")) or \
               not os.path.exists(os.path.join(root, "cgroup.controllers")):
                continue
            path = os.path.join(root, name)
            try:
                os.mkdir(path)
            except OSError as error:
                raise Skip(f"{path}: {error.strerror}") from error
            self.cgroups.append(path)
            return path
        raise Skip("no cgroup v2 hierarchy is mounted")

    def container(self, name):
        """A control group that is called as a container's, of which containerd says that its name is that."""
        number = f"{os.getpid():064x}"
        folder = f"/run/containerd/io.containerd.runtime.v2.task/default/{number}"
        group = self.cgroup(number)
        os.makedirs(folder)
        self.folders.append(folder)
        with open(os.path.join(folder, "config.json"), "w", encoding="ascii") as file:
            file.write('{"ociVersion": "1.1.0", "annotations": {"nerdctl/name": "%s"}}' % name)
        return group

    def mounted(self, kind):
        """A file system of the kernel's that is mounted nowhere, in a folder of ours until the case ends."""
        path = self.temporary(kind)
        os.mkdir(path)
        result = subprocess.run(["mount", "-t", kind, kind, path], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise Skip(f"{kind} is not mounted and cannot be: {result.stderr.strip()}")
        self.mounts.append(path)
        return path

    def tolerate_unseen(self):
        """For a long or busy recording, where a guarded process is sure to hide some events.  Residuals stay strict."""
        if guarded_processes():
            self.check.tolerated |= UNSEEN | {"kernel_stack", "user_stack"}

    def clean(self):
        for process in self.running:
            if process.poll() is None:
                process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream:
                    stream.close()
        self.running = []
        for path in self.folders:
            shutil.rmtree(path)
        self.folders = []
        for path in reversed(self.cgroups):
            wait_until(lambda p=path: remove_directory(p), 2)
        self.cgroups = []
        for path in self.mounts:
            subprocess.run(["umount", "--lazy", path], check=False)
        self.mounts = []


def remove_directory(path):
    try:
        os.rmdir(path)
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return True


def threads_of_machine():
    """{(pid, tid): (start, is_kernel)} of every thread alive."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            tids = os.listdir(f"/proc/{pid}/task")
        except OSError:
            continue
        for tid in tids:
            try:
                with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8", errors="replace") as f:
                    fields = f.read().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] not in "ZX":
                found[int(pid), int(tid)] = (int(fields[19]), bool(int(fields[6]) & 0x00200000))
    return found


def stolen_ns():
    """
    Time the hypervisor took from all CPUs, in ticks of 10 ms.  The kernel's CPU clocks leave it
    out of a thread's time; between two switches of the thread it is in.
    """
    with open("/proc/stat", encoding="ascii") as f:
        return int(f.readline().split()[8]) * 10_000_000


def wanted_ns():
    """For how long some thread of the machine has wanted a CPU in vain so far, by the kernel (CONFIG_PSI); 0 where it does not say."""
    try:
        with open("/proc/pressure/cpu", encoding="ascii") as f:
            return int(f.readline().rpartition("total=")[2]) * 1000
    except (OSError, ValueError):
        return 0


def guarded_processes():
    """
    Processes that a security module keeps even from root (a sandbox's supervisor).  BPF's task
    iterators do not show them, and BPF programs do not run in their context: a switch away from
    such a thread, or a waking by it, is an event nobody can see.
    """
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            os.readlink(f"/proc/{pid}/ns/pid")
        except PermissionError:
            found.add(int(pid))
        except OSError:
            pass
    return found


def selected(patterns):
    if not patterns:
        return CASES
    return [f for f in CASES if any(fnmatch.fnmatch(f.__name__, pattern) for pattern in patterns)]
