#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Turns text files into one C file of string constants: embed.py OUT.c NAME=FILE ...

The texts go into CDATA sections and into HTML, so a file that holds an end mark of
either is refused here and not found out in a browser."""
import sys


def main():
    out, *items = sys.argv[1:]
    parts = ["/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */\n"
             "/* Made by tools/embed.py. */\n"]
    parts += [f"extern const char {item.split('=', 1)[0]}[];\n" for item in items]
    for item in items:
        name, path = item.split("=", 1)
        with open(path, "rb") as file:
            data = file.read()
        data.decode("utf-8")
        for bad in (b"]]>", b"</", b"\0"):
            if bad in data:
                sys.exit(f"embed.py: {path}: holds {bad!r}, which would end the section it is put into")
        rows = [", ".join(str(b) for b in data[i:i + 20]) for i in range(0, len(data), 20)]
        parts.append(f"\nconst char {name}[] = {{\n\t" + ",\n\t".join(rows + ["0"]) + "\n};\n")
    with open(out, "w", encoding="utf-8") as file:
        file.writelines(parts)


main()
