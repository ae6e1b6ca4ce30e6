# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The Debian packages: built, checked, installed in a fresh system, used there, and removed."""
import re
import shutil
import time
from pathlib import Path

from lib import ROOT, Skip, build_environment, clone, expect, need_root, need_tools, run, same_bytes

# What dpkg, apt and the system write for themselves whatever is installed.
OF_THE_SYSTEM = ("/var/lib/dpkg/", "/var/lib/apt/", "/var/cache/", "/var/log/", "/proc/", "/sys/", "/dev/", "/run/", "/tmp/", "/root/packages/",
                 "/etc/ld.so.cache/",
                 "/etc/passwd-/", "/etc/group-/", "/etc/shadow-/", "/etc/gshadow-/", "/etc/.pwd.lock/", "/etc/subuid-/", "/etc/subgid-/")
FIRST_REPORT_MAX_S = 5
CAPABILITIES = {"CAP_BPF": 39, "CAP_PERFMON": 38, "CAP_SYS_ADMIN": 21, "CAP_SYS_PTRACE": 19, "CAP_DAC_READ_SEARCH": 2,
                "CAP_CHECKPOINT_RESTORE": 40, "CAP_SYSLOG": 34, "CAP_SYS_NICE": 23, "CAP_IPC_LOCK": 14, "CAP_SYS_RESOURCE": 24, "CAP_SETPCAP": 8}


def chroot(place, *argv, network=True, status=0):
    """Runs a command in the fresh system, with /proc and /sys, and at most without network."""
    mounts = 'mount -t proc proc "$1/proc"; mount --rbind /sys "$1/sys"; mount --rbind /dev "$1/dev"; cd "$1"; shift; exec chroot . "$@"'
    unshare = ["unshare", "--mount", "--propagation", "private", *([] if network else ["--net"])]
    return run(*unshare, "sh", "-ec", mounts, "sh", place.system, *argv, status=status,
               env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive", "HOME": "/root"})


def archive_lines():
    """Sources of Debian's archive that this machine is configured for, as lines of sources.list."""
    said = run("apt-get", "indextargets", "--format", "$(ORIGIN)\t$(REPO_URI)\t$(RELEASE)\t$(COMPONENT)\t$(CODENAME)", "Created-By: Packages")
    rows = [line.split("\t") for line in said.splitlines()]
    rows = [row for row in rows if row[0] == "Debian"]
    if not rows:
        raise Skip("apt knows no archive of Debian here (apt-get update)")
    return rows[0][4], "\n".join(sorted({f"deb {uri} {release} {component}" for _, uri, release, component, _ in rows})) + "\n"


def files_of(place):
    found = run("find", place.system, "-xdev", "-printf", "/%P\n").splitlines()
    return {path for path in found if not (path + "/").startswith(OF_THE_SYSTEM)}


def deb_is_built_from_a_clone_by_one_command(place):
    need_tools("dpkg-buildpackage", "dh", "meson")
    source = clone(place.folder / "deb-source")
    run("tools/build-deb", cwd=source, env=build_environment(place, "DEB_CFLAGS_APPEND"))   # debhelper would take CFLAGS in place of its own
    place.debs = sorted((source / "build-deb").glob("*.deb"))
    names = {path.name.split("_")[0] for path in place.debs}
    expect(names == {"offcpu", "offcpu-agent", "offcpu-dbgsym"}, f"not these packages: {names}")
    leave_for_other_suites(place.debs)


def leave_for_other_suites(debs):
    """tests/distro installs them in other systems."""
    kept = ROOT / "build" / "packages"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True)
    for path in debs:
        if "dbgsym" not in path.name:
            shutil.copy(path, kept)


def deb_has_nothing_that_lintian_says(place):
    changes = list(place.need_debs()[0].parent.glob("*.changes"))
    need_tools("lintian")
    # As root it refuses to run without being told so.
    said = run("lintian", "--allow-root", "--fail-on", "error,warning", changes[0])
    expect(not re.search(r"^[EW]:", said, re.M), said)


