# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What run and features share: the archive a guest boots with, its end, and the points it prints."""

import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import initramfs
import kernels

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
POINT = re.compile(r"^(not )?ok\b\s*\d*\s*-?\s*(.*)$")


def build_arm64():
    """Cross-builds what the arm64 guests run; returns the build, or None where that failed."""
    folder = Path(os.environ.get("OFFCPU_BUILD_ARM64", ROOT / "build" / "arm64"))
    made = subprocess.run([str(ROOT / "tools" / "build-arm64"), str(folder), "src/cmd/offcpu", "live-programs"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if made.returncode:
        print("\n".join(f"# {line}" for line in made.stdout.splitlines()[-15:]))
        return None
    return folder


def only(cases):
    return " ".join(f"--only {case}" for case in cases)


def add_go(archive, is_arm64):
    """The live programs in Go, for the guest's machine: there is no compiler in it.  None where there is none here."""
    target = {"GOARCH": "arm64" if is_arm64 else "amd64", "GO111MODULE": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}
    with tempfile.TemporaryDirectory(prefix="offcpu-vm-go-") as folder:
        for name in ("go_waits", "go_tasks") if shutil.which("go") else ():
            source = ROOT / "tests" / "live" / "programs" / f"{name}.go"
            built = subprocess.run(["go", "build", "-o", f"{folder}/{name}", source], env={**os.environ, **target}, check=False)
            if built.returncode == 0:
                archive.copy(f"{folder}/{name}", f"/programs/{name}")


def archive_of(offcpu, programs, command, root=None):
    """
    An archive with Python, the test programs and the live tests; command: a shell's text in place of the checks, or None.
    And with the static program, where tools/build-static or tools/build-arm64 --static has left one.
    """
    archive = initramfs.guest(offcpu, command, root)
    initramfs.add_python(archive)
    for program in sorted(programs.iterdir()):
        if program.is_file() and os.access(program, os.X_OK) and program.suffix in ("", ".so"):
            archive.program(program, f"/programs/{program.name}")
    for script in sorted((ROOT / "tests" / "live").glob("*.py")):
        archive.copy(script, f"/live/{script.name}")
    for script in sorted((ROOT / "tests" / "live" / "programs").glob("*.py")):
        archive.copy(script, f"/live/programs/{script.name}")
    archive.copy(HERE / "live.py", "/live/live.py")
    add_go(archive, bool(root))
    for module in kernels.cache_folder().glob("*/modules/*.ko"):
        archive.copy(module, f"/modules/{module.parent.parent.name.removeprefix('linux-image-')}/{module.name}")
    static = ROOT / ("build-arm64-static" if root else "build-static") / "offcpu"
    if static.exists():
        archive.copy(static, "/static/offcpu")
    return archive


def boot(vmlinuz, initrd, work, timeout_s, options=""):
    """Runs a guest to its end; returns (what it wrote, its console, seconds, ended in time)."""
    said, console = Path(work) / "tap", Path(work) / "console"
    said.write_bytes(b"")
    console.write_bytes(b"")
    argv = kernels.boot_command(vmlinuz, initrd, console, said, options=options)
    start, in_time = time.monotonic(), True
    try:
        subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        in_time = False
    return (said.read_text(errors="replace"), console.read_text(errors="replace"), time.monotonic() - start, in_time)
