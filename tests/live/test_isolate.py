#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Nothing that a case starts outlives it, and what a case says comes back."""

import os
import signal
import subprocess
import sys
import time
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import isolate  # noqa: E402

SPIN = "while True: pass"


def is_alive(pid):
    return isolate.words_of(pid) != ""


def spin_behind_a_daemon(ret_path):
    """A daemon that ignores SIGTERM, in a session of its own, whose parent has ended."""
    daemon = ("import os, signal\nif os.fork(): os._exit(0)\nos.setsid()\n"
              "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
              f"open({ret_path!r}, 'w').write(str(os.getpid()))\n{SPIN}")
    subprocess.run([sys.executable, "-c", daemon], check=True)
    while not os.path.exists(ret_path) or not os.path.getsize(ret_path):
        time.sleep(0.01)
    with open(ret_path, encoding="ascii") as f:
        return int(f.read())


class Isolate(unittest.TestCase):
    def setUp(self):
        self.path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"test-isolate-{os.getpid()}-{self.id()}")
        self.addCleanup(lambda: os.path.exists(self.path) and os.unlink(self.path))

    def test_result(self):
        said = [True, " # SKIP a\nb", ["ä", "\0"]]
        self.assertEqual(isolate.call(lambda: said, 20), (said, []))

    def test_child(self):
        pid, said = isolate.call(lambda: subprocess.Popen([sys.executable, "-c", SPIN]).pid, 20)
        self.assertFalse(is_alive(pid))
        self.assertEqual(len(said), 1)
        self.assertIn(SPIN, said[0])

    def test_daemon(self):
        pid, said = isolate.call(lambda: spin_behind_a_daemon(self.path), 20)
        self.assertFalse(is_alive(pid))
        self.assertTrue(any(f" {pid} " in line for line in said), said)

    def test_too_long(self):
        def hang():
            pid = spin_behind_a_daemon(self.path)
            while pid:
                time.sleep(1)

        with self.assertRaisesRegex(RuntimeError, "did not end within 3 s"):
            isolate.call(hang, 3)
        with open(self.path, encoding="ascii") as f:
            self.assertFalse(is_alive(int(f.read())))

    def test_killed(self):
        with self.assertRaisesRegex(RuntimeError, "wait status 9"):
            isolate.call(lambda: os.kill(os.getpid(), signal.SIGKILL), 20)

    def test_signals_are_those_of_the_run(self):
        masks, _ = isolate.call(lambda: sorted(signal.pthread_sigmask(signal.SIG_BLOCK, set())), 20)
        self.assertNotIn(signal.SIGCHLD, masks)


if __name__ == "__main__":
    isolate.adopt()
    unittest.main()