def deb_system_is_made(place):
    place.need_debs()
    need_root()
    need_tools("mmdebstrap", "apt-get", "unshare")
    suite, lines = archive_lines()
    sources = place.folder / "sources.list"
    sources.write_text(lines)
    system = place.folder / "system"
    run("mmdebstrap", "--variant=minbase", "--mode=root", "--include=systemd-standalone-sysusers", suite, system, sources)
    shutil.copy("/etc/resolv.conf", system / "etc" / "resolv.conf")
    (system / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
    (system / "usr/sbin/policy-rc.d").chmod(0o755)
    (system / "root/packages").mkdir()
    for path in place.debs:
        if "dbgsym" not in path.name:
            shutil.copy(path, system / "root/packages")
    place.system = system
    place.before = files_of(place)


def need_system(place):
    place.need_debs()
    if not getattr(place, "before", None):
        raise Skip("there is no fresh system")


def deb_is_installed_and_reports_without_network(place):
    """The libraries that it needs are fetched first; what is timed runs in a namespace without network."""
    need_system(place)
    chroot(place, "sh", "-c", "apt-get update && apt-get install -y --no-install-recommends --download-only /root/packages/offcpu_*.deb")
    libraries = run("find", place.system / "var/cache/apt/archives", "-name", "*.deb").split()
    start = time.monotonic()
    said = chroot(place, "sh", "-ec", "apt-get install -y --no-install-recommends /root/packages/offcpu_*.deb >/tmp/apt.log 2>&1;"
                  "offcpu record -o /tmp/t.offcpu -- sleep 0.2; offcpu report /tmp/t.offcpu", network=False)
    took_s = time.monotonic() - start
    expect(re.search(r"sleep .*until a timer|sleeps until a timer", said), f"the report does not tell of the sleep: {said}")
    place.took_s = took_s
    return f"{len(libraries)} libraries and offcpu installed, recorded and reported in {took_s:.2f} s"


def deb_first_report_is_there_within_seconds(place):
    """On a machine that does nothing else; a busy one says what it was."""
    need_system(place)
    if not getattr(place, "took_s", None):
        raise Skip("it was not installed")
    if place.took_s < FIRST_REPORT_MAX_S:
        return f"{place.took_s:.2f} s"
    raise Skip(f"it took {place.took_s:.2f} s on this machine as busy as it was; it is to be below {FIRST_REPORT_MAX_S} s on a quiet one")


def deb_program_says_the_version_of_the_package(place):
    need_system(place)
    version = chroot(place, "dpkg-query", "-W", "-f", "${Version}", "offcpu")
    expect(chroot(place, "offcpu", "--version") == f"offcpu {version}\n", f"another version than the package's, {version}")


def deb_doctor_is_content(place):
    need_system(place)
    expect("All is well" in chroot(place, "offcpu", "doctor"), "its self-test did not pass")


def deb_agent_is_installed(place):
    need_system(place)
    chroot(place, "sh", "-c", "apt-get install -y --no-install-recommends /root/packages/offcpu-agent_*.deb")
    said = chroot(place, "offcpu", "agent", "--check")
    for path in ("etc/offcpu/agent.conf", "lib/systemd/system/offcpu-agent.service"):
        expect((place.system / path).exists(), f"/{path} is not there")
    expect("/var/lib/offcpu" in said, f"`offcpu agent --check` says nothing of its store: {said}")


def deb_agent_runs_as_its_user(place):
    """As the unit would start it, by its user, group and capabilities; then a member of the group reads what it kept."""
    need_system(place)
    unit = (place.system / "lib/systemd/system/offcpu-agent.service").read_text()
    user, group, names = (re.search(rf"^{key}=(.*)$", unit, re.M).group(1) for key in ("User", "Group", "AmbientCapabilities"))
    here = int(re.search(r"^CapBnd:\s*(\w+)", Path("/proc/self/status").read_text(), re.M).group(1), 16)
    wanted = [CAPABILITIES[name] for name in names.split()]
    caps = ",".join(f"+cap_{number}" for number in wanted if here >> number & 1)
    (place.system / "etc/offcpu/agent.conf").write_text("[agent]\nwindow = 1s\n")
    said = chroot(place, "sh", "-ec", f"install -d -o {user} -g {group} -m 0750 /var/lib/offcpu;"
                  f"setpriv --reuid {user} --regid {group} --clear-groups --inh-caps={caps} --ambient-caps={caps} timeout -s INT 4 offcpu agent"
                  " || test $? = 124;"
                  f"setpriv --reuid daemon --regid daemon --groups {group} offcpu report --history;"
                  "if setpriv --reuid daemon --regid daemon --clear-groups offcpu report --history >/tmp/closed 2>&1; then exit 9; fi")
    expect("From the history" in said, f"a member of the group does not read it: {said}")
    expect(", 0 lost" in said, f"the agent did not record whole: {said}")


def deb_leaves_nothing_when_purged(place):
    need_system(place)
    chroot(place, "apt-get", "purge", "-y", "--autoremove", "offcpu", "offcpu-agent")
    left = sorted(files_of(place) - place.before)
    expect(not left, "left behind: " + " ".join(left[:20]))
    gone = sorted(place.before - files_of(place))
    expect(not gone, "taken away that was there before: " + " ".join(gone[:20]))
    for table in ("passwd", "group"):
        expect("offcpu" not in (place.system / "etc" / table).read_text(), f"/etc/{table} still has its user or group")


def deb_has_the_same_bytes_when_built_again(place):
    place.need_debs()
    if not place.twice:
        raise Skip("building again takes as long again: tests/package/run.py --twice")
    source = clone(place.folder / "elsewhere" / "another-name-of-a-deb")
    run("tools/build-deb", cwd=source)
    for path in place.debs:
        same_bytes(path, source / "build-deb" / path.name)


DEB_POINTS = [
    deb_is_built_from_a_clone_by_one_command, deb_has_nothing_that_lintian_says, deb_system_is_made,
    deb_is_installed_and_reports_without_network, deb_first_report_is_there_within_seconds,
    deb_program_says_the_version_of_the_package, deb_doctor_is_content, deb_agent_is_installed, deb_agent_runs_as_its_user,
    deb_leaves_nothing_when_purged,
    deb_has_the_same_bytes_when_built_again,
]
