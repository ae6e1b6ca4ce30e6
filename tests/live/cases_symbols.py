# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Programs whose frames are hard to name: no first thread, links, odd names; and a recorder in odd surroundings."""

import os
import shutil
import subprocess

from cases_unwind import ALLOWED, check_all_complete, check_chain
from check import check_account
from lib import Recorder, Skip, case, default_signals


@case
def first_thread_has_exited(env):
    """/proc/PID/maps is empty and map_files leads nowhere: what another thread has tells the names."""
    report, truth, _ = env.record("unwind_leader", 20, 5000)
    check_account(env.check, report, allowed_losses=ALLOWED)
    check_all_complete(env.check, report)
    check_chain(env.check, report, truth[0], root=False)


def recorded_modules(env, path):
    """The modules of the frame `main` of a program that lies at path, a copy of unwind_calls."""
    programs, env.programs = env.programs, os.path.dirname(path)
    report, truth, _ = env.record(os.path.basename(path), "chain", 20, 5000)
    env.programs = programs
    check_all_complete(env.check, report)
    check_chain(env.check, report, truth[0])
    return {frame["module"] for wait in report.waits for frame in wait["user"] if frame["name"] == "main"}


def copy_of_program(env, name):
    directory = env.temporary("folder")
    os.mkdir(directory)
    path = os.path.join(directory, name)
    shutil.copy(os.path.join(env.programs, "unwind_calls"), path)
    return path


@case
def program_by_the_name_it_was_executed_by(env):
    own = copy_of_program(env, "check-rdb")
    for name, link in ("by-symlink", os.symlink), ("by-link", os.link):
        path = os.path.join(os.path.dirname(own), name)
        link(own, path)
        env.check.equal(recorded_modules(env, path), {path}, "modules of main")
    env.check.equal(recorded_modules(env, own), {own}, "modules of main")


def own_root(env, name):
    """A folder with the program and its libraries, as a container has them: none of them lies at its path in ours."""
    root = env.temporary("root")
    source = os.path.join(env.programs, name)
    linked = subprocess.run(["ldd", source], capture_output=True, text=True, check=False).stdout
    libraries = [word for line in linked.splitlines() for word in line.split() if word.startswith("/")]
    if not libraries:
        raise Skip("ldd does not tell the libraries of a program")
    for path, to in ((source, "/" + name), *zip(libraries, libraries)):
        os.makedirs(root + os.path.dirname(to), exist_ok=True)
        shutil.copy(path, root + to)
    return root


@case
def children_in_a_root_of_their_own(env):
    """Nobody can read a child's files once it is gone, but by its parent's root: and what it asked for serves the parent, too."""
    root = own_root(env, "unwind_storm")
    env.tolerate_unseen()
    recorder = Recorder(env, "--comm", "unwind_storm")
    recorder.wait_attached()

    def enter():
        default_signals()
        os.chroot(root)
        os.chdir("/")

    program = subprocess.Popen(["/unwind_storm", "/truth", "40", "4", "20"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, preexec_fn=enter)
    env.running.append(program)
    for said, answer in ((b"ready", b"g"), (b"done", b"")):
        env.check.that(program.stdout.readline().startswith(said), f"the program said {said}")
        program.stdin.write(answer)
        program.stdin.flush()
    recorder.stop()
    report = recorder.report()
    program.kill()
    unreadable = [(wait["pid"], frame["module"]) for wait in report.waits for frame in wait["user"] if frame.get("why") == "file unreadable"]
    env.check.equal(unreadable, [], "frames in files that could not be read")
    children = {wait["pid"] for wait in report.waits if "child_site" in [frame["name"] for frame in wait["user"]]}
    others = {tuple(frame["name"] or frame.get("why") for frame in wait["user"]) for wait in report.waits if wait["pid"] not in children}
    env.check.that(len(children) >= 20, f"{len(children)} of 40 children have their function, and others {others} {report.coverage['lost']}")


@case
def program_called_deleted(env):
    path = copy_of_program(env, "program (deleted)")
    env.check.equal(recorded_modules(env, path), {path}, "modules of main")


@case
def recorder_in_a_time_namespace(env):
    """With an offset of either clock: one sentence and status 3; without one it records."""
    for offset, status in ((), 0), (("--monotonic", "86400"), 3), (("--boottime", "1000"), 3):
        before = ["unshare", "--fork", "--time", *offset]
        if subprocess.run([*before, "true"], capture_output=True, check=False).returncode != 0:
            raise Skip("unshare makes no time namespace here")
        for verb in (["record", "-d", "0.1", "-o", env.temporary("x.offcpu")], ["hist", "0.1", "1"],
                     ["events", "-d", "0.1"]):
            done = subprocess.run([*before, env.offcpu, *verb], stdin=subprocess.DEVNULL, capture_output=True,
                                  text=True, timeout=60, check=False)
            env.check.equal(done.returncode, status, f"{verb[0]} {offset}: {done.stderr[-300:]}: status")
            if status:
                env.check.that(done.stderr.count("\n") == 1 and "time namespace" in done.stderr,
                               f"{verb[0]} says {done.stderr!r}")


@case
def recorder_without_address_space(env):
    """However little there is: it records, or says why not."""
    for megabytes in (16, 24, 32, 48, 64, 82, 83, 84, 85, 96, 128, 192, 256, 512):
        out = env.temporary("x.offcpu")
        done = subprocess.run(["prlimit", f"--as={megabytes << 20}", env.offcpu, "record", "-d", "0.1", "-o", out],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        env.check.that(done.returncode in (0, 1, 3, 4, 127), f"{megabytes} MiB: {done.returncode}: {done.stderr[-300:]}")
        env.check.that(done.stderr.strip(), f"{megabytes} MiB: says nothing")


@case
def kernel_functions_are_those_of_kallsyms(env):
    """The kernel is asked for each by itself where it answers: with the names and modules that it lists."""
    with open("/proc/kallsyms", encoding="ascii") as file:
        listed = {(words[2], words[3] if len(words) > 3 else "[kernel]") for words in map(str.split, file)}
    recorder = Recorder(env, "-a", "-d", "1")
    recorder.wait()
    frames = {(frame["name"], frame["module"]) for wait in recorder.report().waits for frame in wait["kernel"] or []
              if frame["name"] and frame["module"]}
    env.check.that(len(frames) > 30, f"{len(frames)} functions")
    # a BPF program of somebody else may have come or gone
    env.check.equal([frame for frame in frames - listed if frame[1] != "[bpf]"], [], "not listed so")
