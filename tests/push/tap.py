# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""TAP points, and the program as a test runs it."""
import os
import subprocess
import sys

count = failed = 0


def point(name, error=None, skip=None):
    global count, failed
    count += 1
    failed += bool(error)
    print(f"{'not ok' if error else 'ok'} {count} - {name}{f' # SKIP {skip}' if skip else ''}", flush=True)
    for line in str(error or "").splitlines()[:20]:
        print(f"# {line[:300]}")


def same(name, got, want):
    point(name, None if got == want else f"got    {got}\nwanted {want}")


def contains(name, text, *words):
    missing = [word for word in words if word not in text]
    point(name, f"no {missing} in: {text}" if missing else None)


def end():
    print(f"1..{count}")
    sys.exit(1 if failed else 0)


class Program:
    def __init__(self, offcpu):
        self.offcpu = offcpu

    def run(self, *words, env=None, timeout=120):
        """(exit status, standard output, standard error)"""
        clean = {key: value for key, value in os.environ.items()
                 if not key.startswith("OFFCPU_") and not key.lower().endswith("_proxy")}
        done = subprocess.run([self.offcpu, *map(str, words)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**clean, **(env or {})}, timeout=timeout, check=False)
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
