#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""`offcpu flame` as a user calls it: test_cmd.py OFFCPU MAKE_FLAME."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as ET

OFFCPU = MAKE_FLAME = None
NS = "{http://www.w3.org/2000/svg}"


class FlameCommand(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        subprocess.run([MAKE_FLAME, "server", "record=" + self.path("db.offcpu")], check=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def run_flame(self, *args):
        return subprocess.run([OFFCPU, "flame", *args], cwd=self.folder, capture_output=True, text=True, timeout=60)

    def frames(self, name):
        root = ET.fromstring(self.read(name))
        return [g.find(NS + "title").text.split("\n") for g in root.iter(NS + "g") if "data-f" in g.attrib]

    def refused(self, status, words, *args):
        """One sentence, that status, and no file made or changed."""
        before = {name: self.read(name) for name in os.listdir(self.folder)}
        r = self.run_flame(*args)
        self.assertEqual(r.returncode, status, args)
        self.assertEqual((r.stdout, r.stderr.count("\n")), ("", 1), args)
        self.assertIn(words, r.stderr)
        self.assertEqual({name: self.read(name) for name in os.listdir(self.folder)}, before)

    def test_default_names(self):
        r = self.run_flame("db.offcpu")
        self.assertEqual((r.returncode, r.stdout, r.stderr), (0, "", ""))
        self.assertEqual(self.frames("db.svg")[0][0], "all")
        os.rename(self.path("db.offcpu"), self.path("trace.offcpu"))
        self.assertEqual(self.run_flame().returncode, 0)
        self.assertEqual(self.read("trace.svg"), self.read("db.svg"))

    def test_forms(self):
        self.assertEqual(self.run_flame("db.offcpu", "-o", "x.html").returncode, 0)
        self.assertTrue(self.read("x.html").startswith(b"<!DOCTYPE html>"))
        ET.fromstring(self.run_flame("db.offcpu", "-o", "-").stdout.encode())

    def test_options(self):
        self.run_flame("db.offcpu", "-o", "a.svg", "--by", "thread", "--title", "T<1>", "--subtitle", "S&2",
                       "--width", "800", "--palette", "state", "--inverted")
        svg = self.read("a.svg")
        for part in (b"T&lt;1&gt;", b"S&amp;2", b'width="800"', b'data-inverted="1"', b"sleeping "):
            self.assertIn(part, svg)
        self.assertIn("sysbench-901/902", [f[0] for f in self.frames("a.svg")])
        self.run_flame("db.offcpu", "-o", "b.svg", "--reverse", "--palette", "wakeup", "--weight", "preempted")
        self.assertEqual([f[0] for f in self.frames("b.svg")][:3], ["all", "__schedule", "schedule"])
        self.run_flame("db.offcpu", "-o", "c.svg", "--min-width", "20%")
        self.run_flame("db.offcpu", "-o", "d.svg", "--min-width", "236px")
        self.run_flame("db.offcpu", "-o", "e.svg", "--min-width", "0")
        self.assertLess(len(self.frames("c.svg")), len(self.frames("e.svg")))
        self.assertEqual(len(self.frames("c.svg")), len(self.frames("d.svg")))
        self.run_flame("db.offcpu", "-o", "f.svg", "--delimiter")
        self.assertIn("-", [f[0] for f in self.frames("f.svg")])

    def test_filters(self):
        for name, args in (("comm", ["--comm", "jbd2*"]), ("grep", ["--grep", "kjournald"]), ("state", ["--state", "T"]),
                           ("bits", ["--state", "4"])):
            self.assertEqual(self.run_flame("db.offcpu", "-o", name + ".svg", *args).returncode, 0)
        self.assertEqual(self.read("state.svg").replace(b"state T", b""), self.read("bits.svg").replace(b"state T", b""))
        self.assertEqual([f[0] for f in self.frames("comm.svg")], [f[0] for f in self.frames("grep.svg")])
        self.assertEqual(self.frames("state.svg")[1][0], "gdb-target")
        self.assertIn(b" shown of ", self.read("state.svg"))

    def test_idle(self):
        """A column that is no frame; what it says and what the frames have is what there is with --idle keep."""
        for how in ("fold", "keep", "drop"):
            self.assertEqual(self.run_flame("db.offcpu", "-o", how + ".svg", "--idle", how, "--min-width", "0").returncode, 0)
        totals, columns = {}, {}
        for how in ("fold", "keep", "drop"):
            groups = list(ET.fromstring(self.read(how + ".svg")).iter(NS + "g"))
            totals[how] = next(int(g.get("data-f").split(",")[1]) for g in groups if "data-f" in g.attrib)
            columns[how] = [g.find(NS + "title").text for g in groups if g.get("class") == "idle"]
        whole = json.loads(subprocess.run([OFFCPU, "report", "db.offcpu", "--json"], cwd=self.folder, check=True, capture_output=True).stdout)
        idle = sum(w["blocked_ns"] for w in whole["waits"] if w["idle"])
        self.assertGreater(idle, 0)
        self.assertEqual((totals["keep"] - totals["fold"], totals["drop"]), (idle, totals["fold"]))
        self.assertEqual((len(columns["fold"]), columns["keep"], columns["drop"]), (1, [], []))
        self.assertRegex(columns["fold"][0], rf", {100 * idle / totals['keep']:.1f}% of the time\n")
        self.assertIn(b" shown of ", self.read("drop.svg"))
        self.run_flame("db.offcpu", "-o", "only.svg", "--comm", "ib_io_rd", "--weight", "blocked")    # nothing else is left
        self.assertNotIn(b'class="idle"', self.read("only.svg"))
        self.refused(2, "--idle \"x\"", "db.offcpu", "--idle", "x")

    def test_refusals(self):
        self.run_flame("db.offcpu", "-o", "keep.svg")
        os.symlink("db.offcpu", self.path("link.svg"))
        with open(self.path("text.offcpu"), "w", encoding="utf-8") as file:
            file.write("no recording")
        out = ["-o", "keep.svg"]
        self.refused(1, "nothing to draw", "db.offcpu", "--comm", "nobody", *out)
        self.refused(1, "text.offcpu", "text.offcpu", *out)
        self.refused(1, "missing.offcpu", "missing.offcpu", *out)
        self.refused(1, "nowhere", "db.offcpu", "-o", "nowhere/x.svg")
        for words, *args in (("weight \"x\"", "--weight", "x"), ("palette \"x\"", "--palette", "x"), ("\"x\"", "--by", "x"),
                             ("width \"9\"", "--width", "9"), ("\"120%\"", "--min-width", "120%"), ("\"(\"", "--grep", "("),
                             ("'Q'", "--state", "Q"), ("--nope", "--nope"), ("second", "other")):
            self.refused(2, words, "db.offcpu", *out, *args)
        for other in ("db.offcpu", "./db.offcpu", "link.svg"):
            self.refused(2, "would replace the recording", "db.offcpu", "-o", other)

    def test_output_in_place(self):
        """A file keeps its mode; what is no plain file is written into, and stays what it is."""
        self.run_flame("db.offcpu", "-o", "mode.svg")
        whole = self.read("mode.svg")
        os.chmod(self.path("mode.svg"), 0o600)
        self.assertEqual(self.run_flame("db.offcpu", "-o", "mode.svg").returncode, 0)
        self.assertEqual(os.stat(self.path("mode.svg")).st_mode & 0o777, 0o600)
        os.symlink("mode.svg", self.path("link.svg"))
        with open(self.path("mode.svg"), "w", encoding="utf-8") as file:
            file.write("longer than what comes in its place" * 100000)
        self.assertEqual(self.run_flame("db.offcpu", "-o", "link.svg").returncode, 0)
        self.assertTrue(os.path.islink(self.path("link.svg")))
        self.assertEqual(self.read("mode.svg"), whole)
        os.mkfifo(self.path("fifo.svg"))
        with subprocess.Popen(["cat", self.path("fifo.svg")], stdout=subprocess.PIPE) as reader:
            self.assertEqual(self.run_flame("db.offcpu", "-o", "fifo.svg").returncode, 0)
            self.assertEqual(reader.communicate()[0], whole)
        r = self.run_flame("db.offcpu", "-o", "/dev/full")
        self.assertEqual(r.returncode, 1)
        self.assertIn("/dev/full", r.stderr)

    def test_output_that_fails(self):
        for args in (["--version"], ["--help"], ["report", "db.offcpu"], ["export", "-f", "json", "db.offcpu"], ["flame", "-o", "-", "db.offcpu"]):
            with open("/dev/full", "wb") as full:
                r = subprocess.run([OFFCPU, *args], cwd=self.folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
            self.assertEqual((r.returncode, r.stderr.count("\n")), (1, 1), (args, r.stderr))
            self.assertIn("standard output", r.stderr)

    def test_words_that_make_no_sense(self):
        """Said before anything is traced."""
        os.mkdir(self.path("x.offcpu.old"))
        with open(self.path("x.offcpu"), "w", encoding="utf-8") as file:
            file.write("kept")
        with subprocess.Popen(["true"]) as ended:
            os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
            for status, words, *args in ((2, "no command", "record", "--"), (2, "above 0", "events", "-d", "0"),
                                         (2, "--max-depth", "record", "--max-depth", "0"),
                                         (2, "-P and -L", "hist", "-P", "-L"), (2, "--on-cpu", "hist", "--on-cpu", "--state", "D"),
                                         (2, "prints there, too", "record", "-o", "-", "--", "true"), (1, "x.offcpu.old", "record", "-o", "x.offcpu"),
                                         (1, "has ended", "record", "-p", str(ended.pid)),
                                         (2, "--unit: not of csv", "export", "-f", "csv", "--unit", "ms", "db.offcpu"),
                                         (2, "would replace", "export", "-f", "csv", "db.offcpu", "-o", "./db.offcpu")):
                r = subprocess.run([OFFCPU, *args], cwd=self.folder, capture_output=True, text=True, timeout=60)
                self.assertEqual((r.returncode, r.stdout, r.stderr.count("\n")), (status, "", 1), (args, r.stderr))
                self.assertIn(words, r.stderr)

    def test_hostile_words(self):
        """What is quoted does not steer the terminal."""
        r = subprocess.run([OFFCPU, "report", "\x1b[31m\u009b31m.offcpu"], cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 1)
        self.assertIn("\\x1b[31m", r.stderr)
        self.assertFalse(set(r.stderr) & {"\x1b", "\u009b"})

    def test_help(self):
        r = self.run_flame("--help")
        self.assertEqual(r.returncode, 0)
        self.assertLess(r.stdout.index("offcpu flame db.offcpu"), r.stdout.index("--output"))


if __name__ == "__main__":
    MAKE_FLAME = os.path.abspath(sys.argv.pop(2))
    OFFCPU = os.path.abspath(sys.argv.pop(1))
    unittest.main(verbosity=2)
