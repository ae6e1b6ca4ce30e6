#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Our page beside others on the same recording: viewers.py OFFCPU MAKE_FLAME [--async-profiler JAR] [FRAMES ...] (2000 and 50000).

d3-flame-graph and speedscope are fetched by npm at run time, into a folder that is deleted; async-profiler's converter (jfr-converter.jar)
is in no registry: who has it, or has built it, names it, and its page is drawn, too.  Wall time in a headless Chromium without a GPU, 1400 x 900, so that
all are asked alike: "first" is from the navigation (d3-flame-graph: with the tree in the page; speedscope: with the file in a script
beside it) to the second frame after something was drawn; "zoom" from the input's event to the second frame after it, the median of 5.
d3-flame-graph is used as it comes, but without its transitions; it leaves out what is narrower than a pixel ("min 1 px") or draws all."""
import argparse
import base64
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "tests", "web"))
from browser import Browser  # noqa: E402

PACKAGES = ("d3-flame-graph@5.0.0", "d3@7", "speedscope@1.25.0")
TWO_FRAMES = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"
# `act` does something to see; ms until the second frame after it.
ZOOMS = """(async () => { const times = [], two = () => %s;
	for (let i = 0; i < 5; i++) { const from = performance.now(); (%%s)(i); times.push(await two() - from); %%s; await two(); await two(); }
	times.sort((a, b) => a - b); return times[2]; })()""" % TWO_FRAMES
D3_PAGE = """<!DOCTYPE html><meta charset="utf-8"><div id="chart"></div><script src="d3.min.js"></script><script src="d3-flamegraph.umd.min.js"></script>
<script>const tree = %s; const chart = (flamegraph.default || flamegraph.flamegraph)().width(1380).transitionDuration(0).minFrameSize(%d).cellHeight(18);
d3.select('#chart').datum(tree).call(chart); document.documentElement.dataset.ready = '1';</script>"""


def tree_of(folded):
    """d3-flame-graph's: name, value, children."""
    root = {"name": "all", "value": 0, "at": {}}
    for line in folded.splitlines():
        stack, amount = line.rsplit(" ", 1)
        node, amount = root, int(amount)
        node["value"] += amount
        for name in stack.split(";"):
            node = node["at"].setdefault(name, {"name": name, "value": 0, "at": {}})
            node["value"] += amount
    stack = [root]
    while stack:
        node = stack.pop()
        node["children"] = list(node.pop("at").values())
        stack += node["children"]
    return root


def fetch(folder):
    with open(os.path.join(folder, "package.json"), "w", encoding="utf-8") as file:
        file.write("{}")
    subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", *PACKAGES], cwd=folder, check=True,
                   stdin=subprocess.DEVNULL, timeout=300)
    return os.path.join(folder, "node_modules")


def first(browser, url, is_there):
    """ms from the navigation to the second frame after `is_there`."""
    browser.call("Emulation.setDeviceMetricsOverride", width=1400, height=900, deviceScaleFactor=1, mobile=False)
    browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    browser.call("Page.navigate", url="about:blank")
    browser.call("Page.navigate", url="file://" + url)
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            if browser.run(f"location.protocol !== 'about:' && ({is_there})"):
                return browser.run(TWO_FRAMES)
        except AssertionError:
            pass    # the page that was there is gone
        time.sleep(0.01)
    raise AssertionError(f"{url}: nothing was drawn within a minute")


def zoom(browser, act, back=""):
    return browser.run(ZOOMS % (act, back))


def ours(browser, page):
    drawn = first(browser, page, "document.documentElement.dataset.ready === '1'")
    act = """(i) => { const { V } = offcpu, box = document.querySelector('#scroll').getBoundingClientRect(),
		at = { bubbles: true, clientX: box.x + box.width * (0.1 + 0.08 * i), clientY: box.bottom - 5 * 19, button: 0, pointerId: 1 };
		for (const type of ['pointerdown', 'pointerup']) document.querySelector('#scroll').dispatchEvent(new PointerEvent(type, at)); }"""
    return drawn, zoom(browser, act, "document.querySelector('#reset').click()")


def d3(browser, page):
    drawn = first(browser, page, "document.querySelectorAll('g.frame, .d3-flame-graph g').length > 1")
    act = "(i) => { const all = [...document.querySelectorAll('.d3-flame-graph g')]; all[Math.floor(all.length * (0.1 + 0.08 * i))].dispatchEvent(new MouseEvent('click', { bubbles: true })); }"
    return drawn, zoom(browser, act, "document.querySelector('.d3-flame-graph g').dispatchEvent(new MouseEvent('click', { bubbles: true }))")


