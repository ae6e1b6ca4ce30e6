# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What tests of pages share that `offcpu` itself writes: a folder, a browser, recordings made by make-recording, and a start."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from screens import screenshot

EVERYTHING = "#off=_&allFrames=1"    # idle time and folded frames, too, as other outputs have them
TEXT = "document.querySelector(%s).textContent"
PROGRAMS = {}    # "offcpu", "make_recording" and what else a test is given


class Recorded(unittest.TestCase):
    """A class says which browser drives it, and which recordings it wants."""
    BROWSER = None
    RECORDINGS = ()

    @classmethod
    def setUpClass(cls):
        if cls.BROWSER is None:
            raise unittest.SkipTest("what others are made of")
        cls.folder = tempfile.TemporaryDirectory()
        cls.browser = cls.BROWSER()
        for name in cls.RECORDINGS:
            subprocess.run([PROGRAMS["make_recording"], cls.path(name + ".offcpu"), name], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return os.path.join(cls.folder.name, name)

    @classmethod
    def offcpu(cls, *args):
        return subprocess.run([PROGRAMS["offcpu"], *args], cwd=cls.folder.name, check=True, capture_output=True, text=True, timeout=60).stdout

    @classmethod
    def make(cls, command, name, *args):
        """The page `name` of `offcpu COMMAND ARGS`."""
        cls.offcpu(command, *args, "-o", name)
        return cls.path(name)

    def screens(self, name, page, fragment=""):
        """Pictures for a person to look at: light and dark, of a desk and of a phone."""
        for width, height in ((1400, 900), (375, 812)):
            for dark in (False, True):
                self.browser.open(page, fragment, width=width, height=height, dark=dark)
                self.browser.pause(0.2)
                screenshot(self.browser, f"{name}-{'dark' if dark else 'light'}-{width}")

    def text(self, selector):
        return self.browser.run(TEXT % json.dumps(selector))


class Opened(Recorded):
    """Each test begins with `page` open, at FRAGMENT, and the browser has nothing to complain of then and in the end."""
    FRAGMENT = ""
    page = None

    def setUp(self):
        self.browser.problems.clear()
        self.browser.open(self.page, self.FRAGMENT)

    def tearDown(self):
        self.assertEqual(self.browser.problems, [])


def start(has_browser, what, *programs):
    """Runs the tests of the file that was started; its arguments are the programs, in this order.  Exit 77 without a browser."""
    if not has_browser:
        print(f"skipped, no {what} is installed, and {what.upper()} names none")
        sys.exit(77)
    PROGRAMS.update(zip(programs, map(os.path.abspath, sys.argv[1:])))
    del sys.argv[1:1 + len(programs)]
    unittest.main(module="__main__", verbosity=2)
