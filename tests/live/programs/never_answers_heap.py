# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""never_answers_heap.py FILE: maps it over code of its own, of a thread that sleeps by turns."""

import ctypes
import mmap
import os
import sys
import threading
import time

PAGES = 2 * mmap.PAGESIZE
MAP_PRIVATE_FIXED = 0x12
READ_WRITE = 3


def sleep_site():
    while True:
        time.sleep(0.02)


fd = os.open(sys.argv[1], os.O_RDONLY)
libc = ctypes.CDLL(None)
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.mmap.restype = ctypes.c_void_p
threading.Thread(target=sleep_site, daemon=True).start()
time.sleep(0.3)
print("ready", flush=True)
libc.mmap(id(sleep_site.__code__) & -mmap.PAGESIZE, PAGES, READ_WRITE, MAP_PRIVATE_FIXED, fd, 0)
time.sleep(1000)
