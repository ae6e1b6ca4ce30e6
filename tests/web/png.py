# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Reads a PNG as far as a test of pictures needs: 8 bits a channel, not interlaced."""
import struct
import zlib


def rows_of(path):
    with open(path, "rb") as file:
        data = file.read()
    at, packed, width, channels = 8, b"", 0, 4
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, channels = struct.unpack(">I", body[:4])[0], {2: 3, 6: 4}[body[9]]
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    raw, size = zlib.decompress(packed), width * channels
    before = bytearray(size)
    for start in range(0, len(raw), size + 1):
        row, kind = bytearray(raw[start + 1:start + 1 + size]), raw[start]
        for i in range(size if kind else 0):
            a, b = row[i - channels] if i >= channels else 0, before[i]
            c = before[i - channels] if i >= channels else 0
            p = a + b - c
            paeth = a if abs(p - a) <= abs(p - b) and abs(p - a) <= abs(p - c) else b if abs(p - b) <= abs(p - c) else c
            row[i] = (row[i] + (0, a, b, (a + b) // 2, paeth)[kind]) & 255
        before = row
        yield channels, row


def colours_of(path):
    """Every colour of every fourth row that is there more than once."""
    seen = {}
    for y, (channels, row) in enumerate(rows_of(path)):
        for x in range(0, len(row) if y % 4 == 0 else 0, channels):
            colour = bytes(row[x:x + 3])
            seen[colour] = seen.get(colour, 0) + 1
    return {c for c, n in seen.items() if n > 1}
