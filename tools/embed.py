#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Turns text files into one C file of string constants: embed.py OUT.c HEADER NAME=FILE[,FILE...] ...

The texts go into CDATA sections and into HTML, so a script or style that holds an end mark of
either is refused here and not found out in a browser.  NAME of several files is one script or style of
theirs, without what only a reader needs, and NAME_sha256 is its digest in base64.  A NAME that ends in
_packed holds its zlib stream in base91 (two of the characters "#" to "~" but "<" are 13 bits); its digest is still the text's.  NAME+BASE is a script that is put behind that of BASE, an item before it: the digest is that of both.  With "-" in place of HEADER the
texts are as they are, and declared where they are defined."""
import base64
import hashlib
import re
import sys
import zlib


def read(path):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if not path.endswith(".html"):
        for bad in ("]]>", "</", "\0"):
            if bad in text:
                sys.exit(f"embed.py: {path}: holds {bad!r}, which would end the section it is put into")
    return text


# A token of JavaScript as this project writes it: expressions in templates hold no templates, and a "/" after
# what may end an operand divides.
TOKEN = re.compile(r"""
    (?P<space>(?:\s|//[^\n]*|/\*.*?\*/)+) |
    (?P<text>'(?:[^'\\\n]|\\.)*' | "(?:[^"\\\n]|\\.)*" | `(?:[^`\\]|\\.)*`) |
    (?P<word>[\w$.]+) |
    (?P<slash>/) |
    (?P<other>[^\w\s])""", re.S | re.X)
EXPRESSION = re.compile(r"/(?:[^/\\\n\[]|\\.|\[(?:[^\]\\]|\\.)*\])+/[a-z]*")


def shorten_script(text):
    """Without comments and the spaces between tokens, and "let" for "const", which packs better when it is one word.
    Line ends stay: our statements end in ";", but not only."""
    out, at, last = [], 0, ""
    while at < len(text):
        token = TOKEN.match(text, at)
        piece = token.group()
        if token.lastgroup == "slash" and not re.search(r"[\w$)\]}'\"`]$", last):
            piece = EXPRESSION.match(text, at).group()
        if piece[0] == "`" and piece.count("${") > piece.count("}"):
            sys.exit(f"embed.py: a template within a template: {piece[:60]}")
        at += len(piece)
        if token.lastgroup == "space":
            ahead = text[at:at + 1]
            if not last or not ahead:
                continue
            if re.match(r"[\w$]", last[-1]) and re.match(r"[\w$]", ahead) or last[-1] + ahead in ("++", "--"):
                out.append(" ")
            elif "\n" in piece and last[-1] not in "{}(,;:?&|=+>[" and ahead not in ")}.,?:&|=]":
                out.append("\n")
            continue
        out.append("let" if piece == "const" else piece)
        last = piece
    return "".join(out) + "\n"


def shorten_style(text):
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r" ?([{};,>]) ?|(?<=:) (?!\w*\()", lambda m: m.group(1) or "", text).replace(";}", "}").strip() + "\n"


def shorten(path, text):
    if path.endswith(".js"):
        return shorten_script(text)
    return shorten_style(text) if path.endswith(".css") else re.sub(r"<!--.*?-->\n?", "", text, flags=re.S)


def pack(data):
    """A thirteenth less than base64; without "<" nothing in it means anything to a parser of HTML."""
    stream = zlib.compressobj(9, zlib.DEFLATED, 15, 9)
    packed = stream.compress(data) + stream.flush()
    number, length, out = int.from_bytes(packed, "little"), 8 * len(packed), bytearray()
    for at in range(0, length, 13):
        high, low = divmod(number >> at & 0x1fff, 91)
        out += bytes([low] if length - at < 7 else [low, high])    # a last one of few bits is one character
    return bytes(c + 35 + (c > 24) for c in out)


def constant(name, data):
    rows = [", ".join(str(b) for b in data[i:i + 20]) for i in range(0, len(data), 20)]
    return f"\nconst char {name}[] = {{\n\t" + ",\n\t".join(rows + ["0"]) + "\n};\n"


def main():
    out, header, *items = sys.argv[1:]
    parts = ["/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */\n"
             "/* Made by tools/embed.py. */\n"]
    if header == "-":
        parts += [f"extern const char {item.split('=', 1)[0]}[];\n" for item in items]
    else:
        parts.append(f"#include \"{header}\"\n")
    texts = {}
    for item in items:
        name, paths = item.split("=", 1)
        name, _, base = name.partition("+")
        paths = paths.rstrip(",").split(",")
        plain = header == "-" or name.startswith("web_flame")
        data = "".join(read(path) if plain else shorten(path, read(path)) for path in paths).encode()
        texts[name] = texts.get(base, b"") + data
        packed = name.endswith("_packed")
        parts.append(constant(name, pack(data) if packed else data))
        if not plain:
            parts.append(constant(name + "_sha256", base64.b64encode(hashlib.sha256(texts[name]).digest())))
    with open(out, "w", encoding="utf-8") as file:
        file.writelines(parts)


main()
