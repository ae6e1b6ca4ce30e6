#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""The page of `offcpu diff -o x.html` in a browser, by mouse and keyboard, and the page of a recording with samples on CPU:
test_diff.py OFFCPU MAKE_RECORDING.

What is expected is worked out from the JSON of the same command, or the picture: another code makes these.  Exit 77 without a
Chromium."""
import json
import re
import xml.etree.ElementTree as ET

from browser import CHROMIUM, Browser
from recorded import EVERYTHING, TEXT, Opened, Recorded, start

REAL = 2
EVIL = "</title><script>alert(1)</script>"
# By path of names: before, after, error, verdict, width, colour, sign.
FRAMES = """(() => {
	const { V } = offcpu, { tree, total } = V.layouts[0], c = V.compare[0], pane = V.panes[0], out = {};
	for (let n = 0; n < tree.cnt; n++)
		out[tree.path(n).map((k) => V.labels.text[tree.label[k]]).join('\\n')] = { before: c.before[n], after: c.after[n], error: c.error[n],
			verdict: c.verdict[n], width: total[n], colour: pane.pixelOf(n), sign: pane.signOf(n) };
	return out;
})()"""
ROWS = "[...document.querySelectorAll('#table tbody tr')].map((r) => [...r.cells].map((c) => c.textContent))"
# By path of names: the total.
TOTALS = """(() => {
	const { V } = offcpu, out = {}, { tree, total, nodes, cnt } = V.layouts[0];
	for (let p = 0; p < cnt; p++) out[tree.path(nodes[p]).map((n) => V.labels.text[tree.label[n]]).join('\\n')] = total[nodes[p]];
	return out;
})()"""
NS = "{http://www.w3.org/2000/svg}"


class Compared(Opened):
    """A page of a comparison, and the JSON of the same."""
    BROWSER = Browser
    FRAGMENT = EVERYTHING

    def same_as_text(self, page, *args):
        """Each function's amounts, error and verdict, as the JSON has them."""
        self.browser.open(page, EVERYTHING + "&view=table")
        want = {r["name"].replace("\x1b", "\\x1b"): r for r in json.loads(self.offcpu("diff", *args, "--json", "--by", "function"))["by"]["function"]["rows"]}
        got = self.browser.run("""(() => { const { V } = offcpu, c = offcpu.tableRows(), out = {};
			for (const r of c) if (V.labels.kind[r.label] !== 2) out[r.name] = [r.before, r.after, r.error, r.c.verdict, !!r.c.each]; return out; })()""")
        moved = {"wrapper"}    # of a stack that moved: in the page it is one, in the text's functions this one is new or gone
        self.assertEqual(set(got) - moved, set(want) - moved)
        for name, (before, after, error, verdict, each) in got.items():
            row = want[name]
            if name in moved:
                continue
            # Ten waits whose stacks were cut short count as the whole ones here, and in the text's table of stacks.
            self.assertAlmostEqual(before, row["before"]["scaled_ns"], delta=1e-3 * before + 2, msg=name)
            self.assertAlmostEqual(after, row["after"]["scaled_ns"], delta=1e-3 * after + 2, msg=name)
            self.assertEqual(verdict == REAL, row["time"]["is_change"], name)
            self.assertEqual(each, row["each"]["is_change"], name)
            if row["is_tested"]:
                self.assertAlmostEqual(error, row["time"]["se_ns"], delta=1e-3 * error + 2, msg=name)
        return want


