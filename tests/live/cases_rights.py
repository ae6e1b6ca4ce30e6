# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The capabilities that README.md names suffice, without root; doctor says what each one is for."""

import os
import re
import shutil
import subprocess

from cases_unwind import ALLOWED, check_all_complete, check_chain
from check import check_account
from lib import Program, Recorder, Skip, case

DOCUMENTED = ("bpf", "perfmon", "sys_ptrace", "dac_read_search", "syslog")
NOBODY = "65534"


def with_capabilities(*names):
    """The beginning of a command that has these capabilities and no others, and is not root."""
    if not shutil.which("setpriv"):
        raise Skip("setpriv is not here")
    wanted = ",".join(["-all", *("+" + name for name in names)])
    return ["setpriv", "--reuid", NOBODY, "--regid", NOBODY, "--clear-groups", "--inh-caps", wanted,
            "--ambient-caps", wanted, "--bounding-set", wanted]


def run_with(env, capabilities, *args):
    return subprocess.run([*with_capabilities(*capabilities), env.offcpu, *args], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=60, check=False)


def record_with(env, capabilities, prepare=lambda program: None):
    """The recording of a program of root's whose files nobody else may read."""
    out = os.path.join(env.temporary("out"), "recording.offcpu")
    os.mkdir(os.path.dirname(out))
    os.chmod(os.path.dirname(out), 0o777)
    os.chmod(env.directory, 0o755)
    directory = env.temporary("closed")
    os.mkdir(directory, 0o700)
    shutil.copyfile(os.path.join(env.programs, "unwind_calls"), os.path.join(directory, "unwind_calls"))
    os.chmod(os.path.join(directory, "unwind_calls"), 0o700)
    programs, env.programs = env.programs, directory
    program = Program(env, "unwind_calls", "chain", 20, 5000)
    env.programs = programs
    prepare(program)
    recorder = Recorder(env, "-p", program.pid, "--exact", out=out, before=with_capabilities(*capabilities))
    recorder.wait_attached()
    program.go()
    program.wait_done()
    recorder.stop()
    report = recorder.report()
    program.finish()
    return report, program.truth()


@case
def documented_capabilities_suffice(env):
    report, truth = record_with(env, DOCUMENTED)
    check_account(env.check, report, allowed_losses=ALLOWED)
    check_all_complete(env.check, report)
    check_chain(env.check, report, truth[0])
    kernel = [frame["name"] for wait in report.waits for frame in wait["kernel"]]
    env.check.that(kernel and all(kernel), f"kernel frames without a name: {kernel}")


@case
def a_deleted_program_needs_checkpoint_restore(env):
    report, truth = record_with(env, (*DOCUMENTED, "checkpoint_restore"), lambda program: os.unlink(program.path))
    check_account(env.check, report, allowed_losses=ALLOWED)
    check_all_complete(env.check, report)
    check_chain(env.check, report, truth[0])


@case
def doctor_names_each_missing_right(env):
    os.chmod(env.directory, 0o755)
    for missing in ("sys_ptrace", "dac_read_search", "checkpoint_restore"):
        had = [name for name in (*DOCUMENTED, "checkpoint_restore") if name != missing]
        said = run_with(env, had, "doctor", "--no-test").stdout
        refused = set(re.findall(r"^  no .*\(CAP_(\w+)\)", said, re.MULTILINE))
        # the links in map_files are of use only to who may look at the process
        env.check.equal(refused, {missing.upper()}, f"without {missing} doctor refuses\n{said}")


@case
def missing_rights_are_told(env):
    """Of a container with two capabilities, where /proc hides other users' processes, and where no tracefs is."""
    program = Program(env, "sleeper", "one")
    os.chmod(env.directory, 0o755)
    hidden = ["unshare", "--mount", "sh", "-c", 'mount -t proc -o hidepid=2 proc /proc && exec "$@"', "sh", *with_capabilities("bpf", "perfmon"), env.offcpu]
    folder = env.temporary("out")
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    for arguments, words in (
            (("trace", "-m", "100s", "0.2"), ("kernel functions have no names: ", "other users' programs have no names ")),
            (("record", "-d", "0.2", "-p", program.pid), (f"process {program.pid} is not shown by /proc (hidepid)",)),
            (("record", "-d", "0.2", "-p", 4194304), ("process 4194304 does not exist",))):
        said = subprocess.run([*hidden, *map(str, arguments)], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False).stderr
        env.check.that(all(text in said for text in words), f"{arguments}: said {said!r}, not {words!r}")
    program.go()
    program.wait_done()
    program.finish()
