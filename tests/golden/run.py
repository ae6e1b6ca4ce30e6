#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Runs the golden cases: what the built program prints, byte by byte.

    run.py OFFCPU MAKE_RECORDING [--update] [--only NAME]

A case is a folder AREA/NAME with `cmd`, the arguments in shell quoting, one command a line, run
in an empty folder that holds the recording as trace.offcpu, with wakers as wakers.offcpu, with
chains of them as chains.offcpu, one of threads in one another's way as crowd.offcpu, two with goroutines as tasks.offcpu and tasks-more.offcpu,
one with names that deceive as hostile.offcpu, one of a closed cycle as clerks.offcpu, one with requests as requests.offcpu, and two that differ as before.offcpu
and after.offcpu; where it has --history these many times over as a history, in the folder history.  Beside it `stdout`, and where they are not empty or 0, `stderr` and `exit` of the last command.  --update rewrites these from what
the program does now: read the difference before committing it.  The program's own version, another one in each build, is read as VERSION.  Prints TAP.
"""
import argparse
import difflib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

VERSION = b"0.1.0"
HERE = pathlib.Path(__file__).resolve().parent


def version_of(offcpu):
    return subprocess.run([offcpu, "--version"], stdout=subprocess.PIPE, check=True).stdout.split()[1]


def make_recordings(make_recording, folder):
    subprocess.run([make_recording, os.path.join(folder, "trace.offcpu")], check=True)
    for more in ("wakers", "chains", "crowd", "before", "after", "cpu", "tasks", "tasks-more", "hostile", "requests", "clerks"):
        subprocess.run([make_recording, os.path.join(folder, f"{more}.offcpu"), more], check=True)
    subprocess.run([make_recording, os.path.join(folder, "history"), "history"], check=True)


def run_case(case, offcpu, recordings, version):
    """The three results of a case, as bytes."""
    with tempfile.TemporaryDirectory() as folder:
        leave = () if "--history" in (case / "cmd").read_text() else ("history",)
        shutil.copytree(recordings, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*leave))
        env = {"PATH": os.environ["PATH"], "TZ": "UTC", "LC_ALL": "C.UTF-8", "HOME": folder}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                env[name] = os.environ[name]
        out = err = b""
        status = 0
        for line in (case / "cmd").read_text().splitlines():
            words = shlex.split(line, comments=True)
            if not words:
                continue
            if words[0] == "write":  # write FILE TEXT: a file that is no recording
                pathlib.Path(folder, words[1]).write_text(words[2])
                continue
            if words[0] == "cat":  # what a command left in a file
                out += pathlib.Path(folder, words[1]).read_bytes()
                continue
            done = subprocess.run([offcpu] + words, cwd=folder, env=env, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=60)
            out, err, status = out + done.stdout, err + done.stderr, done.returncode
    exit_text = b"" if status == 0 else b"%d\n" % status
    return {"stdout": out.replace(version, VERSION), "stderr": err, "exit": exit_text}


def differences(case, results):
    lines = []
    for name, got in results.items():
        path = case / name
        want = path.read_bytes() if path.exists() else b""
        if got != want:
            lines += difflib.unified_diff(want.decode(errors="replace").splitlines(),
                                          got.decode(errors="replace").splitlines(),
                                          f"{name} wanted", f"{name} got", lineterm="")
            lines = lines or [f"{name} differs in its last newline"]
    if (case / "is-json").exists():
        try:
            json.loads(results["stdout"])
        except ValueError as error:
            lines.append(f"no JSON: {error}")
    return lines


def update(case, results):
    for name, got in results.items():
        path = case / name
        if got or name == "stdout":
            path.write_bytes(got)
        elif path.exists():
            path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("offcpu")
    parser.add_argument("make_recording")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    offcpu, make_recording = os.path.abspath(args.offcpu), os.path.abspath(args.make_recording)
    cases = sorted(path.parent for path in HERE.glob("*/*/cmd") if args.only in str(path.parent.relative_to(HERE)))
    if not cases:
        sys.exit("no such case")
    print(f"1..{len(cases)}")
    version = version_of(offcpu)
    failed = 0
    with tempfile.TemporaryDirectory() as recordings:
        make_recordings(make_recording, recordings)
        for number, case in enumerate(cases, 1):
            results = run_case(case, offcpu, recordings, version)
            if args.update:
                update(case, results)
            lines = differences(case, results)
            failed += bool(lines)
            print(f"{'not ' if lines else ''}ok {number} {case.relative_to(HERE)}", flush=True)
            for line in lines:
                print(f"# {line}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
