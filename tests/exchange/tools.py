#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What other tools printed of one program, read by us: the sums are those that the tools say themselves.

    tools.py OFFCPU

The files in tools/ are real: a thread `relay` sleeps 20 ms and writes a byte, a thread `reader` reads it (bcc's tools under Linux 6.1,
the others under 6.18), of Go the profiles of a program whose goroutines contend for a mutex, and of gdb two snapshots of threads of which
one waits for another one's mutex.  Prints TAP.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
from decimal import Decimal

HERE = pathlib.Path(__file__).resolve().parent / "tools"
US = 1000
count = failed = 0


def point(name, good, why="", skip=None):
    global count, failed
    count += 1
    failed += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}{f' # SKIP {skip}' if skip else ''}")
    for line in "" if good else str(why).splitlines():
        print(f"# {line}")


def waits_of(offcpu, path):
    done = subprocess.run([offcpu, "export", "-f", "json", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode:
        point(f"{path.name} is read", False, done.stderr.decode())
        return []
    return json.loads(done.stdout)["waits"]


def names(wait, key):
    return [frame["name"] or "" for frame in wait[key]]


def numbers_alone(text):
    return sum(int(number) for number in re.findall(r"^\s+(\d+)$", text, re.M)) * US


def last_column(text):
    return sum(int(line.rsplit(" ", 1)[1]) for line in text.splitlines()) * US


def of_bpftrace(text):
    return sum(int(number) for number in re.findall(r"\]: (\d+)$", text, re.M))


def of_sched_switch(text):
    """From each switch away from a thread to the next one to it.  Of one process most of these were not traced, so what is open at the end is left out."""
    gone, sum_ns = {}, Decimal(0)
    for time, away, to in re.findall(r"(\d+\.\d+): +sched:sched_switch:.* prev_pid=(\d+) .* next_pid=(\d+)", text):
        gone[away] = Decimal(time)
        sum_ns += (Decimal(time) - gone.pop(to)) * 10**9 if to in gone else 0
    return int(sum_ns)


def of_gdb(text):
    """Stacks: how long a thread stood in one is not told."""
    return len(re.findall(r"^#0 ", text, re.M))


def of_go(path):
    if not shutil.which("go"):
        return None
    raw = subprocess.run(["go", "tool", "pprof", "-raw", "-symbolize=none", str(path)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         check=True).stdout.decode()
    return sum(int(delay) for delay in re.findall(r"^ +\d+ +(\d+): ", raw, re.M))


def check_sum(offcpu, path, truth):
    if truth is None:
        point(f"{path.name}: sums", True, skip="no go")
        return
    waits = waits_of(offcpu, path)
    got = sum(wait["count"] if "gdb" in path.name else wait["off_cpu_ns"] for wait in waits)
    unit = "looks" if "gdb" in path.name else "ns"
    point(f"{path.name}: {truth} {unit} in {len(waits)} rows", truth and got == truth, f"we read {got} {unit}")


def check_parts(offcpu, path):
    """The kernel's frames are the kernel's, whether or not the tool draws a line between them and the user's."""
    for wait in waits_of(offcpu, path):
        if wait["comm"] not in ("relay", "reader"):
            continue
        kernel, user = names(wait, "kernel"), names(wait, "user")
        good = any("schedule" in name for name in kernel) and not any("schedule" in name or name.startswith("do_") for name in user)
        point(f"{path.name}: user and kernel of {wait['comm']}", good and user, f"user {user}\nkernel {kernel}")


def check_waker(offcpu, path):
    done = subprocess.run([offcpu, "export", "-f", "folded", "--wakers", path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    line = next((line for line in done.stdout.decode().splitlines() if line.startswith("reader")), "")
    point(f"{path.name}: relay wakes reader, in write()", re.search(r";--;.*pipe_write;.*ksys_write;.*;relay \d+$", line), line + done.stderr.decode())


def check_looks(offcpu, path):
    """No form of a report says how long, or how complete, of what nobody knows."""
    for form in ((), ("--markdown",), ("--json=summary",)):
        done = subprocess.run([offcpu, "report", *form, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        text = done.stdout.decode()
        good = "where threads stood, not for how long" in text and "complete" not in text and "0 CPUs" not in text
        point(f"{path.name}: {' '.join(('report', *form))}", good, text[:600] + done.stderr.decode())


def main():
    offcpu = sys.argv[1]
    for path in sorted(HERE.iterdir()):
        if path.suffix == ".gz":
            check_sum(offcpu, path, of_go(path))
            continue
        text = path.read_text(encoding="utf-8")
        truth = of_gdb if "gdb" in path.name else of_bpftrace if "bpftrace" in path.name else of_sched_switch if "perf" in path.name else \
            last_column if re.search(r"-d?f\.txt$", path.name) else numbers_alone
        check_sum(offcpu, path, truth(text))
        check_parts(offcpu, path)
        if truth is of_gdb:
            check_looks(offcpu, path)
        if "offwaketime" in path.name:
            check_waker(offcpu, path)
    print(f"1..{count}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
