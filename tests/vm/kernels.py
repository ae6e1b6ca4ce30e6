# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Gets the kernels of the matrix from the distribution's packages, once.

They are kept under ${XDG_CACHE_HOME:-~/.cache}/offcpu-vm, one folder for each package, which
holds vmlinuz and MODULES; the newest one there serves a machine without a network.
"""

import lzma
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

# name -> the package that depends on the newest kernel of that line, what those are called, and the release of Debian where
# that is not this machine's
MATRIX = {
    "6.1-cloud": ("linux-image-cloud-amd64", r"linux-image-6\.1\..*-cloud-amd64$"),
    "6.12-cloud": ("linux-image-6.12-cloud-amd64", r"linux-image-6\.12\..*-cloud-amd64$"),
    "6.1-rt": ("linux-image-rt-amd64", r"linux-image-6\.1\..*-rt-amd64$"),
    "5.10-cloud": ("linux-image-cloud-amd64", r"linux-image-5\.10\..*-cloud-amd64$", "bullseye"),
    "newest-cloud": ("linux-image-cloud-amd64", r"linux-image-.*\+deb14-cloud-amd64$", "forky"),
    "6.1-arm64": ("linux-image-cloud-arm64", r"linux-image-6\.1\..*-cloud-arm64$"),
    "6.12-arm64": ("linux-image-6.12-cloud-arm64", r"linux-image-6\.12\..*-cloud-arm64$"),
    "6.12-16k-arm64": ("linux-image-arm64-16k", r"linux-image-6\.12\..*-arm64-16k$", "trixie"),     # pages of 16 KiB
}
# Those that tests/vm/run boots unless told otherwise: arm64 takes minutes each, other releases are for tests/vm/features.
# One of the two at each commit: see tools/run-tests.
TURNS = [["6.12-cloud"], ["6.1-cloud", "6.1-rt"]]
APT_ARM64 = str(Path(__file__).resolve().parent.parent.parent / "tools" / "apt-arm64")

# Emulation is the same everywhere.  A /dev/kvm that is there may still hang at the first instruction.
# One host thread for both CPUs: with one for each, qemu 7.2 can keep a translation of the int3 that
# the kernel lays while it patches a static branch, and both guest CPUs then trap there for ever.  Ours
# flips such a branch in bpf_trace_run*() (BPF statistics) with the machine running; half of the runs of
# 6.1 on a busy host stood still so, memory showing the jump where the CPUs still met the int3.
EMULATION = "tcg,thread=single"
ACCELERATOR = os.environ.get("OFFCPU_VM_ACCEL", EMULATION)


class NoKernel(Exception):
    """Its text says why there is none."""


def usual():
    turn = os.environ.get("OFFCPU_TEST_TURN", "both")
    return sum(TURNS, []) if turn == "both" else TURNS[int(turn) % 2]


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "offcpu-vm"


def arm64_root():
    """Where tools/build-arm64 has unpacked the libraries."""
    return cache_folder().parent / "offcpu-arm64" / "root"


def output_of(argv, cwd=None):
    try:
        result = subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, timeout=300, check=False)
    except (OSError, subprocess.TimeoutExpired) as err:
        raise NoKernel(str(err)) from err
    if result.returncode:
        last = (result.stderr.strip().splitlines() or ["no message"])[-1]
        raise NoKernel(f"{argv[0]} {argv[1]}: {last}")
    return result.stdout


def version_key(name):
    return [int(n) for n in re.findall(r"\d+", name)]


def is_arm64(name):
    """Of a kernel's name in MATRIX, or a package."""
    return "-arm64" in name


APT_OF_SUITE = """APT::Architecture "{1}"; APT::Architectures {{ "{1}"; }}; Dir::State "{0}"; Dir::State::status "{0}/status"; Dir::State::lists "{0}/lists"; Dir::Cache "{0}/cache";
Dir::Etc::sourcelist "{0}/sources.list"; Dir::Etc::sourceparts "-"; APT::Sandbox::User "root"; Debug::NoLocking "true";
"""
MODULES = ("fuse.ko", "overlay.ko")     # for tests/live/cases_never_answers.py; packages that were got before have none
LISTS_LAST_S = 86400
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")


