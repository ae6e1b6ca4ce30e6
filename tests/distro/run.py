#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Builds and uses offcpu in fresh roots of current distributions, on this kernel; prints TAP.

usage: tests/distro/run.py [--all | SYSTEM...]      (--list names them; without arguments one of them, chosen by the commit)

Each system: a root by mmdebstrap, there `./bootstrap build` of the last commit, doctor, agent --check, the demo, live cases.  With --all
or a name the Debian package, too: built there, installed in another root, and used.  Roots and objects are kept in
${XDG_CACHE_HOME:-~/.cache}/offcpu-distro, so the first run of a system takes minutes longer.
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "package"))

from lib import Skip, Wrong, clone, expect, last_commit, need_root, need_tools, run  # noqa: E402

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "offcpu-distro"
DEBIAN_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
UBUNTU_KEYS = "/usr/share/keyrings/ubuntu-archive-keyring.gpg"
# name: suite, components, keys.  mmdebstrap knows where their archives are.
SYSTEMS = {
    "debian-13": ("trixie", "main", DEBIAN_KEYS),
    "debian-12": ("bookworm", "main", DEBIAN_KEYS),
    "debian-testing": ("testing", "main", DEBIAN_KEYS),
    "ubuntu-24.04": ("noble", "main,universe", UBUNTU_KEYS),
    "debian-sid": ("sid", "main", DEBIAN_KEYS),
}
# What bootstrap has no need of: objects kept between runs, packages.
TOOLS = "ca-certificates,git,ccache,debhelper"
LIBRARIES = ["libbpf1", "libc6", "libglib2.0-0t64", "libglib2.0-0", "libsqlite3-0", "gcc", "clang"]
CASES = ["nanosleep", "futex_contention", "asleep_throughout", "unwind_plain_chain", "waker_is_the_timer", "chain_by_a_signal",
         "locks_of_all_kinds", "slow_file_operations", "socket_unix", "looked_at_by_bpf", "language_python", "request_plain",
         "exec_from_the_first_thread", "killed_leaves_nothing_loaded"]
MOUNTS = 'mount --rbind /proc "$1/proc"; mount --rbind /sys "$1/sys"; mount --rbind /dev "$1/dev"; cd "$1"; shift; exec chroot . "$@"'
ENVIRONMENT = {"PATH": "/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root",
               "CCACHE_DIR": "/var/cache/ccache", "TERM": "dumb"}


