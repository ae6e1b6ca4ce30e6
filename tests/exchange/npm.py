# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Readers and servers that npm has: where they are, fetched once where they are not."""
import os
import pathlib
import shutil
import subprocess

VERSIONS = {"pprof-format": "2.3.2", "speedscope": "1.25.0", "chdb": "3.4.0"}
FETCHED = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "offcpu-npm")


def folder_of(package):
    """Of node_modules: one of NODE_PATH, or what is fetched into the user's cache, outside of this tree; None: it cannot be had."""
    home = FETCHED / package    # of its own, since tests fetch side by side
    folders = [pathlib.Path(p) for p in os.environ.get("NODE_PATH", "").split(":") if p] + [home / "node_modules"]
    for folder in folders:
        if (folder / package).is_dir():
            return folder
    if not shutil.which("npm"):
        return None
    words = ["npm", "install", "--prefix", home, "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0", "--fetch-timeout=20000",
             f"{package}@{VERSIONS[package]}"]
    home.mkdir(parents=True, exist_ok=True)
    try:
        subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=300, check=False)
    except subprocess.TimeoutExpired:
        return None
    return folders[-1] if (folders[-1] / package).is_dir() else None
