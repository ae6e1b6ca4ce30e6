# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""speedscope itself, npm's, in Chromium: what it makes of a file."""
import base64
import json
import pathlib
import re
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "web"))
from browser import CHROMIUM, Browser  # noqa: E402

UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9}
ROW = r"\n\t(?:(\d+):(\d+)|([\d.]+)(ns|µs|ms|s)) \("


def read(browser, release, data):
    """The text of its table of functions."""
    with tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder, "file.js")
        script.write_text(f"speedscope.loadFileFromBase64({json.dumps('off-cpu.speedscope.json')}, {json.dumps(base64.b64encode(data).decode())})")
        browser.call("Page.navigate", url="about:blank")
        browser.call("Page.navigate", url=f"file://{release}/index.html#localProfilePath={script}")
        for _ in range(200):
            if "Sandwich" in browser.run("document.body ? document.body.innerText : ''"):
                break
            time.sleep(0.05)
        browser.key("3")
        browser.pause(0.2)
        return browser.run("document.body.innerText")


def self_times_ns(text):
    """The sum over functions, and the most by which rounding to the digits that are shown may change it."""
    total = error = 0
    for minutes, seconds, value, unit in re.findall(ROW, text):
        total += (60 * int(minutes) + int(seconds)) * 1e9 if minutes else float(value) * UNITS[unit]
        error += 1e9 if minutes else 0.005 * UNITS[unit]
    return total, error
