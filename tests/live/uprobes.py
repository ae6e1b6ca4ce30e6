# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Somebody else's probes: plain perf events, as any tracer attaches them."""

import ctypes
import os
import platform
import struct
import subprocess

from lib import LIBC, Skip

PERF_EVENT_OPEN = {"x86_64": 298, "aarch64": 241}


def function_offset(path, name):
    """File offset of a function of an ELF file whose first segment is loaded as it lies there."""
    symbols = subprocess.run(["readelf", "-sW", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    address = next((int(fields[1], 16) for fields in map(str.split, symbols.splitlines())
                    if len(fields) >= 8 and fields[3] == "FUNC" and fields[7] == name), None)
    if address is None:
        raise Skip(f"{path} has no function {name}")
    headers = subprocess.run(["readelf", "-lW", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    for fields in map(str.split, headers.splitlines()):
        if fields[:1] == ["LOAD"]:
            offset, start, size = (int(fields[i], 16) for i in (1, 2, 4))
            if start <= address < start + size:
                return address - start + offset
    raise Skip(f"{name} lies in no segment of {path}")


class Uretprobe:
    """A uretprobe on a function in one process, until it is closed."""

    def __init__(self, path, name, pid):
        base = "/sys/bus/event_source/devices/uprobe/"
        try:
            with open(base + "type", encoding="ascii") as f:
                kind = int(f.read())
        except OSError as error:
            raise Skip("this kernel has no uprobe events") from error
        self.path = ctypes.create_string_buffer(os.fsencode(path))
        attributes = struct.pack("=IIQQQQQIIQQ", kind, 112, 1, 1, 0, 0, 0, 0, 0, ctypes.addressof(self.path),
                                 function_offset(path, name))
        attributes += bytes(112 - len(attributes))
        number = PERF_EVENT_OPEN.get(platform.machine())
        if number is None:
            raise Skip(f"perf_event_open(2) has no number here for {platform.machine()}")
        self.fd = LIBC.syscall(number, ctypes.create_string_buffer(attributes), pid, -1, -1, 8)
        if self.fd < 0:
            raise Skip(f"no uretprobe: {os.strerror(ctypes.get_errno())}")

    def count(self):
        return struct.unpack("=Q", os.read(self.fd, 8))[0]

    def close(self):
        os.close(self.fd)
