#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The page of `offcpu flame -o x.html` in a browser, by mouse and keyboard: test_page.py MAKE_FLAME.

What is expected is worked out from the SVG of the same recording, which another code makes.  Exit 77 without a Chromium."""
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ET

from browser import CHROMIUM, Browser
from png import colours_of

MAKE_FLAME = None
EVERYTHING = "#off=_&allFrames=1"    # idle time and folded frames, too, as the SVG has them
NS = "{http://www.w3.org/2000/svg}"
TOTALS = """(() => {
	const { V } = offcpu, out = {}, { tree, total, nodes, cnt } = V.layouts[0];
	for (let p = 0; p < cnt; p++) out[tree.path(nodes[p]).map((n) => V.labels.text[tree.label[n]]).join('\\n')] = total[nodes[p]];
	return out;
})()"""
STATE = """(() => { const { V, S } = offcpu, d = V.selected;
	const name = (p, n) => V.labels.text[p.layout.tree.label[n]];
	return { hash: location.hash, view: S.view, selected: name(d.pane, d.node), zoomed: name(V.zoomPane, V.zoomPane.zoomed), total: V.total,
		span: [V.zoomPane.x0 / V.zoomPane.layout.width, V.zoomPane.x1 / V.zoomPane.layout.width], found: document.querySelector('#found').textContent,
		status: document.querySelector('#status').textContent, focus: document.activeElement.id || document.activeElement.tagName }; })()"""
WHERE = """((name) => { const { V } = offcpu;
	for (const pane of V.panes) for (let p = 0; p < pane.layout.cnt; p++) {
		const n = pane.layout.nodes[p], d = pane.layout.tree.depth[n];
		if (V.labels.text[pane.layout.tree.label[n]] !== name || d < pane.from) continue;
		const box = document.querySelector('#scroll'), y = (pane.base + pane.step * d) * 19;
		if (y < box.scrollTop || y > box.scrollTop + box.clientHeight - 19) { box.scrollTop = y - 60; }
		const b = box.getBoundingClientRect(), scale = V.painter.width / (pane.x1 - pane.x0);
		const x = ((pane.layout.left[p] + pane.layout.right[p]) / 2 - pane.x0) * scale;
		return [b.x + x, b.y + y - box.scrollTop + 9];
	} return null; })(%s)"""


def make(folder, *args):
    path = os.path.join(folder, "-".join(args).replace("=", "-") + (".html" if "html" in args else ".svg"))
    with open(path, "wb") as file:
        subprocess.run([MAKE_FLAME, *args], check=True, stdout=file, timeout=120)
    return path


def svg_totals(path):
    """By path of names, as TOTALS."""
    names, out = [], {}
    for g in ET.parse(path).iter(NS + "g"):
        if "data-f" in g.attrib:
            _, total, depth = map(int, g.get("data-f").split(","))
            names[depth:] = [g.find(NS + "title").text.split("\n")[0]]
            out["\n".join(names)] = out.get("\n".join(names), 0) + total
    return out


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.browser = Browser()
        cls.page = make(cls.folder.name, "server", "html")
        cls.totals = svg_totals(make(cls.folder.name, "server", "all"))
        cls.all = cls.totals["all"]

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    def setUp(self):
        self.browser.problems.clear()
        self.browser.open(self.page + EVERYTHING)

    def tearDown(self):
        self.assertEqual(self.browser.problems, [])

    def state(self):
        return self.browser.run(STATE)

    def click_frame(self, name, **more):
        at = self.browser.run(WHERE % json.dumps(name))
        self.browser.pause()
        self.browser.click(*self.browser.run(WHERE % json.dumps(name)) if at else at, **more)

    def keys(self, *keys):
        for key in keys:
            self.browser.key(key)

    def under(self, pattern, totals=None):
        """Time below the outermost frames that match."""
        found = 0
        for path, total in (totals or self.totals).items():
            names = path.split("\n")[1:]
            if names and re.search(pattern, names[-1], re.I) and not any(re.search(pattern, n, re.I) for n in names[:-1]):
                found += total
        return found

    def test_same_as_the_picture(self):
        self.assertEqual(self.browser.run(TOTALS), self.totals)
        self.browser.key("r")
        self.assertEqual(self.browser.run(TOTALS), svg_totals(make(self.folder.name, "server", "all", "reverse")))
        self.keys("r", "g")    # by thread
        self.assertEqual(self.browser.run(TOTALS), svg_totals(make(self.folder.name, "server", "all", "thread")))

    def test_idle_is_folded(self):
        """Idle time is left out as the page opens, its amount is said, and its switches take it in."""
        self.browser.open(self.page)
        shown = self.state()["total"]
        self.assertLess(shown, self.all)
        self.assertRegex(self.browser.run("document.querySelector('#what').textContent"), " of idle time is off$")
        idle = """[...document.querySelectorAll('.switch')].filter((b) => b.offsetWidth && b.textContent.startsWith('idle'))
			.map((b) => [b.textContent, b.getAttribute('aria-pressed'), getComputedStyle(b).textDecorationLine])"""
        (words, pressed, line), = self.browser.run(idle)    # one for all kinds
        self.assertRegex(words, r"^idle[\d.]+% off$")
        self.assertEqual((pressed, line), ("false", "none"))
        click = "(() => { [...document.querySelectorAll('.switch')].find((b) => b.querySelector('span').textContent === 'idle').click(); })()"
        self.browser.run(click)
        self.browser.pause()
        self.assertEqual(self.state()["total"], self.all)
        self.browser.run(click)
        self.browser.pause()
        self.assertEqual(self.state()["total"], shown)
        self.browser.run("[...document.querySelectorAll('.switch')].find((b) => b.querySelector('span').textContent.startsWith('idle: ')).click()")
        self.browser.pause()
        rows = self.browser.run(idle)    # kinds apart, now that they differ
        if len(rows) > 1:
            self.assertIn("mixed", [pressed for _, pressed, _ in rows])

    def test_plumbing_is_folded(self):
        """What every wait passes through is folded as the page opens, its time stays; a search and the key bring it back."""
        self.browser.open(self.page, "#off=_")
        names = "Object.keys(%s).join('\\n').split('\\n')" % TOTALS
        folded = {"__schedule", "schedule", "do_syscall_64", "entry_SYSCALL_64_after_hwframe"}
        self.assertEqual(folded & set(self.browser.run(names)), set())
        self.assertEqual(self.state()["total"], self.all)
        self.keys("/")
        self.browser.type("^do_syscall_64$")
        self.assertEqual(self.state()["found"], "folded: see All frames")
        self.keys("Escape", "a")
        self.assertEqual(folded & set(self.browser.run(names)), folded)
        self.assertIn("allFrames=1", self.state()["hash"])
        self.browser.press("#allframes")
        self.assertEqual(folded & set(self.browser.run(names)), set())

    def test_drawn_at_once(self):
        """Pixels of the frames, light and dark, in the page and in the SVG, there also without scripts."""
        for dark in (False, True):
            self.browser.open(self.page, dark=dark)
            self.browser.picture(self.folder.name + "/shot.png")
            self.assertGreater(len(colours_of(self.folder.name + "/shot.png")), 40)
        svg = make(self.folder.name, "server")
        self.browser.call("Emulation.setScriptExecutionDisabled", value=True)
        try:
            self.browser.call("Page.navigate", url="file://" + svg)
            time.sleep(2)    # no script tells that it is there
            self.browser.picture(self.folder.name + "/shot.png")
            self.assertGreater(len(colours_of(self.folder.name + "/shot.png")), 40)
        finally:
            self.browser.call("Emulation.setScriptExecutionDisabled", value=False)

    def test_zoom(self):
        self.click_frame("sysbench")
        s = self.state()
        self.assertEqual((s["zoomed"], s["selected"]), ("sysbench", "sysbench"))
        self.assertAlmostEqual(s["span"][1] - s["span"][0], self.totals["all\nsysbench"] / self.all)
        self.assertIn("zoom=", s["hash"])
        self.keys("Escape")
        self.assertEqual((self.state()["zoomed"], self.state()["span"]), ("all", [0, 1]))
        self.keys("ArrowUp", "Enter")
        heaviest = max((t, p) for p, t in self.totals.items() if p.count("\n") == 1)[1].split("\n")[1]
        self.assertEqual(self.state()["zoomed"], heaviest)
        self.browser.press("#reset")
        self.assertEqual(self.state()["zoomed"], "all")
        self.browser.run("history.back()")
        self.browser.pause(0.2)
        self.assertEqual(self.state()["zoomed"], heaviest)

    def test_pan(self):
        x, y = self.browser.centre("#scroll")
        self.browser.mouse("mouseWheel", x, y, "none", ctrl=True, deltaX=0, deltaY=-300)
        self.browser.pause()
        a = self.state()["span"]
        self.assertLess(a[1] - a[0], 0.5)
        self.browser.drag(x, y, x - 200, y)
        b = self.state()["span"]
        self.assertGreater(b[0], a[0])
        self.assertAlmostEqual(b[1] - b[0], a[1] - a[0])
        self.browser.key("ArrowLeft", shift=True)
        self.assertLess(self.state()["span"][0], b[0])
        self.keys("+")
        c = self.state()["span"]
        self.assertLess(c[1] - c[0], b[1] - b[0])
        mx, my = self.browser.centre("#miniview")
        self.browser.drag(mx, my, mx + 100, my)
        self.assertGreater(self.state()["span"][0], c[0])
        self.keys("0")
        self.assertEqual(self.state()["span"], [0, 1])

    def test_search(self):
        self.keys("/")
        self.browser.type("futex")
        share = f"{round(100 * self.under('futex') / self.all, 1):g}%"
        self.assertTrue(self.state()["found"].startswith(share + " · "), self.state()["found"])
        self.keys("Enter")
        first = self.state()["selected"]
        self.assertIn("futex", first)
        self.keys("Escape")
        self.assertEqual(self.state()["found"], "")
        self.keys("/")
        self.browser.type("FUTEX")
        self.browser.press("#next")
        self.assertNotEqual(self.state()["selected"], first)
        self.browser.press("#prev")
        self.assertEqual(self.state()["selected"], first)
        self.browser.press("#case")
        self.assertEqual(self.state()["found"], "nothing found")
        self.browser.run("(() => { document.querySelector('#find').focus(); document.querySelector('#find').select(); })()")
        self.browser.type("(")
        self.assertIn("Not a regular expression", self.state()["found"])

    def test_weights_and_switches(self):
        sums = {}
        for weight in ("blocked", "runnable", "preempted", "off_cpu", "count"):
            self.browser.run("(() => { const w = document.querySelector('#weight'); w.value = %r; w.dispatchEvent(new Event('change')); })()" % weight)
            sums[weight] = self.state()["total"]
        self.assertEqual(sums["blocked"] + sums["runnable"] + sums["preempted"], sums["off_cpu"])
        self.assertEqual(sums["off_cpu"], self.all)
        self.assertNotIn(sums["count"], (0, self.all))
        self.keys("w")    # round to off-CPU
        self.assertEqual(self.state()["total"], self.all)
        self.keys("s")    # small ones, too
        count = 3 + self.browser.run("document.querySelectorAll('#switches [role=group]:nth-child(2) .switch').length")
        self.assertGreaterEqual(count, 7)
        apart = 0
        for i in range(3, count):
            selector = f"#switches [role=group]:nth-child(2) .switch:nth-of-type({i - 2})"
            self.browser.press(selector, shift=True)
            apart += self.state()["total"]
            again = self.state()
            self.browser.open(self.page, again["hash"])
            self.assertEqual(self.state()["total"], again["total"], "a link keeps switches")
            self.browser.open(self.page, EVERYTHING + "&allSwitches=1")
        self.assertEqual(apart, self.all)
        self.browser.press("#switches .switch")
        self.assertEqual(self.state()["total"], sums["runnable"] + sums["preempted"])
        self.assertIn(" is off", self.browser.run("document.querySelector('#what').textContent"))
        self.browser.run("document.querySelector('#switches .switch').focus()")
        self.keys(" ")
        self.assertEqual(self.state()["total"], self.all)

    def test_sandwich(self):
        name = "do_syscall_64"
        self.click_frame(name, button="right")
        s = self.state()
        self.assertEqual((s["view"], s["total"]), ("sandwich", self.under("^do_syscall_64$")))
        callers = self.browser.run("offcpu.V.layouts[1].width")
        self.assertEqual(callers, s["total"])
        self.keys("ArrowUp")
        self.assertEqual(self.state()["selected"], "entry_SYSCALL_64_after_hwframe")
        self.keys("ArrowDown", "ArrowDown")
        self.assertIn(self.state()["selected"], ("__x64_sys_poll", "__x64_sys_futex", "__x64_sys_io_getevents", "__x64_sys_recvfrom"))
        before = self.state()
        self.browser.open(self.page, before["hash"])
        self.assertEqual({**self.state(), "focus": 0, "status": 0}, {**before, "focus": 0, "status": 0})
        self.keys("Escape")
        self.assertEqual(self.state()["view"], "flame")

    def test_wakers(self):
        page = make(self.folder.name, "many=2000", "html")
        self.browser.open(page)
        blocked = self.browser.run("offcpu.V.data.waits.classes[0].reduce((a, b) => a + b, 0)")
        self.browser.pause(0.3)
        self.browser.run("[...document.querySelectorAll('#panel .bars button')].find((b) => b.textContent.startsWith('waker')).click()")
        self.browser.pause(0.3)
        self.assertEqual((self.state()["view"], self.state()["zoomed"]), ("wakers", "waker"))
        self.browser.run("offcpu.S.classes = 1")
        self.keys("o")
        self.assertEqual(self.state()["total"], blocked)
        hash_now = self.state()["hash"]
        self.browser.open(page, hash_now)
        self.assertEqual((self.state()["view"], self.state()["total"]), ("wakers", blocked))

    def test_wakers_of_whom(self):
        """Wakers are those of all, unless a frame is chosen; one that a search that is over came to is not."""
        page = make(self.folder.name, "many=2000", "html")
        self.browser.open(page)
        words = "[document.querySelector('#what').textContent, document.querySelector('#ofall').hidden]"
        self.keys("/")
        self.browser.type("method_1")
        self.keys("Enter")
        found = self.state()["selected"]
        self.keys("4")
        self.browser.run("document.querySelector('#v-wakers').click()") if self.state()["view"] != "wakers" else None
        self.browser.pause(0.3)
        told, hidden = self.browser.run(words)
        self.assertIn("Who ended the waits of " + found, told)
        self.assertFalse(hidden)
        self.browser.press("#ofall")
        self.browser.pause(0.3)
        told, hidden = self.browser.run(words)
        self.assertNotIn("waits of", told)
        self.assertTrue(hidden)
        self.browser.open(page)
        self.keys("/")
        self.browser.type("method_1")
        self.keys("Enter", "Escape")
        self.browser.press("#v-wakers")
        self.browser.pause(0.3)
        self.assertNotIn("waits of", self.browser.run(words)[0])

    def test_table(self):
        self.keys("2")
        rows = "[...document.querySelectorAll('#table tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
        first = self.browser.run(rows)
        self.assertEqual(first[0][0], "__schedule")
        self.assertEqual(self.state()["focus"], "BUTTON")
        self.browser.press("#table th[data-column=name] button")
        names = [r[0] for r in self.browser.run(rows)]
        self.assertEqual(names, sorted(names))
        self.keys("/")
        self.browser.type("^do_futex$")
        self.assertEqual([r[0] for r in self.browser.run(rows)], ["do_futex"])
        self.browser.run("document.querySelector('#table tbody button').focus()")
        self.keys("Enter")
        self.assertEqual((self.state()["view"], self.state()["selected"]), ("sandwich", "do_futex"))

    def test_copy_and_link(self):
        self.browser.run("(() => { window.copied = []; navigator.clipboard.writeText = (t) => { copied.push(t); return Promise.resolve(); }; })()")
        self.click_frame("do_sys_poll")
        self.keys("c", "C", "l")
        name, stack, link = self.browser.run("copied")
        self.assertEqual((name, stack.split("\n")[0]), ("do_sys_poll", "do_sys_poll"))
        self.assertEqual(stack.split("\n")[-1], "mariadbd")
        self.browser.picture(self.folder.name + "/a.png")
        state = self.state()
        self.browser.open(self.page, "#" + link.split("#", 1)[1])
        self.assertEqual({**self.state(), "focus": 0, "status": 0}, {**state, "focus": 0, "status": 0})

    def test_every_key_of_the_help(self):
        self.keys("?")
        self.assertTrue(self.browser.run("!document.querySelector('#help').hidden"))
        self.browser.picture(self.folder.name + "/help.png")
        self.keys("Escape")
        self.assertTrue(self.browser.run("document.querySelector('#help').hidden"))
        for key, part in (("i", "down=1"), ("o", "byName=1"), ("d", "panel=0"), ("t", "theme=dark"), ("k", "colours=state"), ("e", "exact=1"),
                          ("a", "allFrames=1"), ("g", "by=thread"), ("r", "reverse=1"), ("w", "classes=1")):
            self.browser.open(self.page)
            self.keys(key)
            self.assertIn(part, self.state()["hash"], key)

    def test_accessible(self):
        self.keys("ArrowUp")
        nodes = self.browser.accessible()
        tree = [n for n in nodes if n[0] == "tree"]
        self.assertEqual([n[1] for n in tree], ["Frames"])
        items = [n for n in nodes if n[0] == "treeitem"]
        self.assertEqual(items[0][1].split(",")[0], "all")
        chosen = [n for n in items if n[2].get("selected")]
        self.assertEqual(len(chosen), 1)
        self.assertIn("% of all", chosen[0][1])
        self.assertEqual(chosen[0][2]["level"], 2)
        for role, name, _ in nodes:
            if role in ("button", "combobox", "textbox", "searchbox", "tree", "group", "dialog"):
                self.assertTrue(name.strip(), role + " without a name")
        # Every control is reached by Tab, and none keeps the focus.
        self.browser.run("document.body.focus()")
        seen = set()
        for _ in range(60):
            self.keys("Tab")
            seen.add(self.browser.run("document.activeElement.id || document.activeElement.textContent"))
        self.assertLessEqual({"find", "weight", "group", "colours", "tree", "theme", "helpbutton", "v-table"}, seen)

    def test_contrast(self):
        """Text on frames: 4.5 to 1 for each colour there is."""
        worst = self.browser.run("""(() => {
			const lum = (c) => { const f = c.map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
			const { colours, text } = offcpu.V.looks, t = lum([1, 3, 5].map((i) => parseInt(text.slice(i, i + 2), 16)));
			return Math.min(...[...colours.table].map((c) => { const l = lum([c & 255, c >> 8 & 255, c >> 16 & 255]); return (Math.max(l, t) + 0.05) / (Math.min(l, t) + 0.05); }));
		})()""")
        self.assertGreater(worst, 4.5)

    def test_hostile(self):
        page = make(self.folder.name, "hostile", "html")
        with open(page, "rb") as file:
            text = file.read()
        text.decode("utf-8")
        self.assertEqual(text.count(b"<script"), 7, "three blocks, the style, the elements, the code and the loader")
        self.assertNotIn(b"alert", text)
        self.browser.open(page)
        names = self.browser.run("offcpu.V.labels.text")
        for name in ("<script>alert(1)</script>", "]]><x/>", "__proto__", "constructor", "\\u202ereversed\\u202c"):
            self.assertIn(name, names)
        for view in ("1", "2", "g", "r", "k", "k", "k"):
            self.keys(view)
        self.keys("1", "/")
        self.browser.type("script")
        self.keys("Enter", "Escape", "Enter", "3")
        self.browser.pause(0.3)
        self.assertEqual(self.browser.run("document.querySelectorAll('script').length"), 8)
        self.assertEqual(self.browser.run("document.querySelectorAll('x, main script, #panel script').length"), 0)
        self.browser.open(page, "#zoom=%3Cscript%3E&find=%28%28&off=99.x_z&range=9-1&view=none&classes=NaN&select=constructor")
        self.assertGreater(self.state()["total"], 0)

    def test_time(self):
        page = make(self.folder.name, "sliced", "html")
        self.browser.open(page)
        whole = self.state()["total"]
        self.keys("5")
        self.browser.pause(0.3)
        self.assertEqual((self.state()["view"], self.state()["focus"], self.state()["total"]), ("time", "heat", whole))
        # Ranges that cover the window add up to it; dragged by mouse.
        at = self.browser.run("(() => { const b = document.querySelector('#heat').getBoundingClientRect(), w = (b.width - offcpu.V.heatLeft) / offcpu.V.data.slices.cnt;"
                              "return [b.x + offcpu.V.heatLeft, w, b.y + 40, offcpu.V.data.slices.cnt]; })()")
        left, wide, y, cnt = at
        parts, middle = 0, cnt // 2
        for a, b in ((0, middle - 1), (middle, cnt - 1)):
            self.browser.drag(left + (a + 0.5) * wide, y, left + (b + 0.5) * wide, y)
            self.assertEqual(self.browser.run("offcpu.S.range"), [a, b])
            parts += self.state()["total"]
        self.assertEqual(parts, whole)
        # The second is compared with the first: its long waits are more, and said with a sign.
        self.browser.drag(left + 20.5 * wide, y, left + 29.5 * wide, y)
        self.browser.drag(left + 0.5 * wide, y, left + 9.5 * wide, y, ctrl=True)
        self.assertEqual(self.browser.run("[offcpu.S.range, offcpu.S.range2]"), [[20, 29], [0, 9]])
        self.browser.run("offcpu.V.selected && 0")
        self.click_frame("take_lock")
        self.assertRegex(self.state()["status"], r"before .*, after .*/s: \+.* ±")
        link = self.state()["hash"]
        total = self.state()["total"]
        self.browser.picture(self.folder.name + "/time.png")
        self.keys("2")
        change = self.browser.run("[...document.querySelectorAll('#table tbody tr')].map((r) => [r.cells[0].textContent, r.cells[3].textContent])")
        self.assertTrue(dict(change)["take_lock"].startswith("+"), change)
        self.assertTrue(dict(change)["read_page"].startswith("\u2212"), change)
        self.browser.open(page, link)
        self.assertEqual(self.state()["total"], total)
        # By key: clear, a range, longer, along, and compare.
        self.browser.run("document.querySelector('#heat').focus()")
        self.keys("Delete")
        self.assertEqual(self.state()["total"], whole)
        self.keys("ArrowRight", "b", "ArrowRight", "ArrowRight")
        self.browser.key("ArrowRight", shift=True)
        first = cnt // 10
        self.assertEqual(self.browser.run("[offcpu.S.range, offcpu.S.range2]"), [[2, first + 3], [0, first]])
        self.keys("Escape", "Escape")    # the frame that the link had zoomed to, then the range
        self.assertEqual(self.browser.run("offcpu.S.range"), None)

    def test_heat_and_lanes(self):
        """Heat by threads counts them; what is beyond nine lanes is scrolled to, by key and wheel."""
        page = make(self.folder.name, "lanes", "html")
        self.browser.open(page, EVERYTHING + "&view=time")
        heat = "Math.max(...offcpu.heatCells().heat.filter((_, i) => Math.floor(i / 48) === %d))"
        by_time = [self.browser.run(heat % i) for i in (0, 5, 30)]
        self.browser.key("h")
        self.assertIn("heat=threads", self.state()["hash"])
        self.assertEqual([self.browser.run(heat % i) for i in (0, 5, 30)], [1, 6, 24])
        self.assertEqual(by_time, [40e6, 240e6, 960e6])
        self.assertIn("darkest: 24 threads", self.browser.run("document.querySelector('#heathint').textContent"))
        hint = "document.querySelector('#lanehint').textContent"
        self.assertIn("lanes 1 to 9 of 24", self.browser.run(hint))
        self.browser.run("document.querySelector('#heat').focus()")
        self.keys("PageDown", "ArrowDown", "ArrowUp", "ArrowDown")
        self.assertIn("lanes 11 to 19 of 24", self.browser.run(hint))
        x, y = self.browser.centre("#heat")
        for _ in range(8):
            self.browser.mouse("mouseWheel", x, y, "none", deltaX=0, deltaY=120)
        self.browser.pause()
        self.assertIn("lanes 16 to 24 of 24", self.browser.run(hint))
        self.browser.picture(self.folder.name + "/lanes.png")
        self.browser.open(page, EVERYTHING + "&view=time", width=375, height=812)    # where nothing is told of keys
        edges = "['#lanehint', '#heathint'].map((s) => { const b = document.querySelector(s).getBoundingClientRect(); return [b.left, b.right, b.height]; })"
        (left, left_end, high), (right, right_end, other) = self.browser.run(edges)
        self.assertTrue(0 < left < left_end < right < right_end <= 375, (left_end, right))
        self.assertTrue(high < 24 and other < 24, (high, other))

    def test_range_errors(self):
        """Two ranges alike differ within the noise; one that has hardly a wait does not."""
        page = make(self.folder.name, "sliced", "html")
        verdicts = "(() => { const { V } = offcpu, c = V.compare[0]; return Object.fromEntries([...c.verdict].map((v, n) => [V.labels.text[V.trees[0].tree.label[n]], v])); })()"
        self.browser.open(page, EVERYTHING + "&range=9-17&range2=0-8")
        alike = self.browser.run(verdicts)
        self.assertEqual((alike["take_lock"], alike["read_page"]), (1, 1))
        # Nothing waits any more at the end.
        self.browser.open(page, EVERYTHING + "&range=39-47&range2=30-38")
        ended = self.browser.run(verdicts)
        self.assertEqual((ended["take_lock"], ended["read_page"]), (2, 2))
        self.assertIn("\u00b1", self.state()["status"])
        self.browser.key("v")
        self.assertIn("width=after", self.state()["hash"])

    def test_small(self):
        self.browser.open(make(self.folder.name, "one", "html"))
        self.assertEqual(self.state()["total"], 900e6)
        self.keys("ArrowUp", "Enter", "ArrowUp", "3", "2", "1", "n", "N", "Escape", "r", "i", "5", "4")
        self.browser.open(make(self.folder.name, "empty", "html"))
        self.assertEqual(self.state()["total"], 0)
        self.assertTrue(self.browser.run("!document.querySelector('#empty').hidden"))
        self.assertIn("No thread was off CPU", self.browser.run("document.querySelector('#empty').textContent"))
        self.keys("ArrowUp", "Enter", "ArrowUp", "2", "1", "n", "Escape", "r", "i")

    def test_large(self):
        self.browser.open(make(self.folder.name, "many=100000", "html"))
        self.assertGreater(self.browser.run("offcpu.V.trees[0].tree.cnt"), 100000)
        self.keys("ArrowUp", "Enter", "i", "r")
        self.assertLess(self.browser.run("Math.max(...[...document.querySelectorAll('canvas')].map((c) => c.height))"), 2000)

    def test_size_and_self_contained(self):
        with open(self.page, encoding="utf-8") as file:
            text = file.read()
        bare = re.sub(r'<script type="application/octet-stream" id="(?!code|style|elements).*?</script>', "", text, flags=re.S)
        self.assertLess(len(bare.encode()), 150000)
        self.assertIsNone(re.search(r"https?://", re.sub(r"http://www\.w3\.org/2000/svg", "", bare)))
        self.assertRegex(text, r"default-src 'none'; script-src 'sha256-[^']+' 'sha256-[^']+'; style-src 'sha256-[^']+'; base-uri 'none'")

    def test_print(self):
        pdf = self.browser.print()
        self.assertTrue(pdf.startswith(b"%PDF") and len(pdf) > 20000)

    def test_at_load(self):
        """What the browser itself prints and takes pictures of, as soon as the page says that it has loaded."""
        many = make(self.folder.name, "many=50000", "html")
        for page, option, name in ((self.page, "--print-to-pdf", "load.pdf"), (many, "--screenshot", "load.png")):
            out = os.path.join(self.folder.name, name)
            home = os.path.join(self.folder.name, "home-" + name)
            subprocess.run([CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1000,700", "--user-data-dir=" + home,
                            f"{option}={out}", "file://" + page], check=True, timeout=60, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with open(os.path.join(self.folder.name, "load.pdf"), "rb") as file:
            self.assertTrue(b"/Subtype /Image" in file.read(), "the graph is not in the print")
        self.assertGreater(len(colours_of(os.path.join(self.folder.name, "load.png"))), 25)


def main():
    global MAKE_FLAME
    if not CHROMIUM:
        print("skipped, no Chromium is installed, and CHROMIUM names none")
        sys.exit(77)
    MAKE_FLAME = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)


main()
