# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""Pictures for a person to look at: screenshot(browser, "serve-light-1400") writes build/test-logs/screens/serve-light-1400.png."""
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
FOLDER = os.environ.get("OFFCPU_SCREENS") or os.path.join(ROOT, "build", "test-logs", "screens")


def screenshot(browser, name):
    """What the browser shows, in a file; returns its path.  The suite's output says where it is."""
    os.makedirs(FOLDER, exist_ok=True)
    path = os.path.join(FOLDER, name + ".png")
    browser.picture(path)
    print("# picture: " + path, flush=True)
    return path
