#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The pages of `offcpu flame` and `offcpu diff` in Firefox: test_firefox.py OFFCPU MAKE_RECORDING MAKE_FLAME.

What differs between browsers: unpacking, the policy, drawing, keys, the mouse, sizes.  The rest is asked in Chromium (test_page.py,
test_diff.py).  Exit 77 without a Firefox."""
import json
import subprocess

from firefox import FIREFOX, Firefox
from png import colours_of
from recorded import EVERYTHING, PROGRAMS, Recorded, start

SELECTED = "(({ V }) => V.labels.text[V.selected.pane.layout.tree.label[V.selected.node]])(offcpu)"
SPAN = "(({ V }) => (V.zoomPane.x1 - V.zoomPane.x0) / V.zoomPane.layout.width)(offcpu)"


class InFirefox(Recorded):
    BROWSER = Firefox
    RECORDINGS = ("before", "after", "cpu")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for what in ("server", "sliced", "hostile", "requests"):
            with open(cls.path(what + ".html"), "wb") as file:
                subprocess.run([PROGRAMS["make_flame"], what, "html"], check=True, stdout=file, timeout=60)
        cls.make("diff", "change.html", "before.offcpu", "after.offcpu")
        cls.make("flame", "cpu.html", "cpu.offcpu")

    def tearDown(self):
        self.assertEqual(self.browser.problems(), [])

    def test_draws_and_zooms(self):
        self.browser.open(self.path("server.html"), EVERYTHING)
        self.browser.picture(self.path("shot.png"))
        self.assertGreater(len(colours_of(self.path("shot.png"))), 40)
        x, y = self.browser.centre("#scroll")
        bottom = self.browser.run("document.querySelector('#scroll').getBoundingClientRect().bottom") - 28
        self.browser.click(x / 4, bottom)    # a thread's name, in the row above the root
        self.assertLess(self.browser.run(SPAN), 1)
        self.browser.keys("Escape")
        self.assertEqual(self.browser.run(SPAN), 1)
        self.browser.keys("+")
        self.assertLess(self.browser.run(SPAN), 1)
        before = self.browser.run("offcpu.V.zoomPane.x0")
        self.browser.drag(x, y, x - 150, y)
        self.assertGreater(self.browser.run("offcpu.V.zoomPane.x0"), before)

    def test_keys(self):
        self.browser.open(self.path("server.html"), EVERYTHING)
        self.browser.keys("/", *"futex", "Enter")
        self.assertIn("futex", self.browser.run(SELECTED))
        self.assertRegex(self.text("#found"), "% · ")
        self.browser.keys("Escape", "ArrowUp", "t", "2", "ArrowDown", "Enter")
        self.assertEqual(self.browser.run("offcpu.S.view"), "sandwich")
        self.assertEqual(self.browser.run("document.documentElement.dataset.theme"), "dark")
        self.browser.keys("1", "?")
        self.assertFalse(self.browser.run("document.querySelector('#help').hidden"))
        self.browser.keys("Escape")
        link = self.browser.run("location.hash")
        total = self.browser.run("offcpu.V.total")
        self.browser.open(self.path("server.html"), link)
        self.assertEqual(self.browser.run("offcpu.V.total"), total)

    def test_time(self):
        self.browser.open(self.path("sliced.html"), EVERYTHING)
        self.browser.keys("5", "ArrowRight", "b", "ArrowRight", "ArrowRight")
        self.assertEqual(self.browser.run("[offcpu.S.range, offcpu.S.range2].map(String).join(' ')"), "2,7 0,5")
        self.assertRegex(self.text("#what"), "^Before .* after .*/s: .* ±")

    def test_ranges_by_mouse(self):
        """A range dragged over the heat map is what the graph and the table are of; a second one, with Ctrl, what it is compared with."""
        self.browser.open(self.path("sliced.html"), EVERYTHING)
        whole = self.browser.run("offcpu.V.total")
        self.browser.keys("5")
        left, wide, y, cnt = self.browser.run("(() => { const b = document.querySelector('#heat').getBoundingClientRect(), { V } = offcpu;"
                                              "return [b.x + V.heatLeft, V.heatMaps[0].wide, b.y + 40, V.data.slices.cnt]; })()")
        parts = 0
        for a, b in ((0, cnt // 2 - 1), (cnt // 2, cnt - 1)):
            self.browser.drag(left + (a + 0.5) * wide, y, left + (b + 0.5) * wide, y)
            self.assertEqual(self.browser.run("offcpu.S.range"), [a, b])
            parts += self.browser.run("offcpu.V.total")
        self.assertEqual(parts, whole)
        self.browser.keys("2")
        rows = self.browser.run("offcpu.tableRows().map((r) => [r.name, r.total])")
        self.assertEqual(max(n for _, n in rows), self.browser.run("offcpu.V.total"))
        self.browser.keys("5")
        self.browser.drag(left + 20.5 * wide, y, left + 29.5 * wide, y)
        self.browser.drag(left + 0.5 * wide, y, left + 9.5 * wide, y, ctrl=True)
        self.assertEqual(self.browser.run("[offcpu.S.range, offcpu.S.range2].map(String).join(' ')"), "20,29 0,9")
        self.assertRegex(self.text("#what"), "^Before .* after .*/s: .* ±")

    def test_diff(self):
        self.browser.open(self.path("change.html"), EVERYTHING)
        finding = json.loads(self.offcpu("diff", "before.offcpu", "after.offcpu", "--json"))["finding"]
        self.assertEqual(self.text("#sub"), finding)
        drawn = self.browser.run("offcpu.V.painter.texts.slice(0, offcpu.V.painter.textCnt).map((t) => t.sign + offcpu.V.looks.names[t.label])")
        self.assertIn("+10% futex_wait", drawn)
        self.browser.keys("2")
        rows = {r[0]: r for r in self.browser.run("[...document.querySelectorAll('#table tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))")}
        self.assertEqual(rows["futex_wait"][1:4], ["8.00 s", "8.80 s", "+804 ms"])
        self.assertEqual((rows["pipe_write"][5], rows["pipe_read"][5]), ("new", "gone"))

    def test_hostile_and_policy(self):
        self.browser.open(self.path("hostile.html"))
        self.browser.keys("2", "g", "r", "1")
        self.assertIn("<script>alert(1)</script>", self.browser.run("offcpu.V.labels.text"))
        # A script that is not the page's own is refused, and that is told: so is what else would go wrong.
        self.browser.run("(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; document.body.append(s); return 0; })()")
        self.assertTrue(self.browser.run("window.ran === undefined"))
        found = self.browser.problems()
        self.assertTrue(any("Content-Security-Policy" in text or "Content Security Policy" in text for text in found), found)
        self.browser.forget_problems()

    def test_requests(self):
        self.browser.open(self.path("requests.html"), "#view=time")
        whole = self.browser.run("offcpu.V.total")
        self.browser.keys("q")
        self.assertLess(self.browser.run("offcpu.V.total"), whole)
        x, y = self.browser.run("(() => { const b = document.querySelector('#requests').getBoundingClientRect(), at = offcpu.V.requestAt[0];"
                                "return [b.x + at.x + at.wide / 2, b.y + at.y]; })()")
        self.browser.click(x, y)
        self.assertRegex(self.text("#what"), r"^serve<&> took 3\.\d\d ms at 0\.\d{3} s")

    def test_on_cpu(self):
        self.browser.open(self.path("cpu.html"))
        self.assertRegex(self.text("#title"), r", [\d.]+ m?s$")
        self.assertGreater(self.browser.run("offcpu.V.onCpu"), 0)


start(FIREFOX, "Firefox", "offcpu", "make_recording", "make_flame")
