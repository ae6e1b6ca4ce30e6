# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""What the files that make packages say of the project: one version, and every file that is installed."""
import fnmatch
import json
import re

from lib import ROOT, Skip, expect, need_tools, run

SPEC = ROOT / "packaging" / "offcpu.spec"


def version_is_one(_place):
    """A release has its number in three places."""
    said = {
        "meson.build": re.search(r"version: '(.*)'", (ROOT / "meson.build").read_text()).group(1),
        "debian/changelog": re.match(r"offcpu \((.*)\)", (ROOT / "debian/changelog").read_text()).group(1),
        "packaging/offcpu.spec": re.search(r"^Version: +(.*)$", SPEC.read_text(), re.M).group(1),
    }
    expect(len(set(said.values())) == 1, f"not one version: {said}")
    return said["meson.build"]


def spec_lists_every_file_that_is_installed(_place):
    """Against what Meson would install from the tree `build`, its folders of Debian taken for those of Fedora."""
    need_tools("rpmspec", "meson")
    if not (ROOT / "build" / "build.ninja").exists():
        raise Skip("there is no tree called build")
    macros = {"_sysusersdir": "/usr/lib/sysusers.d", "_unitdir": "/usr/lib/systemd/system", "_mandir": "/usr/share/man", "_datadir": "/usr/share", "_bindir": "/usr/bin"}
    defined = [word for name, value in macros.items() for word in ("--define", f"{name} {value}")]
    parsed = run("rpmspec", "--parse", *defined, SPEC)
    listed = [line.split()[-1] for part in parsed.split("\n%files")[1:] for line in part.splitlines()[1:] if re.match(r"/|%config", line)]
    expect(len(listed) > 8, f"the spec was not understood: {listed}")
    installed = json.loads(run("meson", "introspect", "--installed", ROOT / "build")).values()
    paths = [re.sub(r"^(/usr/local)?/etc/", "/etc/", path).replace("/usr/local/", "/usr/") for path in installed]
    for path in paths:
        matches = [entry for entry in listed if fnmatch.fnmatch(path, entry) or entry.endswith("/") and path.startswith(entry)]
        expect(len(matches) == 1, f"{path} is in {len(matches)} entries of %files: {matches}")
    for entry in listed:
        expect(any(fnmatch.fnmatch(path, entry) or path.startswith(entry) for path in paths), f"{entry} of %files is not installed")
    return f"{len(paths)} files"


RELEASE_POINTS = [version_is_one, spec_lists_every_file_that_is_installed]
