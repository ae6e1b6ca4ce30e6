# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What the points of run.py share."""
import functools
import os
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TIMEOUT_S = 1500    # of one build on a busy machine


class Skip(Exception):
    """The point cannot be tried here; its text says why."""


class Wrong(Exception):
    """What does not hold."""


class Place:
    """Where things are built, and what earlier points left for later ones."""

    def __init__(self, folder, twice):
        self.folder = folder
        self.twice = twice
        self.static = None      # a folder with the static program
        self.debs = []

    def need_static(self):
        if not self.static:
            raise Skip("there is no static program")
        return self.static / "offcpu"

    def need_debs(self):
        if not self.debs:
            raise Skip("there are no packages")
        return self.debs


def need_tools(*names):
    for name in names:
        if not shutil.which(name):
            raise Skip(f"{name} is not installed")


def need_root():
    if os.geteuid() != 0:
        raise Skip("needs root")


def build_environment(place, flags):
    """Of a build, with -O1 in the variable `flags`: what is tested is the packaging, so only nightly runs and comparisons of bytes pay for -O2."""
    if place.twice or os.environ.get("OFFCPU_TEST_ALL") == "1":
        return None
    return {**os.environ, flags: "-O1"}


def run(*argv, status=0, env=None, cwd=ROOT):
    """What a command says on both streams; Wrong when it ends otherwise."""
    done = subprocess.run([str(a) for a in argv], cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=TIMEOUT_S, check=False)
    if done.returncode != status:
        tail = "\n".join(done.stdout.splitlines()[-25:])
        raise Wrong(f"{' '.join(str(a) for a in argv)}: status {done.returncode}\n{tail}")
    return done.stdout


@functools.lru_cache(None)
def last_commit():
    """As the first point that asks finds it: somebody may go on working meanwhile, and all is built of one commit."""
    return run("git", "rev-parse", "HEAD").strip()


def clone(folder):
    """The last commit as anybody would get it."""
    need_tools("git")
    if not (ROOT / ".git").exists():
        raise Skip("this is no clone of the repository")
    run("git", "clone", "--quiet", "--no-hardlinks", ROOT, folder)
    run("git", "checkout", "--quiet", "--detach", last_commit(), cwd=folder)
    return folder


def expect(condition, text):
    if not condition:
        raise Wrong(text)


def same_bytes(one, other):
    expect(Path(one).read_bytes() == Path(other).read_bytes(), f"{Path(one).name} differs between two builds of one commit")
