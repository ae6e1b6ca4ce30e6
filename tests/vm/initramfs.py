# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Makes an initramfs: a static busybox, the programs under test with the libraries they need,
and enough of Python to run the live tests."""

import gzip
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

# Parts of Python's library that no test imports and that weigh.
LEFT_OUT = {"test", "tests", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data", "distutils",
            "dist-packages", "site-packages", "unittest", "xml", "email", "http", "asyncio", "wsgiref",
            "dbm", "curses", "venv", "xmlrpc", "multiprocessing", "concurrent"}
# Extension modules that are wanted where they are not built in.
EXTENSIONS = {"_ctypes", "_posixsubprocess", "select", "_json", "math", "fcntl", "_struct", "zlib", "_random",
              "_bisect", "_sha2", "_sha512", "_datetime", "array", "binascii", "_heapq", "_socket", "_pickle", "grp",
              "_opcode", "_queue", "_contextvars", "resource", "termios", "mmap", "_sqlite3"}


FOLDERS = ["lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu", "lib"]  # of a root of arm64


class Archive:
    """A cpio archive in the "newc" form, in memory: path -> (mode, content, time of change).

    root: where the libraries of another architecture are unpacked; None: they are this machine's."""

    def __init__(self, root=None):
        self.entries = {}
        self.root = root

    def _parents(self, path):
        for parent in reversed(Path(path).parents):
            if str(parent) not in (".", "/"):
                self.entries.setdefault(str(parent).lstrip("/"), (stat.S_IFDIR | 0o755, b"", 0))

    def directory(self, path):
        self._parents(path)
        self.entries.setdefault(path.lstrip("/"), (stat.S_IFDIR | 0o755, b"", 0))

    def file(self, path, content, mode=0o755, mtime_s=0):
        self._parents(path)
        self.entries[path.lstrip("/")] = (stat.S_IFREG | mode, content, mtime_s)

    def link(self, path, target):
        self._parents(path)
        self.entries[path.lstrip("/")] = (stat.S_IFLNK | 0o777, target.encode(), 0)

    def copy(self, source, path=None):
        """Copies a file of this machine, links followed, to `path` or to where it is here.

        With its time: Python compares it with the one in its compiled form."""
        source = Path(source)
        self.file(str(path or source), source.read_bytes(), 0o755 if os.access(source, os.X_OK) else 0o644,
                  int(source.stat().st_mtime))

    def program(self, source, path):
        """Copies a program and the shared libraries it is linked with."""
        self.copy(source, path)
        self.libraries(source)

    def libraries(self, binary):
        if self.root:
            self._libraries_of_root(binary)
            return
        result = subprocess.run(["ldd", str(binary)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                check=False)
        for library in re.findall(r"(?:=> |^\s*)(/\S+)", result.stdout, re.M):
            if library.lstrip("/") not in self.entries:
                self.copy(library)

    def _libraries_of_root(self, binary):
        result = subprocess.run(["readelf", "-ld", str(binary)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                text=True, check=False)
        for name in re.findall(r"\(NEEDED\).*\[(.*)\]|interpreter: /lib/(.*)\]", result.stdout):
            name = name[0] or name[1]
            found = next((path for path in (Path(self.root) / folder / name for folder in FOLDERS) if path.exists()), None)
            if found and f"lib/{name}" not in self.entries:
                self.copy(found, f"/lib/{name}")
                self._libraries_of_root(found)

    def write(self, path):
        with gzip.open(path, "wb", compresslevel=1) as out:
            for number, (name, (mode, content, mtime_s)) in enumerate(self.entries.items(), 1):
                out.write(member(number, name, mode, content, mtime_s))
            out.write(member(0, "TRAILER!!!", 0, b"", 0))


def member(number, name, mode, content, mtime_s):
    raw = name.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, mtime_s, len(content), 0, 0, 0, 0, len(raw), 0]
    head = b"070701" + b"".join(b"%08X" % f for f in fields) + raw
    return pad(head) + pad(content)


def pad(data):
    return data + b"\0" * (-len(data) % 4)


def add_python(archive):
    """
    The system's interpreter, else the one that runs us, with its standard library.  Under its own name, which has the
    version: by that a CPython is known.
    """
    if archive.root:
        python = (Path(archive.root) / "usr/bin/python3").resolve()
        archive.program(python, f"/usr/bin/{python.name}")
        archive.link("/bin/python3", f"/usr/bin/{python.name}")
        add_python_library(archive, Path(archive.root) / "usr/lib" / python.name, f"/usr/lib/{python.name}")
        return
    python = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
    library = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"],
                             stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    archive.program(os.path.realpath(python), os.path.realpath(python))
    archive.link("/bin/python3", os.path.realpath(python))
    add_python_library(archive, library, library)


def add_python_library(archive, library, target):
    for folder, folders, names in os.walk(library):
        folders[:] = [f for f in folders if f not in LEFT_OUT and not f.startswith("config-")]
        for name in names:
            path = Path(folder) / name
            to = Path(target) / path.relative_to(library)
            if path.suffix in (".py", ".pyc") and path.is_file():
                archive.copy(path, to)
            elif path.suffix == ".so" and name.split(".")[0] in EXTENSIONS:
                archive.copy(path, to)
                archive.libraries(path)
    archive.link("/usr/bin/env", "/bin/busybox")


def guest(offcpu, command=None, root=None):
    """An archive of what every guest needs: it boots, and runs `command`, a shell's text, in place of the checks."""
    archive = Archive(root)
    for folder in ("proc", "sys", "dev", "tmp", "sbin", "etc"):
        archive.directory("/" + folder)
    archive.copy(find_busybox(root), "/bin/busybox")
    archive.copy(Path(__file__).resolve().parent / "init", "/init")
    archive.program(offcpu, "/bin/offcpu")
    archive.file("/etc/passwd", b"root:x:0:0:root:/tmp:/bin/sh\n")
    if command:
        archive.file("/command", command.encode())
    return archive


def find_busybox(root=None):
    """A static busybox, or None."""
    if root:
        path = Path(root) / "bin/busybox"
        return path if path.exists() else None
    for path in ("/bin/busybox", "/usr/bin/busybox"):
        if os.access(path, os.X_OK):
            kind = subprocess.run(["ldd", path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  check=False)
            if "not a dynamic executable" in kind.stdout or "statically linked" in kind.stdout:
                return path
    return None
