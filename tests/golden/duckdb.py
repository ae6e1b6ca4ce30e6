#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Asks DuckDB, which npm has, the questions of docs/sql.md, of views that it read as CSV: the answers are the page's.

    duckdb.py OFFCPU MAKE_RECORDING [--at-night]     # --at-night: else it is skipped

Prints TAP.
"""
import csv
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "exchange")]

import npm  # noqa: E402
import sql  # noqa: E402

PACKAGE = "@duckdb/node-api"
VIEWS = ("v_findings", "v_waits", "v_thread", "v_hist", "v_wake", "v_span", "v_task", "v_tcp_wait", "span_wait", "v_stack_text")
ASK = """
const { DuckDBInstance } = require('@duckdb/node-api');
(async () => {
  const db = await (await DuckDBInstance.create(':memory:')).connect();
  const told = [];
  for (const query of JSON.parse(require('fs').readFileSync(0))) {
    try {
      const read = await db.runAndReadAll(query);
      told.push([read.columnNames(), ...read.getRows().map((row) => row.map((cell) => cell === null ? '' : String(cell)))]);
    } catch (error) {
      told.push([[String(error)]]);
    }
  }
  console.log(JSON.stringify(told));
})();
"""


def as_csv(path, folder):
    """Queries that make tables of what is written into the folder."""
    queries = []
    with sqlite3.connect(path) as db:
        for view in VIEWS:
            rows = db.execute(f"SELECT * FROM {view}")
            out = os.path.join(folder, f"{os.path.basename(path)}.{view}.csv")
            with open(out, "w", newline="", encoding="utf-8") as f:
                csv.writer(f).writerows([[column[0] for column in rows.description], *rows])
            queries.append(f"CREATE OR REPLACE TABLE {view} AS FROM read_csv('{out}', header = true, sample_size = -1)")
    return queries


def ask(modules, queries):
    done = subprocess.run(["node", "-e", ASK], input=json.dumps(queries), capture_output=True, text=True, check=False, timeout=120,
                          env={**os.environ, "NODE_PATH": str(modules)})
    if done.returncode:
        raise ValueError(done.stderr[-1500:])
    return json.loads(done.stdout)


def plain(cell):
    """500 and 500.0 are the same."""
    try:
        return float(cell)
    except ValueError:
        return cell


def main():
    offcpu, make = map(os.path.abspath, sys.argv[1:3])
    is_day = "--at-night" in sys.argv and os.environ.get("OFFCPU_TEST_ALL") != "1"
    modules = None if is_day or not shutil.which("node") else npm.folder_of(PACKAGE)
    if not modules:
        print(f"1..1\nok 1 - DuckDB # SKIP {'at night only' if is_day else f'npm has not given {PACKAGE}'}")
        return 0
    text = (sql.DOCS / "sql.md").read_text(encoding="utf-8")
    failed, questions, queries, at = 0, list(sql.ANSWERED.finditer(text)), [], []
    print(f"1..{len(questions)}")
    with tempfile.TemporaryDirectory() as folder:
        told = {name: sql.export(offcpu, make, folder, name) for name in ("trace", *(name for _, name in sql.OF))}
        for match in questions:
            queries += [*as_csv(told[sql.asked_of(text, match.start())], folder), match["query"]]
            at.append(len(queries) - 1)
        answers = ask(modules, queries)
    for number, (match, index) in enumerate(zip(questions, at), 1):
        expected = [line.strip().split("|") for line in (match["answer"] or "").strip().splitlines()]
        got, wanted = ([[plain(cell) for cell in row] for row in rows] for rows in (answers[index], expected))
        failed += got != wanted
        print(f"{'ok' if got == wanted else 'not ok'} {number} - {match['query'].split(chr(10))[0].strip()[:90]}")
        if got != wanted:
            print("# " + f"{got}\n{wanted}".replace("\n", "\n# "))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
