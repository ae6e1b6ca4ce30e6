#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The flame graph in a browser: test_flame.py MAKE_FLAME.

Each case opens a graph in a headless Chromium with a script of its own at the end that
acts as a user does (clicks, keys, typing) and leaves what it saw in the document.  What
is expected is worked out here, from the numbers in the file.  Exit 77 where there is no
Chromium.
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

NS = "{http://www.w3.org/2000/svg}"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CHROMIUM = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
         "--disable-component-update --disable-sync --virtual-time-budget=20000 --dump-dom").split()
MAKE_FLAME = None

# Errors from the first line on; helpers for the scripts of the cases.
BEFORE = "<script>window.problems = []; window.onerror = function (m) { problems.push(String(m)); };" \
         "window.alert = function () { problems.push('alert'); };</script>"
AFTER = """<script><![CDATA[
(async function () {
var svg = document.querySelector('svg.offcpu'), result = {};
function $(s) { return svg.querySelector(s); }
function all(s) { return Array.from(svg.querySelectorAll(s)); }
function pause() { return new Promise(function (done) { setTimeout(done, 80); }); }
function name(g) { return g.querySelector('title').textContent.split('\\n')[0]; }
function named(n) { return all('.f').find(function (g) { return name(g) === n; }); }
function shown() { return all('.f').filter(function (g) { return !g.classList.contains('h'); }); }
function click(g) { g.querySelector('rect').dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true })); }
function key(k, more) {
	(document.activeElement || document).dispatchEvent(new KeyboardEvent('keydown',
		Object.assign({ key: k, bubbles: true, cancelable: true }, more)));
}
function type(s) { var i = $('input'); i.value = s; i.dispatchEvent(new Event('input', { bubbles: true })); }
function focused() { var g = document.activeElement; return g && g.matches('.f') ? name(g) : g && g.tagName; }
function state() {
	return { hash: location.hash, matched: $('.matched').textContent, status: $('.status').textContent,
		shown: shown().map(name), faded: all('.a').map(name), marked: all('.m').map(name), focused: focused() };
}
try {
await pause();
STEPS
} catch (e) { problems.push(String(e)); }
result.problems = problems;
var out = document.createElementNS('http://www.w3.org/2000/svg', 'desc');
out.setAttribute('id', 'result');
out.textContent = JSON.stringify(result);
svg.appendChild(out);
})();
]]></script>"""


class Graph:
    """A graph written by make_flame, and what its numbers say."""

    def __init__(self, folder, *args):
        self.text = subprocess.run([MAKE_FLAME, *args], check=True, capture_output=True, timeout=60).stdout.decode()
        self.path = os.path.join(folder, "-".join(args).replace("=", "-") + ".svg")
        self.folder = folder
        self.frames = []
        for g in ET.fromstring(self.text.encode()).iter(NS + "g"):
            if "data-f" in g.attrib:
                start, total, depth = map(int, g.get("data-f").split(","))
                lines = g.find(NS + "title").text.split("\n")
                self.frames.append({"name": lines[0], "start": start, "total": total, "depth": depth,
                                    "rest": g.get("class") == "f e"})

    def named(self, name):
        return next(f for f in self.frames if f["name"] == name)

    def covered(self, pattern, flags=re.I):
        """Time under matching frames, each nanosecond once, by the union of their intervals."""
        hits = sorted((f["start"], f["start"] + f["total"]) for f in self.frames
                      if not f["rest"] and re.search(pattern, f["name"], flags))
        total, end = 0, 0
        for a, b in hits:
            total += max(0, b - max(a, end))
            end = max(end, b)
        return total, len(hits)

    def run(self, steps, fragment="", size="1200,700"):
        marked = self.text.replace("<style>", BEFORE + "<style>", 1)
        at = marked.rindex("</svg>")
        marked = marked[:at] + AFTER.replace("STEPS", steps) + marked[at:]
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(marked)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
            dom = subprocess.run([CHROMIUM, *FLAGS, f"--window-size={size}", f"--user-data-dir={home}",
                                  f"file://{self.path}{fragment}"], capture_output=True, timeout=120).stdout.decode()
        found = re.search(r'<desc id="result">(.*?)</desc>', dom, re.S)
        if not found:
            raise AssertionError("no result in the document: " + dom[-2000:])
        result = json.loads(html.unescape(found.group(1)))
        if result["problems"]:
            raise AssertionError("problems in the page: %r" % result["problems"])
        return result


def percent(part, whole):
    return f"{round(100 * part / whole, 1):g}%"


