# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The table of docs/performance.md that `bench/run --write` measures and writes; tools/check-static asks how old it is."""
import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "performance.md"
BEGIN, END = "<!-- measured by bench/run --write: begin -->\n", "<!-- measured: end -->\n"
# What is measured for it, some 15 minutes on a quiet machine.
PARTS = ("pipe", "messaging", "redis", "forks", "mariadb", "filter", "start")
ALTERNATIONS = 4
# What costs on the path of a switch, at the start, or while a recording runs.
COSTS = re.compile(r"src/(bpf|session|supply|agent)/.*[ch]$|src/(features|runtimes)/\w+/(probe|agent|\w+\.bpf\.)")
NO_CODE = re.compile(r"/\*.*?(\*/|$)|^\s*\*.*|^#(include|ifndef|endif|define \w+_H$).*")
COSTS_SAID = "BPF programs, src/session, src/supply, src/agent"
LINES_MAX = 300


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                          check=False)


def commit_of(offcpu):
    """The commit that the binary was built of; ValueError: it is not the last one, or what it was built of had changes."""
    head = git("rev-parse", "HEAD").stdout.strip()
    said = subprocess.run([offcpu, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout
    built = re.search(r"-g([0-9a-f]{7,40})(-dirty)?", said)
    if not built or built.group(2) or not head.startswith(built.group(1)):
        raise ValueError(f"{offcpu} is not of the last commit, {head[:12]}: {said.strip()}")
    return head[:12]


def write(commit, conditions, text):
    """Puts the table, and of what machine it is, into the page."""
    page = PAGE.read_text()
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    about = (f"Measured on {conditions['date']} at commit `{commit}`: {conditions['cpu_model']}, {conditions['cpus']} CPUs,\n"
             f"Linux {conditions['kernel']}; load average before it {conditions['load_average_1min_at_start']}, medians of "
             f"{conditions['alternations']} alternations.\n")
    PAGE.write_text(page[:begin] + "\n" + about + "\n" + text + "\n\n" + page[end:])


def code_lines_changed(commit):
    """Lines of what costs that were added or removed since then; comments and includes cost nothing, nor a file that moved."""
    lines, counts = {"+": Counter(), "-": Counter()}, False
    for line in git("diff", "-M", "-U0", commit, "--", "src").stdout.splitlines():
        if line.startswith("+++ "):
            counts = COSTS.match(line.removeprefix("+++ b/"))
        elif line.startswith("--- "):
            counts = False
        elif counts and line[:1] in lines:
            code = NO_CODE.sub("", line[1:]).strip()
            lines[line[0]].update([code] if code else [])
    return ((lines["+"] - lines["-"]) + (lines["-"] - lines["+"])).total()


def what_is_stale():
    """A sentence; "": the table is of this program.  None: there is no history to tell by."""
    if git("rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        return None
    found = re.search(r"at commit `([0-9a-f]{12})`", PAGE.read_text())
    if not found:
        return "docs/performance.md names no commit that its table is of"
    commit = found.group(1)
    if git("merge-base", "--is-ancestor", commit, "HEAD").returncode != 0:
        return f"commit {commit}, of which the table is, is none of this history"
    lines = code_lines_changed(commit)
    if lines > LINES_MAX:
        return (f"{lines} lines of {COSTS_SAID} changed since commit {commit}, of which the table is "
                f"(at most {LINES_MAX}): measure again, on a quiet machine: bench/run --write")
    return ""