def speedscope(browser, page):
    drawn = first(browser, page, "document.querySelectorAll('canvas').length > 0 && performance.now() && document.querySelector('#profile-switcher, canvas') !== null")
    act = """(i) => { const all = [...document.querySelectorAll('canvas')], box = all[0].getBoundingClientRect();
		for (const node of document.elementsFromPoint(700, 450).slice(0, 1)) node.dispatchEvent(new WheelEvent('wheel',
			{ bubbles: true, cancelable: true, ctrlKey: true, deltaY: -60, clientX: 400 + 60 * i, clientY: 450 })); }"""
    return drawn, zoom(browser, act)


def async_profiler(browser, page):
    """A click zooms to what the mouse was moved over."""
    drawn = first(browser, page, "document.readyState === 'complete' && document.querySelector('#canvas').width > 0")
    act = """(i) => { const canvas = document.querySelector('#canvas'), box = canvas.getBoundingClientRect(),
		at = { bubbles: true, clientX: box.x + box.width * (0.1 + 0.08 * i), clientY: box.bottom - 5 * 16 + 8 };
		for (const type of ['mousemove', 'click']) canvas.dispatchEvent(new MouseEvent(type, at)); }"""
    return drawn, zoom(browser, act, "document.querySelector('#reset').click()")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--async-profiler", metavar="JAR")
    parser.add_argument("offcpu")
    parser.add_argument("make_flame")
    parser.add_argument("sizes", nargs="*", type=int, default=[2000, 50000])
    args = parser.parse_args()
    offcpu, make_flame = args.offcpu, args.make_flame
    browser = Browser()
    print(f"{'frames':>9}  {'viewer':30} {'page MB':>8} {'first ms':>9} {'zoom ms':>9}")
    with tempfile.TemporaryDirectory() as folder:
        modules = fetch(folder)
        for size in args.sizes:
            recording, page = os.path.join(folder, f"{size}.offcpu"), os.path.join(folder, f"{size}.html")
            subprocess.run([make_flame, f"many={size}", "record=" + recording], check=True)
            subprocess.run([offcpu, "flame", recording, "--idle", "keep", "-o", page], check=True)
            rows = [("ours", page, ours)]
            folded = subprocess.run([offcpu, "export", recording, "-f", "folded"], check=True, capture_output=True, text=True).stdout
            tree = json.dumps(tree_of(folded))
            for least in (1, 0):
                path = os.path.join(modules, "d3-flame-graph", "dist", f"{size}-{least}.html")
                with open(path, "w", encoding="utf-8") as file:
                    file.write((D3_PAGE % (tree, least)).replace("d3.min.js", "../../d3/dist/d3.min.js"))
                rows.append((f"d3-flame-graph 5.0.0, min {least} px", path, d3))
            if args.async_profiler:
                path, text = os.path.join(folder, f"{size}-async-profiler.html"), os.path.join(folder, f"{size}.collapsed")
                with open(text, "w", encoding="utf-8") as file:
                    file.write(folded)
                subprocess.run(["java", "-jar", args.async_profiler, text, path], check=True)
                rows.append(("async-profiler", path, async_profiler))
            release = os.path.join(modules, "speedscope", "dist", "release")
            exported = subprocess.run([offcpu, "export", recording, "-f", "speedscope"], check=True, capture_output=True).stdout
            with open(os.path.join(release, f"{size}.js"), "w", encoding="utf-8") as file:
                file.write(f"speedscope.loadFileFromBase64('{size}.json', '{base64.b64encode(exported).decode()}')")
            rows.append(("speedscope 1.25.0", os.path.join(release, "index.html") + f"#localProfilePath={release.lstrip('/')}/{size}.js", speedscope))
            for name, path, measure in rows:
                try:
                    drawn, zoomed = measure(browser, path)
                    print(f"{size:>9,}  {name:30} {os.path.getsize(path.partition('#')[0]) / 1e6:8.2f} {drawn:9.0f} {zoomed:9.0f}", flush=True)
                except AssertionError as e:
                    print(f"{size:>9,}  {name:30} {str(e)[:90]}", flush=True)
    browser.close()


main()