class System:
    """One of the matrix, and what earlier points left for later ones."""

    def __init__(self, name, folder):
        self.name = name
        self.suite, self.components, self.keys = SYSTEMS[name]
        self.root = CACHE / name
        self.source = self.root / "root" / "offcpu"
        self.folder = folder
        self.is_built = False
        self.debs = []

    def inside(self, *argv, root=None):
        return run("unshare", "--mount", "--propagation", "private", "sh", "-ec", MOUNTS, "sh", root or self.root, *argv, env=ENVIRONMENT)

    def in_source(self, script):
        return self.inside("sh", "-ec", "cd /root/offcpu; " + script)

    def archive_keys(self):
        """Debian 13 has Ubuntu's, in a package that Debian 12 lacks."""
        kept = CACHE / Path(self.keys).name
        if Path(self.keys).exists():
            return self.keys
        if not kept.exists():
            other = System("debian-13", self.folder)
            expect(other.keys != self.keys, f"{self.keys} is missing (package debian-archive-keyring)")
            if not other.root.exists():
                other.make_root(other.root, "apt", TOOLS)
            other.inside("sh", "-c", "apt-get update -qq && apt-get install -y -qq --no-install-recommends ubuntu-keyring")
            shutil.copy(other.root / self.keys.lstrip("/"), kept)
        return kept

    def make_root(self, path, variant, include):
        """A root that is whole is moved to its place, so one that was interrupted is made anew."""
        keys = self.archive_keys()
        part = path.with_name(path.name + ".part")
        shutil.rmtree(part, ignore_errors=True)
        run("mmdebstrap", "--mode=root", f"--variant={variant}", f"--components={self.components}", f"--keyring={keys}",
            # an archive's mirror may be older than its index is valid for
            '--aptopt=Acquire::Check-Valid-Until "false"', *([f"--include={include}"] if include else []), "--skip=cleanup/apt/lists", self.suite, part, env={**os.environ, "PATH": ENVIRONMENT["PATH"]})
        shutil.copy("/etc/resolv.conf", part / "etc" / "resolv.conf")
        (part / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
        (part / "usr/sbin/policy-rc.d").chmod(0o755)
        part.rename(path)

    def need_build(self):
        if not self.is_built:
            raise Skip("it was not built")


def a_root_is_made(system):
    need_root()
    need_tools("mmdebstrap", "unshare", "git")
    CACHE.mkdir(parents=True, exist_ok=True)
    if system.root.exists():
        return "as it was kept"
    system.make_root(system.root, "apt", TOOLS)
    return ""


def it_builds_without_a_warning(system):
    if not system.root.exists():
        raise Skip("there is no root")
    shutil.rmtree(system.source, ignore_errors=True)
    clone(system.source)
    said = system.in_source("./bootstrap build 2>&1")
    system.is_built = True
    warnings = re.findall(r"^.*warning: .*$", said, re.M)
    expect(not warnings, "\n".join(sorted(set(warnings))))
    installed = system.inside("sh", "-c", "dpkg-query -W -f='${Package} ${Version}\\n' " + " ".join(LIBRARIES) + " 2>/dev/null || :")
    return ", ".join(installed.splitlines())


def doctor_finds_all_well(system):
    system.need_build()
    said = system.in_source("build/offcpu doctor || build/offcpu doctor")
    expect(said.rstrip().endswith("All is well."), said)


def the_agent_can_run(system):
    system.need_build()
    said = system.in_source("build/offcpu agent --check --set store.dir=/root/history")
    expect("the programs are loaded" in said and "It can run" in said, said)


def the_demo_finds_its_lock(system):
    system.need_build()
    said = system.in_source("./bootstrap demo")
    expect("inventory_lock" in said, said)


def live_cases_hold(system):
    """Those that failed once are tried again by themselves: a build beside them may take all CPUs."""
    system.need_build()
    only = " ".join("--only " + case for case in CASES)
    said = system.in_source(f"tests/live/run.py --build build {only} || :")
    failed = re.findall(r"^not ok \d+ - (\S+?)(?=[:\s]|$)", said, re.M)
    if failed:
        said = system.in_source("tests/live/run.py --build build " + " ".join("--only " + case for case in failed))
    expect(re.search(r"^ok ", said, re.M), said)
    return f"{len(CASES)} cases" + (", at the second try: " + ", ".join(failed) if failed else "")


def a_package_is_built(system):
    system.need_build()
    system.in_source("tools/build-deb")
    system.debs = sorted((system.source / "build-deb").glob("*.deb"))
    expect({path.name.split("_")[0] for path in system.debs} == {"offcpu", "offcpu-agent", "offcpu-dbgsym"}, f"not these packages: {system.debs}")


def the_package_works_in_a_fresh_root(system):
    """Which is made once and copied: what is installed in it would not be fresh the next time."""
    if not system.debs:
        raise Skip("there is no package")
    kept, fresh = CACHE / (system.name + ".plain"), system.folder / system.name
    if not kept.exists():
        system.make_root(kept, "minbase", "")
    run("cp", "-a", "--reflink=auto", kept, fresh)
    for path in system.debs:
        shutil.copy(path, fresh / "root")
    said = system.inside("sh", "-ec", "apt-get update -qq; apt-get install -y --no-install-recommends /root/offcpu_*.deb >/root/log 2>&1 || { cat /root/log; exit 1; };"
                         "offcpu record -d 1 -o /root/t.offcpu; offcpu report /root/t.offcpu; offcpu doctor || offcpu doctor;"
                         "offcpu agent --check --set store.dir=/root/history", root=fresh)
    expect("time that matters" in said or "Little to find" in said or "processes" in said, said)
    expect("All is well." in said and "It can run" in said, said)
    shutil.rmtree(fresh)


POINTS = [a_root_is_made, it_builds_without_a_warning, doctor_finds_all_well, the_agent_can_run, the_demo_finds_its_lock, live_cases_hold]
PACKAGE_POINTS = [a_package_is_built, the_package_works_in_a_fresh_root]


def try_point(number, system, point):
    """True when it holds, or cannot be tried here."""
    name = f"{system.name}: {point.__name__.replace('_', ' ')}"
    begun = time.monotonic()
    try:
        said = point(system)
        print(f"ok {number} - {name}" + (f" ({said})" if said else "") + f", {time.monotonic() - begun:.0f} s", flush=True)
    except Skip as why:
        print(f"ok {number} - {name} # SKIP {why}", flush=True)
    except (Wrong, subprocess.TimeoutExpired) as why:
        print(f"not ok {number} - {name}", flush=True)
        for line in str(why).splitlines()[-60:]:
            print(f"# {line}", flush=True)
        return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("systems", nargs="*", metavar="SYSTEM")
    args = parser.parse_args()
    unknown = [name for name in args.systems if name not in SYSTEMS]
    if unknown:
        parser.error(f"no system is called {unknown[0]}; there are: {' '.join(SYSTEMS)}")
    if args.list:
        print("\n".join(SYSTEMS))
        return 0
    names = list(SYSTEMS) if args.all else args.systems
    points = POINTS + PACKAGE_POINTS if names else POINTS
    if not names:
        names = [list(SYSTEMS)[int(last_commit(), 16) % len(SYSTEMS)]]
        print(f"# of {len(SYSTEMS)} systems this run has {names[0]}; `tests/distro/run.py --all` has all")
    number = failed = 0
    with tempfile.TemporaryDirectory(prefix="offcpu-distro-") as folder:
        for name in names:
            system = System(name, Path(folder))
            for point in points:
                number += 1
                failed += not try_point(number, system, point)
    print(f"1..{number}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
