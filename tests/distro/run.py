#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Builds and uses offcpu in fresh roots of current distributions, on this kernel; prints TAP.

usage: tests/distro/run.py [--all | SYSTEM...]      (--list names them)

With --all (or OFFCPU_TEST_ALL=1) or names, in each of these systems: `./bootstrap build` of the last commit without a
warning, doctor, agent --check, the demo, live cases, unit tests; the Debian packages are built there, installed in
another root, and used.  Without arguments the packages of this machine, which the suite `package` left in
build/packages, are installed and used in one released system, which the last commit's hash
chooses.

Roots and compiled objects are kept in ${XDG_CACHE_HOME:-~/.cache}/offcpu-distro, so a system's first run takes minutes
longer and needs its archive: Debian's as apt of this machine has it, Ubuntu's as mmdebstrap knows it.
"""
import argparse
import functools
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

from lib import ROOT, Skip, Wrong, clone, expect, last_commit, need_root, need_tools, run  # noqa: E402

CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "offcpu-distro"
PACKAGES = ROOT / "build" / "packages"
DEBIAN_KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
UBUNTU_KEYS = "/usr/share/keyrings/ubuntu-archive-keyring.gpg"
# name: suite, components, keys
SYSTEMS = {
    "debian-12": ("bookworm", "main", DEBIAN_KEYS),
    "debian-13": ("trixie", "main", DEBIAN_KEYS),
    "debian-testing": ("testing", "main", DEBIAN_KEYS),
    "ubuntu-24.04": ("noble", "main,universe", UBUNTU_KEYS),
}
# What bootstrap does not install: objects kept between runs, packages, leaving the old root.
TOOLS = "ca-certificates,git,mount,ccache,build-essential,debhelper"
LIBRARIES = ["libbpf1", "libc6", "libglib2.0-0t64", "libglib2.0-0", "libsqlite3-0", "gcc", "clang"]
FEW_CASES = ["nanosleep", "futex_contention", "killed_leaves_nothing_loaded"]
CASES = FEW_CASES + ["asleep_throughout", "unwind_plain_chain", "waker_is_the_timer", "chain_by_a_signal",
                     "locks_of_all_kinds", "slow_file_operations", "socket_unix", "looked_at_by_bpf", "language_python",
                     "request_plain", "exec_from_the_first_thread"]
ENVIRONMENT = {"PATH": "/usr/lib/ccache:/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/root",
               "DEBIAN_FRONTEND": "noninteractive", "CCACHE_DIR": "/var/cache/ccache", "TERM": "dumb"}
# As a container's runtime does it: in a chroot the kernel's paths would begin outside.
ENTER = """
root=$1 source=$2; shift 2
mount --rbind "$root" "$root"
for dir in proc sys dev; do mount --rbind "/$dir" "$root/$dir"; done
if [ "$source" ]; then mkdir -p "$root/root/source"; mount --bind "$source" "$root/root/source"; fi
cd "$root"; pivot_root . mnt; cd /; umount -l /mnt
exec "$@"
"""


class System:
    """One of the matrix, and what earlier points left for later ones."""

    def __init__(self, name, folder):
        self.name = name
        self.suite, self.components, self.keys = SYSTEMS[name]
        self.root = CACHE / name
        self.plain = CACHE / (name + ".plain")
        self.fresh = folder / name
        self.source = self.root / "root" / "offcpu"
        self.is_built = False
        self.debs = []

    def inside(self, *argv, root=None, source=""):
        return run("unshare", "--mount", "--propagation", "private", "sh", "-ec", ENTER, "sh",
                   root or self.root, source, *argv, env=ENVIRONMENT)

    def in_source(self, script):
        return self.inside("sh", "-ec", "cd /root/offcpu; " + script)

    def in_fresh(self, script, source=""):
        return self.inside("sh", "-ec", script, root=self.fresh, source=source)

    def need_root(self):
        if not self.root.exists():
            raise Skip("there is no root")

    def need_build(self):
        if not self.is_built:
            raise Skip("it was not built")

    def need_fresh(self):
        if not self.fresh.exists():
            raise Skip("it is not installed")


@functools.lru_cache(None)
def archive_of_debian():
    """The address that this machine's apt has for it; "": none."""
    if not shutil.which("apt-get"):
        return ""
    said = run("apt-get", "indextargets", "--format", "$(ORIGIN)\t$(RELEASE)\t$(REPO_URI)", "Created-By: Packages")
    rows = [line.split("\t") for line in said.splitlines()]
    return next((uri for origin, release, uri in rows if origin == "Debian" and "-" not in release), "")