def apt_of_suite(suite, machine, kind="deb"):
    """
    What goes before an apt command for another release of Debian: its lists are kept beside the kernels, this machine's stay.
    kind: "deb-src" for sources.
    """
    folder = cache_folder() / ("apt-" + suite + ("" if machine == "amd64" else f"-{machine}") + kind.removeprefix("deb"))
    configuration = folder / "apt.conf"
    before = ["env", f"APT_CONFIG={configuration}"]
    if configuration.exists() and time.time() - configuration.stat().st_mtime < LISTS_LAST_S:
        return before
    targets = output_of(["apt-get", "indextargets", "--format", "$(ORIGIN)\t$(RELEASE)\t$(CODENAME)\t$(REPO_URI)",
                         "Created-By: Packages"])
    rows = [line.split("\t") for line in targets.splitlines()]
    archive = next((row for row in rows if row[0] == "Debian" and row[1] == row[2] and "-" not in row[1]), None)
    if not archive:
        raise NoKernel("apt knows no archive of Debian here")
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    signed = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
    (folder / "sources.list").write_text(f"{kind} {signed}{archive[3]} {suite} main\n")
    made = folder / "new.conf"
    made.write_text(APT_OF_SUITE.format(folder, machine))
    output_of(["env", f"APT_CONFIG={made}", "apt-get", "-qq", "update"])
    made.rename(configuration)
    return before


def apt(package, suite):
    """What goes before an apt command for it."""
    if suite:
        return apt_of_suite(suite, "arm64" if is_arm64(package) else "amd64")
    return [APT_ARM64] if is_arm64(package) else []


def dependencies(before, package):
    return [line.split()[-1] for line in output_of(before + ["apt-cache", "depends", package]).splitlines() if "Depends:" in line]


def newest_package(before, meta, pattern):
    """The kernel package that `meta` stands for now; else the newest whose name fits."""
    found = [name for name in dependencies(before, meta) if re.match(pattern, name)]
    if not found:
        raise NoKernel(f"{meta} depends on no package like {pattern}")
    return max(found, key=version_key)


def keep_modules(root, folder):
    folder.mkdir()
    for name in MODULES:
        for path in root.glob(f"**/kernel/fs/**/{name}*"):
            data = path.read_bytes()
            (folder / name).write_bytes(lzma.decompress(data) if path.suffix == ".xz" else data)


def unpack(before, package, folder):
    """Downloads a package and leaves folder/vmlinuz, whole or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    # since Debian 14 the kernel itself is in one of its own
    binary = next((name for name in dependencies(before, package) if name.startswith("linux-binary-")), package)
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        output_of(before + ["apt-get", "download", "-o", "APT::Sandbox::User=root", binary], cwd=work)
        deb = next(Path(work).glob("*.deb"))
        output_of(["dpkg-deb", "-x", str(deb), f"{work}/x"])
        image = next(Path(work).glob("x/boot/vmlinuz-*"), None) or next(Path(work).glob("x/usr/lib/modules/*/vmlinuz"), None)
        if image is None:
            raise NoKernel(f"{binary} holds no vmlinuz")
        (Path(work) / "keep").mkdir()
        shutil.copy(image, f"{work}/keep/vmlinuz")
        keep_modules(Path(work) / "x", Path(work) / "keep" / "modules")
        os.rename(f"{work}/keep", folder)


def kernel(name):
    """The path of a kernel's vmlinuz and its package; raises NoKernel."""
    meta, pattern, *suite = MATRIX[name]
    if os.uname().machine != "x86_64" and not is_arm64(name):
        raise NoKernel("its packages are not for this machine")
    cache = cache_folder()
    had = sorted((p.parent.name for p in cache.glob("*/vmlinuz") if re.match(pattern, p.parent.name)),
                 key=version_key)
    try:
        before = apt(meta, suite[0] if suite else None)
        package = newest_package(before, meta, pattern)
        if package not in had:
            unpack(before, package, cache / package)
    except NoKernel:
        if not had:
            raise
        package = had[-1]
    return cache / package / "vmlinuz", package


def boot_command(vmlinuz, initrd, console, said, cpus=2, options="", accelerator=ACCELERATOR):
    """What boots a guest: the kernel's messages go to the file `console`, what tests/vm/init writes to `said`."""
    common = ["-accel", accelerator, "-smp", str(cpus), "-m", "1024", "-display", "none", "-monitor", "none", "-no-reboot",
              "-nic", "none", "-kernel", str(vmlinuz), "-initrd", str(initrd), "-serial", f"file:{console}"]
    if is_arm64(vmlinuz.parent.name):
        # Its one serial port is the console's.  Of pointer authentication qemu's own kind: the architecture's takes half of the time.
        return ["qemu-system-aarch64", "-M", "virt,gic-version=3", "-cpu", "max,pauth-impdef=on", *common,
                "-append", f"console=ttyAMA0 quiet panic=-1 {options}",
                "-chardev", f"file,id=said,path={said}", "-device", "pci-serial,chardev=said"]
    # no_timer_check: a busy host stops the CPU while the kernel counts ticks, and it panics that its timer does not work
    return ["qemu-system-x86_64", "-cpu", "max", *common, "-append", f"console=ttyS0 quiet panic=-1 no_timer_check {options}",
            "-serial", f"file:{said}"]
