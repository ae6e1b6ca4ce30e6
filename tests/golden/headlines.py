#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Text, JSON and page tell the same headlines, of every golden recording and every selection.

    headlines.py OFFCPU MAKE_RECORDING

Prints TAP.
"""
import base64
import json
import os
import re
import subprocess
import sys
import tempfile
import zlib

RECORDINGS = ("", "wakers", "chains", "crowd", "before", "after", "cpu", "tasks", "tasks-more", "clerks", "contexts", "hostile", "requests",
              "before-more", "after-more", "before-batches", "after-batches")
SELECTIONS = (["--from", "0.5"], ["--to", "1"], ["--from", "0.2", "--to", "0.9"], ["-k"])


def offcpu(program, *words):
    done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
                          env={**os.environ, "TZ": "UTC", "NO_COLOR": "1"})
    return done.returncode, done.stdout, done.stderr


def text_of(screen):
    """The sentences of the first screen, in one line each."""
    found, lines = [], screen.splitlines()
    for at, line in enumerate(lines):
        if re.match(r"\d\. ", line):
            found.append(line.split(" ", 1)[1])
            for more in lines[at + 1:]:
                if not more.startswith("   "):
                    break
                found[-1] += " " + more.strip()
    return found


def page_of(path):
    with open(path, encoding="utf-8") as file:
        packed = re.search(r'id="(?:block-)?core"[^>]*>\s*([A-Za-z0-9+/=]+)', file.read()).group(1)
    core = zlib.decompress(base64.b64decode(packed))
    size = shift = at = 0
    while True:  # a number in groups of seven bits, the lowest first
        byte = core[at]
        size |= (byte & 127) << shift
        shift, at = shift + 7, at + 1
        if byte < 128:
            return json.loads(core[at:at + size])


def selections_of(report):
    """Of what is in the recording: each process and each thread's name."""
    yield []
    yield from SELECTIONS
    for pid in sorted({t["pid"] for t in report["threads"] if t["pid"]})[:6]:
        yield ["-p", str(pid)]
    for comm in sorted({t["comm"] for t in report["threads"]})[:6]:
        yield [f"--comm={comm}"]


def differences(program, source, selection, folder):
    status, told, why = offcpu(program, "report", *source, "--json", *selection)
    page = os.path.join(folder, "page.html")
    status_text, screen, _ = offcpu(program, "report", *source, *selection)
    status_page, _, _ = offcpu(program, "flame", *source, *selection, "-o", page)
    if status or status_text:
        return [] if status == status_text else [f"one has status {status}, one {status_text}: {why}"]
    told = json.loads(told)
    want = [h["sentence"] for h in told["headlines"]]
    wrong = []
    shown = text_of(screen)
    for got, sentence in zip(shown, want):
        brief = re.sub(r"^(\d+%) of [^:]*: ", r"\1: ", sentence)  # one that did not fit has a line
        if not got.startswith(sentence + " ") and got != brief:
            wrong.append(f"text says {got!r}, JSON {sentence!r}")
    if len(shown) > len(want) or (want and not shown):
        wrong.append(f"text has {len(shown)}, JSON {len(want)}")
    if told["little"] and told["little"] not in " ".join(screen.split("\n")):
        wrong.append(f"text does not say {told['little']!r}")
    if status_page == 0:
        about = page_of(page)
        got = [f["sentence"] for f in about["findings"]]
        if got != want or about["little"] != told["little"]:
            wrong.append(f"page says {got}, JSON {want}")
        for one, other in zip(about["findings"], told["headlines"]):
            wrong += [f"page has another {key}" for key in ("evidence", "advice", "command") if one[key] != other[key]]
    if selection[:1] == ["-p"]:
        wrong += [f"a task of {t['pid']} in {selection}" for t in told.get("task_findings", [])
                  if str(t["pid"]) != selection[1]]
    for finding in told["findings"]:
        if finding["deadlock"] and "restart" not in finding["advice"]:
            wrong.append(f"a deadlock's advice is {finding['advice']!r}")
    return wrong


def main():
    program, make = (os.path.abspath(word) for word in sys.argv[1:3])
    number = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        sources = []
        for kind in RECORDINGS:
            path = os.path.join(folder, f"{kind or 'trace'}.offcpu")
            subprocess.run([make, path] + ([kind] if kind else []), check=True)
            sources.append([path])
        history = os.path.join(folder, "history")
        subprocess.run([make, history, "history"], check=True)
        sources.append([f"--history={history}"])
        for source in sources:
            status, report, _ = offcpu(program, "report", *source, "--json")
            report = json.loads(report) if status == 0 else {"threads": []}
            for selection in selections_of(report):
                wrong = differences(program, source, selection, folder)
                number += 1
                failed += bool(wrong)
                print(f"{'not ' if wrong else ''}ok {number} {os.path.basename(source[0])} {' '.join(selection)}")
                for line in wrong:
                    print(f"# {line}")
    print(f"1..{number}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