def archive_keys(system):
    """Debian 13 has Ubuntu's, in a package that Debian 12 lacks."""
    kept = CACHE / Path(system.keys).name
    if Path(system.keys).exists():
        return system.keys
    if system.keys == DEBIAN_KEYS:
        raise Skip(f"{system.keys} is missing (package debian-archive-keyring)")
    if not kept.exists():
        with tempfile.TemporaryDirectory(prefix="offcpu-keys-") as folder:
            other = System("debian-13", Path(folder))
            make_root(other, other.fresh, "minbase", "ubuntu-keyring")
            shutil.copy(other.fresh / system.keys.lstrip("/"), kept)
    return kept


def need_means():
    need_root()
    need_tools("mmdebstrap", "unshare", "pivot_root", "dpkg-query")


def make_root(system, path, variant, include):
    """A root that is whole is moved to its place, so one that was interrupted is made anew."""
    CACHE.mkdir(parents=True, exist_ok=True)
    uri = archive_of_debian() if system.keys == DEBIAN_KEYS else ""
    mirror = [f"deb {uri} {system.suite} {system.components.replace(',', ' ')}"] if uri else []
    part = path.with_name(path.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        run("mmdebstrap", "--mode=root", f"--variant={variant}", f"--components={system.components}",
            f"--keyring={archive_keys(system)}", '--aptopt=APT::Sandbox::User "root"',
            # an archive's mirror may be older than its index is valid for
            '--aptopt=Acquire::Check-Valid-Until "false"', f"--include={include}", "--skip=cleanup/apt/lists",
            system.suite, part, *mirror, env={**os.environ, "PATH": ENVIRONMENT["PATH"]})
    except Wrong as why:
        shutil.rmtree(part, ignore_errors=True)
        said = [line for line in str(why).splitlines() if line.startswith(("E:", "Err:"))] or ["it does not say why"]
        raise Skip(f"mmdebstrap does not get {system.suite}: {said[0]}") from why
    shutil.copy("/etc/resolv.conf", part / "etc" / "resolv.conf")
    (part / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
    (part / "usr/sbin/policy-rc.d").chmod(0o755)
    part.rename(path)


def a_root_is_made(system):
    need_means()
    if system.root.exists():
        return "as it was kept"
    make_root(system, system.root, "apt", TOOLS)
    return ""


def it_builds_without_a_warning(system):
    system.need_root()
    shutil.rmtree(system.source, ignore_errors=True)
    clone(system.source)
    said = system.in_source("./bootstrap build 2>&1")
    system.is_built = True
    warnings = re.findall(r"^.*warning: .*$", said, re.M)
    expect(not warnings, "\n".join(sorted(set(warnings))))
    installed = system.inside("sh", "-c", "dpkg-query -W -f='${Package} ${Version}\\n' " + " ".join(LIBRARIES) +
                              " 2>/dev/null || :")
    return ", ".join(line for line in installed.splitlines() if not line.endswith(" "))


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


def live_cases(cases, runner, inside):
    """`inside` runs a script in the root; `runner` is tests/live/run.py with its options there."""
    said = inside(runner + "".join(f" --only {case}" for case in cases) + " || :")
    failed = re.findall(r"^not ok \d+ - .*(?:\n# .*)*", said, re.M)
    expect(not failed, "\n".join(failed))
    held = re.findall(r"^ok \d+ - (?!.*# SKIP)", said, re.M)
    skipped = re.findall(r"^ok \d+ - (\S+) # SKIP", said, re.M)
    expect(len(held) + len(skipped) >= len(cases) and held, said)
    return f"{len(held)} cases" + (f"; skipped: {', '.join(skipped)}" if skipped else "")


def live_cases_hold(system):
    system.need_build()
    return live_cases(CASES, "tests/live/run.py --build build", system.in_source)


def unit_tests_hold(system):
    """Without sanitizers: the libraries are what is new here."""
    system.need_build()
    said = system.in_source("meson test -C build --no-rebuild --suite unit --timeout-multiplier 3 --print-errorlogs")
    return " ".join(re.findall(r"^Ok: +(\d+)", said, re.M)) + " programs"


def a_package_is_built(system):
    system.need_build()
    system.in_source("tools/build-deb")
    system.debs = sorted((system.source / "build-deb").glob("*.deb"))
    names = {path.name.split("_")[0] for path in system.debs} - {"offcpu-dbgsym"}
    expect(names == {"offcpu", "offcpu-agent"}, f"not these packages: {names}")


def a_package_of_this_machine_is_there(system):
    need_means()
    found = sorted(PACKAGES.glob("*.deb"))
    if not found:
        raise Skip("the suite `package` has left none in build/packages")
    if not all(last_commit()[:12] in path.name for path in found):
        raise Skip("build/packages has those of another commit; the suite `package` makes them")
    system.debs = found
    return found[0].name


def newest_libc(system):
    return system.inside("dpkg-query", "-W", "-f", "${Version}", "libc6", root=system.plain).strip()


def the_package_installs_in_a_fresh_root(system):
    """The root is made once and copied: what is installed in it would not be fresh the next time."""
    if not system.debs:
        raise Skip("there is no package")
    if not system.plain.exists():
        make_root(system, system.plain, "minbase", "apt,mount")
    own = run("dpkg-query", "-W", "-f", "${Version}", "libc6").strip() if system.debs[0].parent == PACKAGES else "0"
    if subprocess.run(["dpkg", "--compare-versions", own, "le", newest_libc(system)], check=False).returncode:
        raise Skip(f"its libc is older than {own}, of which the package was built")
    run("cp", "-a", "--reflink=auto", system.plain, system.fresh)
    for path in system.debs:
        shutil.copy(path, system.fresh / "root")
    packages = "/root/offcpu_*.deb /root/offcpu-agent_*.deb python3-minimal"
    options = "-y --no-install-recommends"
    system.in_fresh(f"apt-get update || :; apt-get install -s {options} {packages}")
    try:
        system.in_fresh(f"apt-get install --download-only {options} {packages}")
    except Wrong as why:
        shutil.rmtree(system.fresh)
        raise Skip("the archive gives no libraries: " + str(why).splitlines()[-1]) from why
    system.in_fresh(f"apt-get install {options} {packages}")
    return system.in_fresh("dpkg-query -W -f='${Package} ${Version}\\n' libbpf1").strip()


def what_is_installed_records_and_reports(system):
    system.need_fresh()
    said = system.in_fresh("offcpu record -o /root/t.offcpu -- sleep 0.2; offcpu report /root/t.offcpu")
    # where main() itself sleeps, as Ubuntu's has it, that is housekeeping
    expect(re.search(r"sleeps until a timer|Idle, folded: 20\d ms", said), said)
    said = system.in_fresh("offcpu doctor || offcpu doctor")
    expect("All is well." in said, said)


def what_is_installed_keeps_a_history(system):
    system.need_fresh()
    options = "--set store.dir=/root/history --set agent.window=1s"
    said = system.in_fresh(f"offcpu agent --check {options}; timeout -s INT 4 offcpu agent {options} || test $? = 124;"
                           "offcpu report --history=/root/history")
    expect("It can run" in said and "From the history" in said, said)


def live_cases_hold_of_what_is_installed(system):
    """With the programs that were built for it; in a root of its own, those of this machine."""
    system.need_fresh()
    source = ROOT if system.debs[0].parent == PACKAGES else system.source
    system.in_fresh("apt-get install -y --no-install-recommends python3")
    runner = "/root/source/tests/live/run.py --offcpu /usr/bin/offcpu --programs /root/source/build/tests/live"
    return live_cases(FEW_CASES, runner, lambda script: system.in_fresh(script, source))


INSTALLED_POINTS = [the_package_installs_in_a_fresh_root, what_is_installed_records_and_reports,
                    what_is_installed_keeps_a_history, live_cases_hold_of_what_is_installed]
SHORT_POINTS = [a_package_of_this_machine_is_there] + INSTALLED_POINTS
POINTS = [a_root_is_made, it_builds_without_a_warning, doctor_finds_all_well, the_agent_can_run,
          the_demo_finds_its_lock, live_cases_hold, unit_tests_hold, a_package_is_built] + INSTALLED_POINTS


def try_point(number, system, point):
    """True when it holds, or cannot be tried here."""
    name = f"{system.name}: {point.__name__.replace('_', ' ')}"
    begun = time.monotonic()
    try:
        said = point(system)
        print(f"ok {number} - {name}" + (f" ({said})" if said else "") + f", {time.monotonic() - begun:.0f} s")
    except Skip as why:
        print(f"ok {number} - {name} # SKIP {why}")
    except (Wrong, subprocess.TimeoutExpired) as why:
        print(f"not ok {number} - {name}")
        for line in str(why).splitlines()[-60:]:
            print(f"# {line}")
        return False
    finally:
        sys.stdout.flush()
    return True


def codename():
    """Of this machine: what is built here is installed in its like by the suite `package`."""
    found = re.search(r"^VERSION_CODENAME=(\S+)$", Path("/etc/os-release").read_text(encoding="utf-8"), re.M)
    return found.group(1) if found else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--all", action="store_true", default=os.environ.get("OFFCPU_TEST_ALL") == "1")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("systems", nargs="*", metavar="SYSTEM")
    args = parser.parse_args()
    unknown = [name for name in args.systems if name not in SYSTEMS]
    if unknown:
        parser.error(f"no system is called {unknown[0]}; there are: {' '.join(SYSTEMS)}")
    if args.list:
        print("\n".join(SYSTEMS))
        return 0
    names, points = args.systems or (list(SYSTEMS) if args.all else []), POINTS
    if not names:
        # testing is another system every day: what breaks there need not be what this commit changed
        others = [name for name, (suite, _, _) in SYSTEMS.items() if suite not in (codename(), "testing")]
        names, points = [others[int(last_commit(), 16) % len(others)]], SHORT_POINTS
        print(f"# this run has {names[0]} and what was built here; `tests/distro/run.py --all` builds in all of them")
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