class DiffPage(Compared):
    RECORDINGS = ("before", "after")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = cls.of_diff("change.html", "before.offcpu", "after.offcpu")

    @classmethod
    def of_diff(cls, name, *args):
        return cls.make("diff", name, *args)

    def frame(self, end):
        """The one frame whose path ends so."""
        found = [f for path, f in self.browser.run(FRAMES).items() if path.endswith(end)]
        self.assertEqual(len(found), 1, end)
        return found[0]

    def test_numbers_are_those_of_the_text(self):
        rows = self.same_as_text(self.page, "before.offcpu", "after.offcpu")
        self.assertGreater(sum(r["time"]["is_change"] for r in rows.values()), 3)
        self.assertGreater(sum(not r["time"]["is_change"] for r in rows.values()), 3)
        args = ("after.offcpu", "before.offcpu", "--requests", "1000,1300", "--noise", "3")
        self.same_as_text(self.of_diff("requests.html", *args), *args)
        args = ("before.offcpu", "after.offcpu", "--normalize", "none", "--comm", "worker")
        self.same_as_text(self.of_diff("none.html", *args), *args)

    def test_total_without_idle_is_that_of_the_text(self):
        """As the page opens: rows that are idle are left out, but for what they waited for a CPU."""
        total = json.loads(self.offcpu("diff", "before.offcpu", "after.offcpu", "--json"))["total"]
        self.browser.open(self.page)
        before, after, error, waits = self.browser.run("""(() => { const { V } = offcpu, c = V.compare[0];
			return [c.before[0], c.after[0], c.error[0], c.each.get(0) ? c.each.get(0).means : null]; })()""")
        self.assertAlmostEqual(before, total["before"]["scaled_ns"], delta=1e-3 * before + 2)
        self.assertAlmostEqual(after, total["after"]["scaled_ns"], delta=1e-3 * after + 2)
        self.assertAlmostEqual(error, total["time"]["se_ns"], delta=1e-2 * error)
        self.assertEqual(waits is not None, total["each"]["is_change"])
        if waits:
            self.assertAlmostEqual(waits[0], total["before"]["each_ns"], delta=1e-2 * waits[0])

    def test_sides_are_named(self):
        """What is before and what after, what was found, how times are normalised: to be read without a click."""
        finding = json.loads(self.offcpu("diff", "before.offcpu", "after.offcpu", "--json"))["finding"]
        self.assertEqual(self.text("#sub"), finding)
        sides = self.text("#sides")
        for part in ("BEFORE is before.offcpu: 5 threads", "AFTER is after.offcpu: 5 threads", "per thread and minute"):
            self.assertIn(part, sides)
        self.assertRegex(self.text("#what"), r"^Before .* after .* per thread-minute: .* ±.*, within the noise")
        for sign in ("+ new", "− gone", "the same, or noise"):
            self.assertIn(sign, self.text("#legend"))

    def test_new_and_gone_are_seen(self):
        new, gone, more = self.frame("\npipe_write"), self.frame("\npipe_read"), self.frame("\nfutex_wait")
        self.assertEqual((new["before"], gone["after"]), (0, 0))
        for f in (new, gone, more):
            self.assertEqual(f["verdict"], REAL)
            self.assertGreater(f["width"], 0)
        self.assertEqual((new["sign"], gone["sign"], more["sign"]), ("+ new ", "− gone ", "+10% "))
        same = self.frame("all")
        self.assertEqual((same["verdict"], same["sign"]), (1, ""))
        red = {name: (f["colour"] & 255) - (f["colour"] >> 16 & 255) for name, f in (("new", new), ("gone", gone), ("more", more), ("same", same))}
        self.assertGreater(red["new"], red["more"])
        self.assertGreater(red["more"], 20)
        self.assertLess(red["gone"], -60)
        self.assertLess(abs(red["same"]), 20)
        drawn = self.browser.run("offcpu.V.painter.texts.slice(0, offcpu.V.painter.textCnt).map((t) => t.sign + offcpu.V.looks.names[t.label])")
        self.assertIn("+10% futex_wait", drawn)

    def test_width(self):
        total = self.browser.run("offcpu.V.total")
        sides = [f for path, f in self.browser.run(FRAMES).items() if path == "all"][0]
        self.assertAlmostEqual(total, (sides["before"] + sides["after"]) / 2, delta=1)
        self.browser.key("v")
        self.assertAlmostEqual(self.browser.run("offcpu.V.total"), sides["after"], delta=1)
        self.assertEqual(self.frame("\npipe_read")["width"], 0)
        self.assertIn("of before is in stacks that are not here", self.text("#what"))
        self.browser.key("v")
        self.assertEqual(self.frame("\npipe_write")["width"], 0)
        self.assertIn("width=before", self.browser.run("location.hash"))
        self.browser.open(self.of_diff("negated.html", "before.offcpu", "after.offcpu", "--negated"), EVERYTHING)
        self.assertEqual(self.browser.run("document.querySelector('#wide').value"), "before")

    def test_steady(self):
        """A recording beside itself: nothing is coloured, nothing has a sign."""
        self.browser.open(self.of_diff("same.html", "before.offcpu", "before.offcpu"), EVERYTHING)
        frames = self.browser.run(FRAMES).values()
        self.assertEqual({f["sign"] for f in frames}, {""})
        self.assertEqual(len({f["colour"] for f in frames}), 1)
        self.browser.key("2")
        self.assertEqual({r[5] for r in self.browser.run(ROWS)} - {""}, {"="})

    def test_views(self):
        self.browser.key("/")
        self.browser.type("pipe_(read|write)$")
        self.assertIn("2 frames", self.text("#found"))
        self.browser.key("Enter")
        self.assertIn("before", self.text("#status"))
        name = self.text("#status b")
        self.browser.key("Escape")
        self.browser.key("3")
        self.assertIn(f"Callers (above) and callees (below) of {name}", self.text("#what"))
        self.assertRegex(self.text("#what"), "Before .* after ")
        self.browser.key("Escape")
        self.browser.key("2")
        rows = self.browser.run(ROWS)
        changed = [r for r in rows if r[5] not in ("=", "") or r[6]]
        self.assertEqual(rows[:len(changed)], changed, "what changed comes first")
        head = self.browser.run("[...document.querySelectorAll('#table th')].map((h) => h.textContent)")
        self.assertEqual(head[:6], ["Function", "Before", "After", "Change ▼", "±", "%"])
        self.browser.press("#table th[data-column=before] button")
        self.assertIn("Before ▼", self.browser.run("[...document.querySelectorAll('#table th')].map((h) => h.textContent)"))
        for key in ("1", "g", "r", "w", "w", "k", "i", "o", "4", "5", "1"):
            self.browser.key(key)
        self.assertNotIn("by=thread", self.browser.run("location.hash"))

    def test_tip_and_panel(self):
        box = self.browser.run("""(() => { const { V } = offcpu, p = V.panes[0], b = document.querySelector('#scroll').getBoundingClientRect();
			return [b.x + V.painter.width / 2, b.y + p.base * 19 - document.querySelector('#scroll').scrollTop + 9]; })()""")
        self.browser.mouse("mouseMoved", *box, "none")
        self.browser.pause()
        self.assertRegex(self.text("#tip"), r"before .* s, after .* s per thread-minute: .* ±")
        self.browser.key("/")
        self.browser.type("^futex_wait$")
        self.browser.key("Enter")
        self.browser.pause(0.3)
        panel = self.text("#panel")
        for part in ("Before8.00 s per thread-minute", "After8.80 s per thread-minute", "+804 ms ±", "+10%", "How long", "lock"):
            self.assertIn(part, panel)

    def test_accessible(self):
        self.browser.key("ArrowUp")
        nodes = self.browser.accessible()
        chosen = [n for n in nodes if n[0] == "treeitem" and n[2].get("selected")]
        self.assertEqual(len(chosen), 1)
        self.assertRegex(chosen[0][1], r"before .*, after .* per thread-minute: ")
        for role, name, _ in nodes:
            if role in ("button", "combobox", "textbox", "tree", "group", "dialog"):
                self.assertTrue(name.strip(), role + " without a name")

    def test_contrast(self):
        for dark in (False, True):
            self.browser.open(self.page, EVERYTHING, dark=dark)
            worst = self.browser.run("""(() => {
				const lum = (c) => { const f = c.map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * f[0] + 0.7152 * f[1] + 0.0722 * f[2]; };
				const t = lum([1, 3, 5].map((i) => parseInt(offcpu.V.looks.text.slice(i, i + 2), 16)));
				return Math.min(...[...document.querySelectorAll('#legend i')].map((e) => { const l = lum(getComputedStyle(e).backgroundColor.match(/\\d+/g).map(Number));
					return (Math.max(l, t) + 0.05) / (Math.min(l, t) + 0.05); }));
			})()""")
            self.assertGreater(worst, 4.5)

    def test_imported(self):
        """Two files of another tool: nothing tells what is noise, so everything that differs is drawn, and that is said."""
        for name, lines in (("a", "app;main;lock 100000\napp;main;read 50000\napp;old 7000\n"),
                            ("b", "app;main;lock 180000\napp;main;read 50000\napp;young 9000\n")):
            with open(self.path(name + ".folded"), "w", encoding="ascii") as file:
                file.write(lines)
        self.browser.open(self.of_diff("folded.html", "a.folded", "b.folded"))
        self.assertIn("nothing tells how much of that is noise", self.text("#sub"))
        self.assertEqual([self.frame("\n" + n)["sign"] for n in ("lock", "read", "old", "young")], ["+80% ", "", "− gone ", "+ new "])
        self.browser.key("2")
        self.assertEqual(self.browser.run(ROWS)[1][:6], ["lock", "100 ms", "180 ms", "+80.0 ms", "", "+80%"])

    def test_hostile(self):
        with open(self.page, "rb") as file:
            text = file.read()
        self.assertNotIn(b"alert", text)
        self.assertIn(EVIL, self.text("#sub"))
        for part in ("#zoom=%3Cscript%3E&width=none&by=thread&colours=constructor", "#range=1-2&range2=0-1&view=time", "#view=wakers"):
            self.browser.open(self.page, part)
            self.assertGreater(self.browser.run("offcpu.V.total"), 0)
        self.assertEqual(self.browser.run("document.querySelectorAll('main script, #panel script, header script').length"), 0)


