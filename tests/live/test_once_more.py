#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""A case that fails runs once more at the end, and tools/run-tests tells which of them were unsteady."""

import argparse
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import isolate  # noqa: E402
import lib  # noqa: E402
import run  # noqa: E402


def run_tests():
    """tools/run-tests as a module."""
    loader = importlib.machinery.SourceFileLoader("run_tests", os.path.join(HERE, "..", "..", "tools", "run-tests"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


def good(env):
    env.check.that(True, "right")


def bad(env):
    env.check.that(False, "always wrong")


def unsteady(env):
    """Fails for who comes first."""
    try:
        os.mkdir(MARK)
        env.check.that(False, "wrong at first")
    except FileExistsError:
        env.check.that(True, "right")


def slow(env):
    env.check.that(False, "is not to run")


class OnceMore(unittest.TestCase):
    def printed(self, *cases, **options):
        given = argparse.Namespace(**{"offcpu": "offcpu", "programs": "/", "keep": None, "all": False, "only": [], **options})
        path = os.path.join(FOLDER, self.id())
        with open(path, "w", encoding="utf-8") as out, contextlib.redirect_stdout(out):
            print(f"1..{len(cases)}", flush=True)
            self.all_passed = run.run_cases(cases, given)
        with open(path, encoding="utf-8") as f:
            return f.read()

    def tally(self, text):
        reader = MODULE.TapReader()
        for line in text.splitlines():
            reader.line(line)
        return reader.close(0 if self.all_passed else 1)

    def test_unsteady(self):
        text = self.printed(unsteady, good)
        os.rmdir(MARK)
        tally = self.tally(text)
        self.assertTrue(self.all_passed)
        self.assertEqual((tally.passed, tally.failed, [u.description for u in tally.unsteady]), (2, [], ["unsteady"]))
        self.assertLess(text.index("ok 2 - good"), text.index("ok 1 - unsteady"))
        self.assertIn("first: wrong at first", " ".join(tally.unsteady[0].why()))
        self.assertIn("once more: 1 checks", " ".join(tally.unsteady[0].why()))

    def test_bad(self):
        tally = self.tally(self.printed(bad, good))
        self.assertFalse(self.all_passed)
        self.assertEqual((tally.passed, [f.description for f in tally.failed], tally.unsteady), (1, ["bad"], []))

    def test_nightly(self):
        lib.NIGHTLY.add(slow)
        tally = self.tally(self.printed(slow, good))
        self.assertEqual((tally.passed, tally.failed, [name for name, _ in tally.skipped]), (1, [], ["slow"]))
        self.assertEqual(len(self.tally(self.printed(slow, good, all=True)).failed), 1)

    def test_meson(self):
        """In a tree of Meson's: one test fails once, one always."""
        tree = os.path.join(FOLDER, "tree")
        os.mkdir(tree)
        with open(os.path.join(tree, "meson.build"), "w", encoding="utf-8") as file:
            file.write("project('p')\nsh = find_program('sh')\n"
                       f"test('once', sh, args: ['-c', 'mkdir {tree}/mark; r=$?; test $r != 0'])\n"
                       "test('never', sh, args: ['-c', 'echo it is wrong; exit 1'])\ntest('good', sh, args: ['-c', 'true'])\n")
        build = os.path.join(tree, "build")
        subprocess.run(["meson", "setup", build, tree], stdout=subprocess.DEVNULL, check=True)
        logs, MODULE.LOGS = MODULE.LOGS, MODULE.Path(FOLDER)
        tally = MODULE.run_meson_in("meson", build, 60, dict(os.environ))
        MODULE.LOGS = logs
        self.assertEqual((tally.passed, len(tally.failed), len(tally.unsteady)), (2, 1, 1))
        self.assertIn("never", tally.failed[0].description)
        self.assertIn("once", tally.unsteady[0].description)

    def test_too_many(self):
        for cnt, failed in (5, 0), (6, 1):
            tally = MODULE.Tally(passed=cnt, unsteady=[MODULE.Failure("a")] * cnt)
            with contextlib.redirect_stdout(io.StringIO()):
                total = MODULE.run_suites(["live"], {"live": lambda t=tally: t})
            self.assertEqual(len(total.failed), failed)


if __name__ == "__main__":
    isolate.adopt()
    MODULE = run_tests()
    with tempfile.TemporaryDirectory() as FOLDER:
        MARK = os.path.join(FOLDER, "mark")
        unittest.main()
