#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Asks the questions of docs/sql.md, and those of docs/file-format.md, of golden recordings.

    sql.py OFFCPU MAKE_RECORDING [--update]

Each query of sql.md is followed by what it prints; --update writes that.  Those of file-format.md must run.  Prints TAP.
"""
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs"
ANSWERED = re.compile(r"(?P<query>^    (?:SELECT|WITH)\b(?:.|\n)*?;\n)(?P<answer>\n(?:    .*\n)+)?", re.M)
# what stands before a query tells what it is asked of
OF = (("record --wakers", "wakers"), ("offcpu request", "requests"), ("record --tasks", "tasks"), ("of the history", "history"),
      ("record --objects", "objects"))
# no golden recording has objects
OBJECTS = """
INSERT INTO object (id, name, kind, is_private, operation, place, pid, address)
VALUES (0, 'tcp 10.0.0.7:5432', 'socket', 0, '', '', 0, 0), (1, 'tcp 10.0.0.9:6379', 'socket', 0, '', '', 0, 0);
INSERT INTO tcp_wait (id, object_id, direction, count, blocked_ns, peer_ns, network_ns, silent_ns, unclear_ns, resent)
VALUES (0, 0, 0, 12, 900000000, 610000000, 250000000, 0, 30000000, 3), (1, 1, 0, 4, 200000000, 0, 4000000, 190000000, 0, 0);
"""
RANGE = ["--from", "2025-11-25T14:45", "--to", "2025-11-25T14:50"]


def export(offcpu, make, folder, name):
    """The recording of that name with what is told of it."""
    made, told = os.path.join(folder, name), os.path.join(folder, f"{name}.told.offcpu")
    subprocess.run([make, made] + ([] if name in ("trace", "objects") else [name]), check=True)
    if name == "objects":
        with sqlite3.connect(made) as db:
            db.executescript(OBJECTS)
    source = [f"--history={made}", *RANGE] if name == "history" else [made]
    subprocess.run([offcpu, "export", *source, "-f", "sqlite", "-o", told], check=True, env={**os.environ, "TZ": "UTC"})
    return told


def printed(path, query):
    """As `sqlite3 -header` prints it."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as db:
        cursor = db.execute(query)
        rows = [[column[0] for column in cursor.description], *cursor.fetchall()]
    return ["|".join("" if value is None else str(value) for value in row) for row in rows]


def asked_of(text, at):
    paragraph = text[:at].rstrip().rsplit("\n\n", 1)[-1]
    return next((name for words, name in OF if words in paragraph), "trace")


def is_a_recording(offcpu, path, name):
    """Readers take it for what it is."""
    plain = os.path.join(os.path.dirname(path), name)
    both = [subprocess.run([offcpu, "report", "--json", file], capture_output=True, check=True).stdout for file in (path, plain)]
    return both[0] == both[1]


def main():
    offcpu, make = map(os.path.abspath, sys.argv[1:3])
    page = DOCS / "sql.md"
    text = page.read_text(encoding="utf-8")
    points, answered = [], []
    with tempfile.TemporaryDirectory() as folder:
        told = {name: export(offcpu, make, folder, name) for name in ("trace", *(name for _, name in OF))}
        for match in ANSWERED.finditer(text):
            got = printed(told[asked_of(text, match.start())], match["query"])
            block = "\n" + "".join(f"    {line}\n" for line in got)
            answered.append((match, match["query"] + block))
            points.append((match["answer"] == block, f"{match['query'].split(chr(10))[0].strip()[:90]}", block))
        for match in re.finditer(r"(?:^    .*\n)+", (DOCS / "file-format.md").read_text(encoding="utf-8"), re.M):
            query = match[0].strip()
            if query.startswith(("SELECT", "WITH")):
                printed(told["wakers"], query)
                points.append((True, query.split("\n", maxsplit=1)[0][:90], ""))
        for name in ("trace", "wakers", "requests", "tasks"):
            points.append((is_a_recording(offcpu, told[name], name), f"{name} is the same recording as before", ""))
        foreign = os.path.join(folder, "foreign.told.offcpu")
        shutil.copy(DOCS.parent / "tests" / "exchange" / "tools" / "bcc-offcputime.txt", os.path.join(folder, "foreign"))
        subprocess.run([offcpu, "export", "-f", "sqlite", os.path.join(folder, "foreign"), "-o", foreign], check=True)
        points.append((is_a_recording(offcpu, foreign, "foreign"), "another tool's profile is the same in a recording", ""))
        filtered = subprocess.run([offcpu, "export", "-f", "sqlite", "-p", "100", os.path.join(folder, "trace")], capture_output=True, check=False)
        points.append((filtered.returncode == 1 and not filtered.stdout and b"nothing may be filtered" in filtered.stderr, "filters are refused", ""))
    points.append((len(answered) >= 10, "there are ten questions, and more", ""))
    if "--update" in sys.argv:
        for match, new in reversed(answered):
            text = text[:match.start()] + new + text[match.end():]
        page.write_text(text, encoding="utf-8")
    print(f"1..{len(points)}")
    for number, (is_well, what, block) in enumerate(points, 1):
        print(f"{'' if is_well else 'not '}ok {number} - {what.replace('#', '')}")
        for line in [] if is_well else block.splitlines():
            print(f"# {line}")
    sys.exit(not all(is_well for is_well, _, _ in points))


if __name__ == "__main__":
    main()