class BatchesDiff(Compared):
    """Of recordings with enough slices for batches: after, the lock is waited for in the second half alone, so its time may be noise."""
    RECORDINGS = ("before-batches", "after-batches", "before", "after")
    SIDES = ("before-batches.offcpu", "after-batches.offcpu")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = cls.make("diff", "batches.html", *cls.SIDES)

    def lock(self, *sides):
        rows = json.loads(self.offcpu("diff", *sides, "--json", "--by", "function"))["by"]["function"]["rows"]
        return next(r["time"] for r in rows if r["name"] == "futex_wait")

    def test_batches_decide(self):
        """By the waits alone the lock's time has a tenth of the error, and is a change."""
        alone, by_batches = self.lock("before.offcpu", "after.offcpu"), self.lock(*self.SIDES)
        self.assertEqual((alone["is_change"], by_batches["is_change"]), (True, False))
        self.assertGreater(by_batches["se_ns"], 5 * alone["se_ns"])

    def test_numbers_and_sentences_are_those_of_the_text(self):
        self.same_as_text(self.page, *self.SIDES)
        self.browser.open(self.page, EVERYTHING)
        lines = self.offcpu("diff", *self.SIDES).splitlines()
        self.assertEqual(self.text("#sub"), lines[0])
        sides = self.text("#sides")
        for line in lines[2:5]:
            self.assertIn(re.sub(" +", " ", line), sides)


