# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The rpm packages: built by rpmbuild, their files, and the program run from an empty root that they are installed in.

Where the distribution is not one of rpm's, macros.rpm stands for the macros of those, and what a package requires is not asked for.
"""
import re
import shutil
from pathlib import Path

from lib import Skip, clone, expect, need_root, need_tools, run

HERE = Path(__file__).resolve().parent
OWN = {"offcpu": ["/usr/bin/offcpu", "/usr/share/man/man1/offcpu.1", "/usr/share/bash-completion/completions/offcpu",
                  "/usr/share/zsh/site-functions/_offcpu"],
       "offcpu-agent": ["/usr/lib/systemd/system/offcpu-agent.service", "/usr/lib/systemd/system/offcpu-serve.service",
                        "/usr/lib/sysusers.d/offcpu.conf", "/etc/offcpu/agent.conf"]}
ENTER = 'mount -t proc proc "$1/proc"; mount --rbind /sys "$1/sys"; cd "$1"; shift; exec chroot . "$@"'


def rpm_is_built_from_a_clone(place):
    need_tools("rpmbuild", "rpm", "meson")
    source, top = clone(place.folder / "rpm-source"), place.folder / "rpmbuild"
    (top / "SOURCES").mkdir(parents=True)
    version = re.search(r"^Version: +(.*)$", (source / "packaging" / "offcpu.spec").read_text(), re.M).group(1)
    run("git", "archive", f"--prefix=offcpu-{version}/", "-o", top / "SOURCES" / f"offcpu-{version}.tar.gz", "HEAD", cwd=source)
    foreign = [] if Path("/etc/redhat-release").exists() else ["--nodeps", f"--load={HERE / 'macros.rpm'}"]
    run("rpmbuild", "-bb", *foreign, "--define", f"_topdir {top}", source / "packaging" / "offcpu.spec", cwd=source)
    place.rpms = {re.sub(r"-\d.*", "", path.name): path for path in sorted(top.glob("RPMS/*/*.rpm"))}
    expect(set(OWN) <= set(place.rpms), f"not these packages: {place.rpms}")


def need_rpms(place):
    if not getattr(place, "rpms", None):
        raise Skip("there are no rpm packages")
    return place.rpms


def rpm_has_its_files_and_no_others(place):
    everything = []
    for name, wanted in OWN.items():
        files = run("rpm", "-qpl", need_rpms(place)[name]).splitlines()
        for path in wanted:
            expect(any(file in (path, path + ".gz") for file in files), f"{name} lacks {path}")
        expect(not [file for file in files if file.startswith(("/usr/local", "/tmp", "/root", "/home"))], f"{name} has {files}")
        everything += files
    expect(len(everything) == len(set(everything)), "both packages have the same file")
    return f"{len(everything)} files"


def rpm_is_installed_in_an_empty_root_and_runs(place):
    """The root has no other package, so the libraries that the program names are laid beside it."""
    need_root()
    need_tools("ldd", "chroot", "unshare")
    root = place.folder / "rpm-root"
    for name in ("proc", "sys", "tmp"):
        (root / name).mkdir(parents=True)
    run("rpm", "--root", root, "--initdb")
    run("rpm", "--root", root, "--install", "--nodeps", "--noscripts", *need_rpms(place).values())
    said = run("rpm", "--root", root, "--query", "--all").split()
    expect(len(said) == len(place.rpms), f"installed are {said}")
    for library in set(re.findall(r"(/\S+) \(0x", run("ldd", root / "usr/bin/offcpu"))):
        target = root / library.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, target)
    said = run("unshare", "--mount", "--propagation", "private", "sh", "-ec", ENTER, "sh", root, "/usr/bin/offcpu", "doctor")
    expect("All is well" in said, f"its self-test did not pass: {said}")
    expect(run("rpm", "--root", root, "--verify", "--nodeps", "offcpu") == "", "files differ from the package's")
    run("rpm", "--root", root, "--erase", "--nodeps", "--noscripts", *OWN)
    left = [path for path in (root / "usr/bin/offcpu", root / "etc/offcpu/agent.conf") if path.exists()]
    expect(not left, f"left when removed: {left}")


RPM_POINTS = [rpm_is_built_from_a_clone, rpm_has_its_files_and_no_others, rpm_is_installed_in_an_empty_root_and_runs]