class Flame(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.graph = Graph(cls.folder.name, "server")
        cls.all = cls.graph.frames[0]["total"]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_plain(self):
        r = self.graph.run("result.a = state(); result.tabs = all('.f[tabindex]').map(name);"
                           "result.roles = all('.frames, .f').map(function (g) { return g.getAttribute('role'); });"
                           "result.label = named('io_getevents').getAttribute('aria-label');")
        self.assertEqual(r["a"]["shown"], [f["name"] for f in self.graph.frames])
        self.assertEqual((r["a"]["hash"], r["a"]["matched"], r["a"]["marked"]), ("", "", []))
        self.assertEqual(r["tabs"], ["all"])
        self.assertEqual(r["roles"], ["tree"] + ["treeitem"] * len(self.graph.frames))
        self.assertRegex(r["label"], r"^io_getevents, libaio\.so\.1 · 4\.72 s, ")

    def test_search_by_address(self):
        for pattern in ("futex", "schedule|kthread", "^main$", ".", "THD.*bool"):
            with self.subTest(pattern):
                total, count = self.graph.covered(pattern)
                r = self.graph.run("result.a = state(); result.value = $('input').value;",
                                   "#search=" + pattern.replace("|", "%7C").replace("^", "%5E"))
                self.assertTrue(r["a"]["matched"].startswith(f"Matched {percent(total, self.all)}, "), r["a"]["matched"])
                self.assertIn(f" in {count} frame", r["a"]["matched"])
                self.assertEqual(len(r["a"]["marked"]), count)
                self.assertEqual(r["value"], pattern)

    def test_case(self):
        r = self.graph.run("result.a = state(); $('button[aria-pressed]').click(); await pause(); result.b = state();"
                           "type('THD'); result.c = state();", "#search=thd")
        count = self.graph.covered("thd")[1]
        self.assertEqual(len(r["a"]["marked"]), count)
        self.assertEqual((r["b"]["marked"], r["b"]["matched"]), ([], "No frame matches"))
        self.assertEqual(r["b"]["hash"], "#search=thd&case=1")
        self.assertEqual(len(r["c"]["marked"]), count)

    def test_bad_expression_and_bad_address(self):
        r = self.graph.run("result.a = state(); result.role = $('.matched').getAttribute('role');"
                           "location.hash = '#search=%E0%A4%A&zoom=nonsense&&=&x'; await pause(); result.b = state();", "#search=(")
        self.assertRegex(r["a"]["matched"], "^Not a regular expression: .+")
        self.assertEqual((r["a"]["marked"], r["role"]), ([], "alert"))
        self.assertEqual(r["b"]["shown"], [f["name"] for f in self.graph.frames])
        self.assertEqual(r["b"]["matched"], "No frame matches")

    def test_zoom_and_back(self):
        r = self.graph.run("""
            click(named('sysbench')); await pause(); result.a = state();
            result.box = ['x', 'width'].map(function (k) { return +named('sysbench').querySelector('rect').getAttribute(k); });
            result.outer = svg.getBoundingClientRect().width;
            click(named('db_query')); await pause(); result.b = state();
            history.back(); await pause(); result.c = state();
            $('.bar button').click(); await pause(); result.d = state();
            history.back(); await pause(); result.e = state();""")
        top = self.graph.named("sysbench")
        inside = [f["name"] for f in self.graph.frames
                  if f["start"] >= top["start"] and f["start"] + f["total"] <= top["start"] + top["total"]]
        self.assertEqual(r["a"]["shown"], ["all"] + [n for n in inside if n != "all"])
        self.assertEqual(r["a"]["faded"], ["all"])
        self.assertRegex(r["a"]["hash"], "^#zoom=[0-9a-z]+$")
        self.assertTrue(r["a"]["status"].startswith("sysbench  "), r["a"]["status"])
        self.assertAlmostEqual(r["box"][0], 10, delta=0.1)
        self.assertAlmostEqual(r["box"][1], r["outer"] - 20, delta=1.5)
        self.assertEqual(r["b"]["faded"], ["all", "sysbench", "__clone3", "start_thread", "worker_thread"])
        self.assertEqual(r["c"], {**r["a"], "focused": r["c"]["focused"]})
        self.assertEqual((r["d"]["faded"], r["d"]["hash"]), ([], ""))
        self.assertEqual(r["e"]["hash"], r["a"]["hash"])
        for other in (self.graph, Graph(self.folder.name, "server", "inverted", "all", "palette=state")):
            again = other.run("result.a = state();", r["b"]["hash"] + "&search=recv")
            self.assertEqual(again["a"]["faded"], r["b"]["faded"])
            self.assertEqual(again["a"]["marked"], ["recv", "__x64_sys_recvfrom", "sock_recvmsg"])
            self.assertIn("100% of the zoomed frame", again["a"]["matched"])

    def test_keyboard(self):
        r = self.graph.run("""
            key('ArrowUp'); result.up = focused(); key('ArrowRight'); result.right = focused();
            key('ArrowLeft'); result.left = focused(); key('ArrowUp'); result.up2 = focused();
            key('ArrowDown'); key('Enter'); await pause(); result.zoomed = state();
            result.ring = !$('.ring').classList.contains('h');
            result.tabs = all('.f[tabindex]').length;
            key('/'); result.slash = focused(); type('futex'); key('Enter'); result.first = focused();
            key('n'); result.second = focused(); key('N'); result.again = focused();
            key('Escape'); await pause(); result.out = state();
            key('f', { ctrlKey: true }); result.find = focused(); key('Escape'); await pause(); result.closed = state();
            key('/'); type('recv'); key('Escape'); result.cleared = state();""")
        self.assertEqual((r["up"], r["right"], r["left"], r["up2"]), ("mariadbd", "sysbench", "mariadbd", "__clone3"))
        self.assertEqual((r["zoomed"]["faded"], r["zoomed"]["focused"], r["ring"], r["tabs"]), (["all"], "mariadbd", True, 1))
        self.assertEqual((r["slash"], r["find"]), ("input", "input"))
        self.assertEqual(r["first"], "__x64_sys_futex")
        self.assertEqual((r["second"], r["again"]), ("do_futex", "__x64_sys_futex"))
        self.assertEqual((r["out"]["faded"], r["out"]["hash"]), ([], "#search=futex"))
        for after in ("closed", "cleared"):
            self.assertEqual((r[after]["marked"], r[after]["matched"], r[after]["hash"]), ([], "", ""))

    def test_text_fits(self):
        for size, fragment in (("1200,700", ""), ("700,500", ""), ("1900,900", "#search=a")):
            r = self.graph.run("""
                await document.fonts.ready;
                click(named('mysql_parse(THD*, char*, unsigned int, Parser_state*)')); await pause();
                result.spill = shown().filter(function (g) {
                    var t = g.querySelector('text'), room = +g.querySelector('rect').getAttribute('width');
                    return t && t.getComputedTextLength() > room - 4; }).map(name);
                result.out = all('.head text, .foot text').filter(function (t) {
                    var b = t.getBoundingClientRect(); return b.right > svg.getBoundingClientRect().right || b.left < 0; })
                    .map(function (t) { return t.textContent; });
                result.width = svg.getBoundingClientRect().width; result.view = svg.getAttribute('viewBox');
                result.empty = shown().filter(function (g) { return g.querySelector('rect').getAttribute('width') > 60 &&
                    !g.querySelector('text').textContent; }).length;""", fragment, size)
            self.assertEqual((r["spill"], r["out"], r["empty"]), ([], [], 0), size)
            self.assertEqual(r["view"].split()[2], str(int(r["width"])))

    def test_hostile_names(self):
        for args in (("hostile",),):
            graph = Graph(self.folder.name, *args)
            r = graph.run("""
                result.scripts = document.querySelectorAll('script').length; result.names = all('.f').map(name);
                type('script|日本'); result.a = state(); click(named('<script>alert(1)</script>')); await pause();
                result.b = state(); result.inside = all('.status *, .matched *').map(function (e) { return e.tagName; });""")
            self.assertEqual(r["scripts"], 3, "ours, the two of this test, and none of a name's")
            for name in ("<&\"'>]]>", "]]><x/>", "__proto__", "\\u202ereversed\\u202c", "日本語の関数名はとても長いので切られる"):
                self.assertIn(name, r["names"])
            self.assertEqual(r["a"]["marked"], ["<script>alert(1)</script>", "日本語の関数名はとても長いので切られる"])
            self.assertTrue(r["b"]["status"].startswith("<script>alert(1)</script>  "))
            self.assertEqual(r["inside"], ["tspan", "tspan"])


def main():
    global MAKE_FLAME
    if not CHROMIUM:
        print("skipped, no Chromium: none of " + ", ".join(NAMES) + " is installed, and CHROMIUM names none")
        sys.exit(77)
    MAKE_FLAME = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)


main()