class WokenDiff(Opened):
    """Of recordings with wakers and slices: who woke, and when, on both sides."""
    BROWSER = Browser
    FRAGMENT = EVERYTHING
    RECORDINGS = ("before-more", "after-more")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = cls.make("diff", "more.html", "before-more.offcpu", "after-more.offcpu")

    def choose(self, name):
        self.browser.key("/")
        self.browser.type(f"^{name}$")
        self.browser.key("Enter")
        self.browser.pause(0.3)

    def test_woken_by(self):
        """Of the lock: 3000 of 5000 by worker before, all after; per thread-minute, of 5 threads of 30 s."""
        self.choose("futex_wait")
        rows = dict(self.browser.run("[...[...document.querySelectorAll('#panel section')].find((s) => s.querySelector('h3').textContent === 'Woken by')"
                                     ".querySelectorAll('li')].map((l) => [l.querySelector('.name').textContent, l.querySelector('.amount').textContent])"))
        # 4 threads, 1 ms each (1.1 ms), 2.5 thread-minutes
        self.assertEqual(rows, {"worker": "4.80 s \u2192 8.80 s", "timer": "3.20 s \u2192 0 ns"})
        self.browser.run("document.querySelector('#panel .bars button').scrollIntoView({ block: 'center' })")
        self.browser.press("#panel .bars button")
        self.browser.pause(0.3)
        self.assertEqual(self.browser.run("offcpu.S.view"), "wakers")
        frames = self.browser.run(FRAMES)
        by = {path.split("\n")[1]: f for path, f in frames.items() if path.count("\n") == 1}
        self.assertEqual({n: [round(f["before"] / 1e6), round(f["after"] / 1e6), f["sign"]] for n, f in by.items()},
                         {"worker": [4800, 8800, "+83% "], "timer": [3200, 0, "\u2212 gone "]})
        self.assertIn("Who ended the waits of futex_wait", self.text("#what"))

    def test_time_of_both_sides(self):
        """Two maps, one scale; a range of one side, by mouse and key, is compared with the other side's whole window."""
        self.browser.key("5")
        self.browser.pause(0.3)
        self.assertEqual(self.browser.run("[offcpu.S.view, offcpu.V.heatMaps.length, document.activeElement.id]"), ["time", 2, "heat"])
        lanes = self.browser.run("offcpu.V.heatMaps.map((m) => m.lanes.map((l) => [l.name, Math.round(l.sum / 1e6)]))")
        self.assertEqual([dict(side)["worker"] for side in lanes], [4 * 30000 - 4 * 1000, 4 * 30000 - 4 * 1000])
        whole = self.browser.run(FRAMES)
        box = self.browser.run("(() => { const b = document.querySelector('#heat').getBoundingClientRect(); return offcpu.V.heatMaps.map((m) =>"
                               "[b.x + offcpu.V.heatLeft, m.wide, b.y + 6 + m.y + 20]); })()")
        # After, the lock is waited for in the last 15 seconds only.
        left, wide, y = box[1]
        self.browser.drag(left + 0.5 * wide, y, left + 14.5 * wide, y)
        self.assertEqual(self.browser.run("[offcpu.S.range2, offcpu.S.range]"), [None, [0, 14]])
        lock = [f for path, f in self.browser.run(FRAMES).items() if path.endswith("\nfutex_wait")][0]
        was = [f for path, f in whole.items() if path.endswith("\nfutex_wait")][0]
        self.assertEqual((lock["before"], lock["sign"]), (was["before"], "\u2212100% "))
        self.assertLess(lock["after"], was["after"] / 1000)    # of ten waits whose stack was cut short nothing else is known
        nap = [f for path, f in self.browser.run(FRAMES).items() if path.endswith("\ndo_nanosleep")][0]
        self.assertAlmostEqual(nap["after"], nap["before"] * 0.99, delta=0.01 * nap["before"])
        self.assertIn("before: whole window, after: 0 to 15 s", self.text("#what"))
        link = self.browser.run("location.hash")
        self.browser.run("document.querySelector('#heat').focus()")
        self.browser.key("b")
        self.browser.key("ArrowRight")
        self.assertEqual(self.browser.run("[offcpu.S.range2, offcpu.S.range]"), [[0, 3], [0, 14]])
        self.browser.key("Delete")
        self.assertEqual(self.browser.run(FRAMES), whole)
        self.browser.open(self.page, link)
        self.assertIn("before: whole window, after: 0 to 15 s", self.text("#what"))

    def test_hatched(self):
        """What grew rises, what shrank falls, what is new or gone is closer; what is the same has no lines: also in black and white."""
        lines = self.browser.run("""(() => { const { V } = offcpu, out = {}, names = ['none', 'more', 'less', 'new', 'gone'], p = V.panes[0], { tree } = p.layout;
			for (let n = 0; n < tree.cnt; n++) out[V.labels.text[tree.label[n]]] = names[p.hatchOf(n)]; return out; })()""")
        self.assertEqual([lines[n] for n in ("futex_wait", "pipe_read", "pipe_write", "do_nanosleep", "all")], ["more", "gone", "new", "none", "none"])
        # In the pixels of a row: two colours where there are lines.
        shades = self.browser.run("""(() => { const { V } = offcpu, p = V.panes[0], { tree, left, total, placeOf } = p.layout, w = V.painter.image.width, out = {};
			for (const name of ['futex_wait', 'do_nanosleep', 'pipe_read']) {
				const n = [...tree.label.slice(0, tree.cnt)].findIndex((l) => V.labels.text[l] === name), scale = w / (p.x1 - p.x0);
				const y = Math.round((p.base + p.step * tree.depth[n]) * 19 - V.scroll()), x = Math.round((left[placeOf[n]] - p.x0) * scale) + 1;
				const row = (k) => Array.from(V.painter.pixels.slice((y + k) * w + x, (y + k) * w + x + 12));
				out[name] = new Set(row(2)).size;
			} return out; })()""")
        self.assertEqual({name: n > 1 for name, n in shades.items()}, {"futex_wait": True, "do_nanosleep": False, "pipe_read": True})
        for dark in (False, True):
            self.browser.open(self.page, EVERYTHING, dark=dark)
            self.browser.picture(self.path("hatch.png"))


