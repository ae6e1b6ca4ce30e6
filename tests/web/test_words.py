#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What the page of a recording says in words, and how it fits a small screen: test_words.py OFFCPU MAKE_RECORDING.

What is expected is what `offcpu report` prints of the same recording.  Exit 77 without a Chromium."""
import json
import re

from browser import CHROMIUM, Browser
from recorded import EVERYTHING, Opened, start

LINES = """[...document.querySelectorAll('#findings li')].map((l) => [l.querySelector('.sentence').getAttribute('aria-label'),
	[...l.querySelectorAll('.evidence, .advice')].map((s) => s.textContent).join(' ')])"""
SELECTED = "(({ V }) => V.labels.text[V.selected.pane.layout.tree.label[V.selected.node]])(offcpu)"
SIZES = "Object.fromEntries(['main', '#panel', '#stage', 'footer'].map((s) => { const b = document.querySelector(s).getBoundingClientRect(); return [s, [b.top, b.bottom]]; }))"


class Words(Opened):
    BROWSER = Browser
    RECORDINGS = ("wakers", "cpu", "crowd")

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.page = cls.make("flame", "wakers.html", "wakers.offcpu")

    def test_findings_are_those_of_the_report(self):
        text = " ".join(self.offcpu("report", "wakers.offcpu").split())
        lines = self.browser.run(LINES)
        self.assertGreaterEqual(len(lines), 3)
        for number, (sentence, rest) in enumerate(lines[:3], 1):
            self.assertIn(f"{number}. {sentence} {rest.split('. ')[0]}", text)
        self.assertIn("Batch: one fsync for many changes", lines[0][1])
        head = self.browser.run("[document.querySelector('#findings').innerText.split('of the time that matters').length, "
                                "document.querySelector('#findings .base').textContent, document.querySelector('.first .share').textContent]")
        self.assertEqual(head, [1, "Of the time that matters", lines[0][0].split(" ")[0]])

    def test_nothing_of_a_finding_is_cut(self):
        for width in (1400, 1000, 375):
            self.browser.open(self.page, width=width)
            self.browser.run("document.querySelector('#morefindings').click()")
            cut = self.browser.run("[...document.querySelectorAll('#findings .sentence, #findings li span')].filter((e) => !e.offsetWidth || "
                                   "e.scrollWidth > e.offsetWidth + 1).map((e) => e.textContent)")
            self.assertEqual(cut, [], width)

    def test_title_and_verdict(self):
        """The page says whom, how long and how complete in the report's words."""
        first = self.offcpu("report", "wakers.offcpu").split("\n")[0]
        target, verdict = re.match(r"offcpu: (.*), [\d.]+ \w+, \d+ CPUs?, (.*?)(?: \(see --full\))?$", first).groups()
        self.assertRegex(self.text("#title"), "^" + re.escape(target) + r", [\d.]+ \w+$")
        self.assertTrue(self.browser.run("document.title").startswith(self.text("#title")))
        self.assertTrue(self.text("#foot").lower().startswith(verdict.lower() + " · "), self.text("#foot"))
        self.assertNotIn("lost", self.text("#foot").replace(verdict, ""))
        self.browser.press("#foot")
        self.assertIn("of the off-CPU time is in stacks", self.text("#foot"))

    def test_no_advice_to_record_what_was_recorded(self):
        advice = "[offcpu.V.data.about.queue.advice, ...offcpu.V.data.about.findings.map((f) => f.advice)].join(' ')"
        self.assertIn("record --runq-blame", self.browser.run(advice))
        self.browser.open(self.make("flame", "crowd.html", "crowd.offcpu"), EVERYTHING)
        self.assertIn("add CPUs", self.browser.run(advice))
        self.assertNotIn("record --", self.browser.run(advice))

    def test_no_advice_for_many_reasons(self):
        self.browser.pause(0.3)
        self.assertRegex(self.text("#panel .inwords"), r"^\d+% of this time a thread ")
        self.assertFalse(self.browser.run("!!document.querySelector('#panel .inwords b')"))

    def test_finding_leads_to_its_stack(self):
        """By mouse and by key; also from another view, with the finding's own switch off."""
        for act in (lambda: self.browser.press("#findings button"), lambda: self.browser.key("Enter")):
            self.browser.open(self.page, "#view=table&classes=2&off=" + "." .join(map(str, range(12))))
            self.browser.run("document.querySelector('#findings button').focus()")
            act()
            self.browser.pause(0.3)
            self.assertEqual(self.browser.run(SELECTED), "do_work")
            self.assertEqual(self.browser.run("[offcpu.S.view, offcpu.S.zoom !== '']"), ["flame", True])
            self.assertIn("waits for data to be safe on disk", self.text("#panel .inwords"))

    def test_finding_counts_what_it_leads_to(self):
        """Waits and time of the frame are those of the finding's own line, whatever else waits there."""
        rows = self.browser.run(LINES)
        told = 0
        for at, (_, rest) in enumerate(rows):
            waits = re.search(r"threads?, ([\d,]+) waits?, ([\d.]+ \S+?)[;,.]", rest + ".")
            if not waits or "waits for a CPU" in rows[at][0]:
                continue
            self.browser.open(self.page)
            self.browser.run("document.querySelector('#morefindings').click()")
            self.browser.press(f"#findings li:nth-child({at + 1}) button")
            self.browser.pause(0.3)
            facts = self.browser.run("Object.fromEntries([...document.querySelectorAll('#panel dt')].map((d) => [d.textContent, d.nextSibling.textContent]))")
            self.assertEqual([facts["Waits"].split(" ")[0].strip(","), facts["Time"].split(",")[0]], list(waits.groups()), (rows[at], facts))
            told += 1
        self.assertGreater(told, 1)

    def test_percentiles_are_those_of_the_report(self):
        """Of the one thread of its name, by its 14 waits' powers of two, their sum and the longest."""
        row = [r for r in self.offcpu("report", "wakers.offcpu", "--by", "thread").splitlines() if "server (100/100)" in r][0]
        median, p99, longest = re.split(r"\s{2,}", row.strip())[3:6]
        self.browser.open(self.page, EVERYTHING)
        self.browser.key("/")
        self.browser.type("^server$")
        self.browser.key("Enter")
        self.browser.pause(0.3)
        shown = self.browser.run("[...document.querySelectorAll('#panel .quantiles b')].map((b) => b.textContent)")
        self.assertEqual([shown[0], *shown[2:]], [median, p99, longest])

    def test_finding_of_the_cpu(self):
        rows = self.browser.run(LINES)
        at = [i for i, (sentence, _) in enumerate(rows) if "waits for a CPU" in sentence][0]
        self.browser.run("document.querySelector('#morefindings').click()")
        self.browser.press(f"#findings li:nth-child({at + 1}) button")
        self.browser.run("(() => { const g = document.querySelector('#group'); g.value = 'process'; g.dispatchEvent(new Event('change')); })()")
        of_server = self.browser.run("""(({ V }) => { const { tree, total } = V.layouts[0];
			for (let n = 1; n < tree.cnt; n++) if (/^server /.test(V.labels.text[tree.label[n]])) return total[n]; })(offcpu)""")
        self.assertIn("380 ms", rows[at][1])
        self.assertEqual(of_server, 380e6)

    def test_selected_frame_in_words(self):
        self.browser.key("/")
        self.browser.type("^fsync$")
        self.browser.key("Enter")
        self.browser.pause(0.3)
        words = self.text("#panel .inwords")
        self.assertRegex(words, r"^\d+% of this time it waits for data to be safe on disk \(fsync\)")
        self.assertIn("irq:virtio0 ends 100% of its sleep", words)
        self.assertRegex(words, r"A wait takes [\d.]+ ms on average, 4.0 times a second")
        self.assertIn("Batch: one fsync for many changes", words)
        self.browser.key("w")
        self.browser.pause(0.3)

    def test_running_in_words(self):
        self.browser.open(self.make("flame", "cpu.html", "cpu.offcpu"), EVERYTHING)
        self.browser.run("[...document.querySelectorAll('.switch')].find((b) => b.querySelector('span').textContent === 'on CPU').dispatchEvent("
                         "new MouseEvent('click', { shiftKey: true }))")
        self.browser.pause(0.3)
        self.assertRegex(self.text("#panel .inwords"), r"^100% of this time a thread runs\.$")

    def test_small_switches(self):
        """What is little has its switch on demand, but never where it is off."""
        self.browser.open(self.page, EVERYTHING)
        count = "[...document.querySelectorAll('.switch')].filter((b) => b.offsetWidth).length"
        few = self.browser.run(count)
        self.browser.key("s")
        all_of_them = self.browser.run(count)
        self.assertGreater(all_of_them, few)
        self.browser.press("#switches [aria-label=state] .switch")
        self.browser.key("s")
        self.assertEqual(self.browser.run(count), few + 1)

    def test_small_screen(self):
        """390 pixels wide: nothing is cut off or lies under another, and the root is in sight."""
        self.browser.open(self.page, width=390, height=844)
        self.browser.pause(0.3)
        self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth"), 390)
        size = self.browser.run(SIZES)
        self.assertLessEqual(size["#stage"][1], size["#panel"][0] + 1)
        self.assertLessEqual(size["#panel"][1], size["main"][1] + 1)
        self.assertLessEqual(size["main"][1], size["footer"][0] + 1)
        self.assertGreater(size["#stage"][1] - size["#stage"][0], 250)
        root = self.browser.run("(({ V }) => [V.panes[0].base * 19 - V.scroll(), V.painter.height])(offcpu)")
        self.assertTrue(0 <= root[0] <= root[1] - 19, root)

    def test_phone(self):
        """375 pixels wide: the graph begins on the first third, and a toolbar that goes on says so until its end is seen."""
        self.screens("page", self.page)
        self.browser.open(self.page, width=375, height=812)
        self.assertLessEqual(self.browser.run("document.querySelector('#stage').getBoundingClientRect().top"), 300)
        # as long as sentences become, by the bounds of their names
        name = "std::vector<std::basic_string<char>>::operator_of_a_very_long.."
        longest = f"Verylongprocess waits for a lock or semaphore that processes share (multiprocessing), {name}, in {name} ({'source_' * 8}..:123456)"
        first = "document.querySelector('#findings .first')"
        self.browser.run(f"{first}.classList.add('long'); {first}.querySelector('.sentence').textContent = {json.dumps(longest)}")
        self.assertLessEqual(self.browser.run("document.querySelector('#stage').getBoundingClientRect().top"), 300)
        self.assertEqual(self.browser.run(f"{first}.querySelector('.advice').offsetHeight"), 0)
        self.browser.press("#morefindings")
        self.assertGreater(self.browser.run(f"{first}.querySelector('.advice').offsetHeight"), 0)
        self.browser.open(self.page, width=375, height=812)
        words = "[...document.querySelectorAll('#findings li')].map((li) => [li.className.includes('long'), li.querySelector('.sentence').ariaLabel, li.querySelector('.advice')?.textContent || ''])"
        for is_long, sentence, advice in self.browser.run(words):
            self.assertEqual(is_long, len(sentence + advice) > 200, sentence)
        seen = "getComputedStyle(document.querySelector('#nav'), '::after').content"
        self.assertEqual(self.browser.run(seen), '"›"')
        self.browser.run("document.querySelector('#nav').scrollLeft = 1e6")
        self.browser.pause(0.1)
        self.assertEqual(self.browser.run(seen), "none")
        self.browser.open(self.page)
        self.assertEqual(self.browser.run(seen), "none")

    def test_accessible(self):
        names = [name for role, name, _ in self.browser.accessible() if role == "button"]
        self.assertTrue(any(re.match(r"\d+% of the time that matters", name) for name in names), names)


start(CHROMIUM, "Chromium", "offcpu", "make_recording")
