#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Requests in the page, by mouse and keyboard: test_requests.py OFFCPU MAKE_FLAME.

What is expected comes from `offcpu report --json` of the same recording.  Exit 77 without a Chromium."""
import json
import re
import subprocess

from browser import CHROMIUM, Browser
from png import colours_of
from recorded import PROGRAMS, Opened, start

CHOSEN = "offcpu.S.request && offcpu.V.requests.list[offcpu.S.request].start"
FRAMES = """(() => { const { V } = offcpu, out = {}, { tree, total, nodes, cnt } = V.layouts[0];
	for (let p = 0; p < cnt; p++) out[V.labels.text[tree.label[nodes[p]]]] = total[nodes[p]];
	return out; })()"""
PLACE = """((id) => { const b = document.querySelector('#requests').getBoundingClientRect(), at = offcpu.V.requestAt[id];
	return [b.x + at.x + at.wide / 2, b.y + at.y]; })(%d)"""


class Requests(Opened):
    BROWSER = Browser
    FRAGMENT = "#view=time"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        subprocess.run([PROGRAMS["make_flame"], "requests", "record=" + cls.path("r.offcpu")], check=True, timeout=60)
        cls.page = cls.make("flame", "r.html", "r.offcpu")
        report = json.loads(cls.offcpu("report", "r.offcpu", "--json"))
        cls.spans = report["spans"]    # the slowest first
        cls.start_ns = min(s["start_ns"] for s in cls.spans)
        cls.waits = sum(w["off_cpu_ns"] for w in report["waits"])

    def chosen(self):
        """The span of the report that the page has chosen."""
        at = self.browser.run(CHOSEN)
        return next(s for s in self.spans if s["start_ns"] - self.start_ns == at) if at != "" else None

    def off_cpu(self, span):
        return span["blocked_ns"] + span["runnable_ns"] + span["preempted_ns"]

    def test_lane(self):
        self.browser.picture(self.path("lane.png"))
        self.assertGreater(len(colours_of(self.path("lane.png"))), 40)
        self.assertEqual(self.browser.run("offcpu.V.total"), self.waits)
        self.assertRegex(self.text("#requests small"), "^400 requests, the 4 slowest, 1 of 100, with an edge")
        self.browser.run("offcpu.S.view = 'flame'")
        self.browser.key("o")
        self.assertTrue(self.browser.run("document.querySelector('#requests').hidden"))

    def test_by_mouse(self):
        """A click on a request: its waits are the graph; one beside all of them: the whole window again."""
        id_ = self.browser.run("offcpu.V.requests.slowest[0].id")
        self.browser.click(*self.browser.run(PLACE % id_))
        span = self.chosen()
        self.assertEqual(span, self.spans[0])
        frames = self.browser.run(FRAMES)
        self.assertEqual((frames["all"], frames["read_page"], frames["take_lock"]), (self.off_cpu(span), 50_000_000, self.off_cpu(span) - 50_000_000))
        self.assertRegex(self.text("#what"), r"^serve<&> took 53\.\d ms at \d\.\d{3} s in thread 1[01]: 1\.00 ms on CPU, 5\d\.\d ms blocked")
        self.assertIn("Latency", self.text("#panel"))
        self.assertIn("number 1 of 400", self.text("#panel"))
        link = self.browser.run("location.hash")
        x, y = self.browser.run(PLACE % id_)
        self.browser.click(x, y + 35)    # nothing took so long
        self.assertEqual((self.chosen(), self.browser.run("offcpu.V.total")), (None, self.waits))
        self.browser.open(self.page, link)
        self.assertEqual((self.chosen(), self.browser.run(FRAMES)), (span, frames))
        self.browser.press("#whole")
        self.assertIsNone(self.chosen())
        self.browser.run("[...document.querySelectorAll('#panel .bars button')].find((b) => b.textContent.includes('serve<&>')).click()")
        self.assertEqual(self.chosen(), span)

    def test_by_keyboard(self):
        self.browser.key("q")
        self.assertEqual(self.chosen(), self.spans[0])
        self.browser.key("q")
        self.assertEqual(self.chosen(), self.spans[1])
        self.browser.key("Q")
        self.assertEqual(self.chosen(), self.spans[0])
        self.browser.run("document.querySelector('#requests').focus()")
        in_time = sorted(self.spans, key=lambda s: s["start_ns"])
        at = in_time.index(self.spans[0])
        self.browser.key("ArrowLeft")
        self.assertEqual(self.chosen(), in_time[at - 1])
        self.browser.key("ArrowLeft", shift=True)
        self.assertEqual(self.chosen(), next(s for s in reversed(in_time[:at]) if s in self.spans[:4]))
        self.browser.key("Home")
        self.browser.key("ArrowDown")
        self.assertEqual(self.chosen(), self.spans[1])
        self.assertIn(("slider", "Requests"), [n[:2] for n in self.browser.accessible()])
        self.assertRegex(self.browser.run("document.querySelector('#requests').getAttribute('aria-valuetext')"), r"^serve<&> took 53\.\d ms at")
        # The mirrored tree is of the chosen request.
        self.assertRegex(self.text("#tree"), rf"^all, {self.off_cpu(self.spans[1]) / 1e6:.1f} ms")
        self.browser.key("Delete")
        self.assertIsNone(self.chosen())
        self.browser.key("q")
        self.browser.run("document.querySelector('#tree').focus()")
        self.browser.key("Escape")
        self.assertIsNone(self.chosen())

    def test_per_request(self):
        self.browser.run("(() => { const w = document.querySelector('#weight'); w.value = 'per_request'; w.dispatchEvent(new Event('change')); })()")
        self.assertEqual(self.text("#what"), f"{self.waits / len(self.spans) / 1e6:.2f} ms a request")
        self.browser.open(self.page, self.browser.run("location.hash"))
        self.assertTrue(self.text("#what").endswith(" a request"))
        self.browser.key("w")    # on to the next weight
        self.assertFalse(self.text("#what").endswith(" a request"))

    def test_without_wait(self):
        """A request whose kinds of time are switched off says so, and its numbers stay."""
        self.browser.open(self.page, "#view=time&request=0&classes=4")
        self.assertFalse(self.browser.run("document.querySelector('#empty').hidden"))
        self.assertIn("did not wait", self.text("#empty"))
        self.assertIn("Latency", self.text("#panel"))

    def test_bad_links(self):
        for request in ("400", "-1", "x", "1.5", "__proto__"):
            self.browser.open(self.page, "#view=time&request=" + request)
            self.assertEqual((self.browser.run("offcpu.S.request"), self.browser.run("offcpu.V.total")), ("", self.waits), request)

    def test_policy(self):
        """Another digest than a page without requests has, which holds none of this script."""
        with open(self.page, encoding="utf-8") as file:
            text = file.read()
        self.assertRegex(text, r"script-src 'sha256-[^']+' 'sha256-[^']+' 'sha256-[^']+'; style-src")
        bare = subprocess.run([PROGRAMS["make_flame"], "server", "html"], check=True, capture_output=True, text=True).stdout
        self.assertIsNone(re.search('id="(more|requests)"', bare))


start(CHROMIUM, "Chromium", "offcpu", "make_flame")