class OnCpuPage(Recorded):
    """Samples on CPU beside waits."""
    BROWSER = Browser
    RECORDINGS = ("cpu",)

    def flame(self, name, *args):
        return self.make("flame", name, "cpu.offcpu", *args)

    def of_picture(self, weight):
        names, out = [], {}
        for g in ET.parse(self.flame("x.svg", "--weight", weight, "--min-width", "0", "--idle", "keep")).iter(NS + "g"):
            if "data-f" in g.attrib:
                _, total, depth = map(int, g.get("data-f").split(","))
                names[depth:] = [g.find(NS + "title").text.split("\n")[0]]
                out["\n".join(names)] = total
        return out

    def test_weights(self):
        """Time on CPU, off it, and both: as the picture has each, and the first two are the third."""
        page, whole = self.flame("cpu.html"), {}
        for weight in ("on_cpu", "off_cpu", "time"):
            self.browser.open(self.flame(weight + ".html", "--weight", weight), EVERYTHING)
            got = self.browser.run(TOTALS)
            self.assertEqual(got, self.of_picture(weight), weight)
            whole[weight] = got["all"]
        self.assertGreater(whole["on_cpu"], 0)
        self.assertEqual(whole["on_cpu"] + whole["off_cpu"], whole["time"])
        self.browser.open(page, EVERYTHING)
        self.assertEqual(self.browser.run("offcpu.V.total"), whole["time"])
        self.assertEqual(self.browser.problems, [])

    def test_told_and_switched(self):
        """A stack that ran says by how many samples and how well; its switch leaves it out."""
        self.browser.open(self.flame("cpu.html"), EVERYTHING)
        self.browser.run("""(() => { const { V, S } = offcpu; S.classes = 8; })()""")
        self.browser.key("o")
        self.browser.key("ArrowUp")
        self.browser.pause(0.3)
        self.assertRegex(self.browser.run(TEXT % '"#panel"'), r"On CPU.* by [\d,]+ samples?")
        ran = self.browser.run("offcpu.V.total")
        self.assertEqual(ran, self.browser.run("offcpu.V.onCpu"))
        self.browser.open(self.path("cpu.html"), EVERYTHING)
        both = self.browser.run("offcpu.V.total")
        self.browser.run("[...document.querySelectorAll('.switch')].find((b) => b.querySelector('span').textContent === 'on CPU').click()")
        self.browser.pause()
        self.assertEqual(self.browser.run("offcpu.V.total"), both - ran)
        self.assertEqual(self.browser.problems, [])


start(CHROMIUM, "Chromium", "offcpu", "make_recording")
