#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Answers of a bounded size, of every golden recording: valid JSON in each size, ids that last, Markdown of one screen.

    answers.py OFFCPU MAKE_RECORDING

Prints TAP.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

RECORDINGS = ("", "wakers", "chains", "crowd", "before", "after", "cpu", "tasks", "tasks-more", "requests", "hostile")
SIZES = (1024, 1500, 3000, 8192, 65536)
NAME_MAX, TEXT_MAX, PAGES_MAX = 200, 1000, 200
SENTENCES = {"sentence", "evidence", "advice", "command", "help", "little", "also", "storm", "unseen", "target", "deeper", "note",
             "finding", "record_with"}
BAD = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def no_doubles(pairs):
    if len({key for key, _ in pairs}) != len(pairs):
        raise ValueError(f"a member twice: {[key for key, _ in pairs]}")
    return dict(pairs)


def ask(program, *words):
    done = subprocess.run([program, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                          env={**os.environ, "TZ": "UTC", "NO_COLOR": "1"})
    return done.returncode, done.stdout, done.stderr.decode()


def strings_of(value, key=""):
    if isinstance(value, dict):
        for name, more in value.items():
            yield from strings_of(more, name)
    elif isinstance(value, list):
        for more in value:
            yield from strings_of(more, key)
    elif isinstance(value, str):
        yield key, value


def answer_of(program, size, words):
    """The answer and what is wrong with it."""
    status, out, err = ask(program, *words, f"--max-bytes={size}")
    if status:
        return None, [f"{words} of {size} bytes: status {status}: {err}"]
    wrong = [] if len(out) <= size else [f"{words}: {len(out)} bytes, {size} were asked for"]
    if BAD.search(out.decode().rstrip("\n")):
        wrong.append(f"{words}: a character that steers a terminal")
    try:
        answer = json.loads(out, object_pairs_hook=no_doubles)
    except ValueError as error:
        return None, wrong + [f"{words} of {size} bytes: {error}"]
    for key, text in strings_of(answer):
        if len(text.encode()) > (TEXT_MAX if key in SENTENCES else NAME_MAX):
            wrong.append(f"{words}: {key} has {len(text.encode())} bytes")
    return answer, wrong


def ids_of(answer):
    for items in answer.values():
        for item in items if isinstance(items, list) else []:
            if isinstance(item, dict) and "id" in item:
                yield item["id"]


def walk(program, size, words, name):
    """All pages of what has that id: each leads on, and no piece comes twice."""
    cursor, wrong = None, []
    for _ in range(PAGES_MAX):
        more = [f"--cursor={cursor}"] if cursor else []
        answer, errors = answer_of(program, size, [*words, f"--id={name}", *more])
        wrong += errors
        if not answer or answer.get("id") != name:
            return wrong + [f"{name} at {cursor}: {answer}"]
        if "next" not in answer:
            return wrong
        option = answer["next"]["options"].split()
        if option[:2] != ["--id", name] or (cursor and int(option[3]) <= int(cursor)):
            return wrong + [f"{name}: {option} after {cursor}"]
        cursor = option[3]
    return wrong + [f"{name}: no end"]


def check_answers(program, words):
    wrong = []
    for size in SIZES:
        answer, errors = answer_of(program, size, words)
        wrong += errors
        if not answer:
            return wrong
        if size >= 2048 and any("advice" not in told for told in answer.get("headlines", [])[:1]):
            wrong.append(f"{size} bytes have no advice")
    again, errors = answer_of(program, SIZES[-1], words)
    if list(ids_of(again)) != list(ids_of(answer)):
        wrong.append("other ids the second time")
    asked, kinds = set(ids_of(answer)), set()
    for name in dict.fromkeys(ids_of(answer)):
        if name.partition("-")[0] not in kinds:
            wrong += walk(program, SIZES[0], words, name)
        kinds.add(name.partition("-")[0])
        whole, errors = answer_of(program, SIZES[-1], [*words, f"--id={name}"])
        wrong += errors
        for more in set(ids_of(whole or {})) - asked:
            asked.add(more)
            wrong += answer_of(program, SIZES[-1], [*words, f"--id={more}"])[1]
    if "report" in words:
        wrong += check_headlines(program, words, answer)
    return wrong


def check_headlines(program, words, answer):
    """The same as in the whole report."""
    report = json.loads(ask(program, *(word.replace("=summary", "") for word in words))[1])
    wrong = []
    for got, want in zip(answer.get("headlines", []), report["headlines"]):
        wrong += [f"another {key}: {got[key]!r}" for key in ("sentence", "evidence", "advice")
                  if got[key] != want[key] and not (got[key].endswith("...") and want[key].startswith(got[key][:-3]))]
    if len(answer.get("headlines", [])) != len(report["headlines"]) or answer.get("little") != report["little"]:
        wrong.append("not the headlines of --json")
    return wrong


def check_markdown(program, path):
    status, out, err = ask(program, "report", path, "--markdown")
    text = out.decode()
    wrong = [f"status {status}: {err}"] if status else []
    lines = text.splitlines()
    if not 0 < len(lines) < 60:
        wrong.append(f"{len(lines)} lines")
    if BAD.search(text.replace("\n", "")):
        wrong.append("a character that steers a terminal")
    head = text.split("```text")[0]
    for pattern in (r"(?<!\\)</", r"@\w", r"#\w", r"https:/", r"www\.", r"(?<![\\`])```"):
        if re.search(pattern, head.replace("<details><summary>", "").replace("</summary>", "")):
            wrong.append(f"{pattern} stands there unescaped")
    if len([line for line in lines if line.startswith("```")]) not in (0, 2):
        wrong.append("a fence too many")
    return wrong


def main():
    program, make = (os.path.abspath(word) for word in sys.argv[1:3])
    number = failed = 0

    def tell(what, wrong):
        nonlocal number, failed
        number += 1
        failed += bool(wrong)
        print(f"{'not ' if wrong else ''}ok {number} {what}", flush=True)
        for line in wrong[:10]:
            print(f"# {line}")

    with tempfile.TemporaryDirectory() as folder:
        for kind in RECORDINGS:
            path = os.path.join(folder, f"{kind or 'trace'}.offcpu")
            subprocess.run([make, path] + ([kind] if kind else []), check=True)
            tell(f"report of {kind}", check_answers(program, ["report", path, "--json=summary"]))
            tell(f"markdown of {kind}", check_markdown(program, path))
        before, after = (os.path.join(folder, f"{kind}.offcpu") for kind in ("before", "after"))
        for more in ([], ["--all"], ["--by", "function,leaf"], ["--fail-if", "total>90%"]):
            tell(f"diff {' '.join(more)}", check_answers(program, ["diff", before, after, *more, "--json=summary"]))
        history = os.path.join(folder, "history")
        subprocess.run([make, history, "history"], check=True)
        tell("report of a history", check_answers(program, [
            "report", f"--history={history}", "--from=2025-11-25T14:00", "--to=2025-11-25T15:00", "--json=summary"]))
    print(f"1..{number}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
