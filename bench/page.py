#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What the page takes: page.py MAKE_FLAME [FRAMES ...] (50000 and 1000000).

Milliseconds in a headless Chromium without a GPU, 1400 x 900: best and median of 15.  "first" is the first picture of a
zoomed or scrolled place; read and build come once, before it.  On a busy machine the best tells more than the median."""
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "web"))
from browser import Browser  # noqa: E402

MEASURE = """(() => { const { V } = offcpu, pane = V.panes[0], w = pane.layout.width, out = {};
	const draw = () => V.painter.draw(V.panes, V.looks, V.scroll());
	const times = (run) => { const l = []; for (let i = 0; i < 15; i++) { const a = performance.now(); run(i); l.push(performance.now() - a); }
		l.sort((x, y) => x - y); return [l[0], l[7]]; };
	out.first = times(() => { V.painter.width = 0; V.painter.resize(document.querySelector('#scroll').clientWidth, document.querySelector('#scroll').clientHeight); draw(); });
	out.zoom = times((i) => { pane.x0 = w * 0.3; pane.x1 = w * (0.3 + 0.5 / (i + 1)); draw(); });
	out.pan = times((i) => { pane.x0 = w * 0.01 * i; pane.x1 = pane.x0 + w * 0.3; draw(); });
	for (const name of ['read', 'trees', 'weights', 'colours']) out[name] = [V.timings[name], V.timings[name]];
	return out; })()"""


def main():
    make_flame, *sizes = sys.argv[1:]
    browser = Browser()
    print("frames     page MB " + "".join(f"{n:>16}" for n in ("read", "trees", "weights", "colours", "first", "zoom", "pan")))
    with tempfile.TemporaryDirectory() as folder:
        for size in map(int, sizes or ("50000", "1000000")):
            path = os.path.join(folder, f"{size}.html")
            with open(path, "wb") as file:
                subprocess.run([make_flame, f"many={size}", "html"], check=True, stdout=file)
            browser.open(path)
            browser.pause(1)
            t = browser.run(MEASURE)
            print(f"{size:>9,} {os.path.getsize(path) / 1e6:8.2f} " + "".join(
                f"{t[n][0]:8.1f}{t[n][1]:8.1f}" for n in ("read", "trees", "weights", "colours", "first", "zoom", "pan")))
    browser.close()


main()
