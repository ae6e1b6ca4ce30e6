# SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
"""offcpu io: block requests against the program's own count and the disks' own."""

import json
import mmap
import os
import re
import shutil
import signal
import subprocess
import time

from lib import Broken, Skip, case, default_signals, enter_cgroup, wait_attached

READS = 400
BLOCK = 4096


def direct_reads(path, cnt):
    """Reads blocks by O_DIRECT, one at a time; the time it took, in ns."""
    memory = mmap.mmap(-1, BLOCK)
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    begin = time.monotonic_ns()
    for i in range(cnt):
        os.preadv(fd, [memory], i * 7919 % 1024 * BLOCK)
    took = time.monotonic_ns() - begin
    os.close(fd)
    return took


def watch(env, work, *options):
    """Runs `offcpu io` while work() does its own; (what it printed, what work() gave)."""
    process = subprocess.Popen([env.offcpu, "io", *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, preexec_fn=default_signals)
    env.running.append(process)

    wait_attached(process, "offcpu io")
    result = work()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=20)
    if process.returncode != 0:
        raise Broken(f"offcpu io exited with {process.returncode}: {errors}")
    # a request that ends while a guarded thread has the CPU is not told
    env.unseen |= bool(re.search(r'[1-9][\d,]* ended untold|"ended_untold": ?[1-9]', out))
    return out, result


def watch_direct_reads(env, *options):
    """Runs `offcpu io` beside READS direct reads of a new file; (what it printed, what reading took in ns)."""
    path = env.disk_file()
    try:
        with open(path, "wb") as f:
            f.write(os.urandom(1024 * BLOCK))
            os.fsync(f.fileno())
        try:
            return watch(env, lambda: direct_reads(path, READS), *options)
        except OSError as error:
            raise Skip(f"no direct I/O here: {error}") from error
    finally:
        os.unlink(path)


def number(text):
    return int(text.replace(",", ""))


@case
def block_requests_are_counted(env):
    """Each direct read is one request, of this process, at this place; the disks count as many in all."""
    out, took_ns = watch_direct_reads(env, "--block", "--top", "500", "-o", env.temporary("io.offcpu"))
    head = re.match(r"Block requests of \S+ \S+ ([\d,]+) done \(the disks count ([\d,]+)\)(.*)", out)
    if not head:
        raise Broken(f"no such head: {out[:200]}")
    done, disks = number(head[1]), number(head[2])
    if not done:
        raise Skip("the file system's disk has no requests here")
    untold = sum(map(number, re.findall(r"([\d,]+) ended untold", head[3])))
    others = untold + sum(map(number, re.findall(r"([\d,]+) had begun before", head[3])))
    env.check.that("lost" not in head[3], f"lost: {head[0]}")
    # the disks count what began before, too, and what the kernel told nobody of; a few end between the two readings
    env.check.that(abs(disks - done - others) <= 2 + 0.005 * disks, head[0])
    mine = re.findall(rf"\S+ \S+  [\d.]+%  \S+ \({os.getpid()}\)  \S+ read\n     ([\d,]+) requests?, ", out)
    seen = sum(map(number, mine))
    env.check.that(READS - untold <= seen <= READS * 1.01, f"{seen} requests for {READS} reads, {untold} untold: {out[:2000]}")
    sums = [row for row in re.findall(r"(?m)^ *\d+\. (\S+) (\S+)  [\d.]+%  \S+ \((\d+)\)", out) if int(row[2]) == os.getpid()]
    units = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}
    seen_ns = sum(float(value) * units[unit] for value, unit, _ in sums)
    env.check.that(0 < seen_ns <= took_ns * 1.02, f"{seen_ns} ns of requests in {took_ns} ns of reading, one at a time")


@case
def block_requests_know_who_dirtied(env):
    """What another process wrote and the kernel's threads write back is told under its name; -p has it, too."""
    path = env.disk_file()
    code = ("import os, sys\n"
            "f = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)\n"
            "os.write(f, b'x' * (16 << 20))\n"
            "print('written', flush=True)\n"
            "sys.stdin.read()\n")
    writer = subprocess.Popen(["python3", "-c", "import sys; sys.stdin.readline()\n" + code, path], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    env.running.append(writer)

    def write_back():
        writer.stdin.write("\n")
        writer.stdin.flush()
        writer.stdout.readline()
        os.sync()

    try:
        out, _ = watch(env, write_back, "-p", str(writer.pid), "--top", "50")
        writer.stdin.close()
        writer.wait(20)
    finally:
        os.unlink(path)
    name = os.path.basename(path)
    rows = re.findall(rf"  {re.escape(name)} *  ?write [\d,]+ requests?, ([\d.]+) (\S+), .* dirtied by (\S+) \((\d+)\)", out)
    mib = sum(float(row[0]) * {"KiB": 1 / 1024, "MiB": 1}.get(row[1], 0) for row in rows)
    # the disk may be written to by whoever calls sync, as far as that one is ahead of the kernel's threads
    if not rows and f"{name}" not in out:
        raise Skip("no kernel thread wrote it back")
    env.check.that(all(int(row[3]) == writer.pid for row in rows), f"not by {writer.pid}: {rows}")
    env.check.that(0 < mib <= 16.1, f"{mib} MiB of 16 written back: {out[-1500:]}")
    env.notes.append(f"{mib:.1f} of 16 MiB are told under the writer's name")


@case
def block_requests_as_json(env):
    """The same as JSON: the disks' rows, the files' and the places' add up to the same number, and to the disks' own."""
    out, _ = watch_direct_reads(env, "--block", "--json")
    got = json.loads(out)
    env.check.that(got["schema"] == "offcpu.io/1" and got["type"] == "block", out[:200])
    if not got["requests"]:
        raise Skip("the file system's disk has no requests here")
    for rows in ("disks", "files", "places"):
        env.check.that(sum(row["requests"] for row in got[rows]) == got["requests"], f"{rows} do not add up to {got['requests']}")
        env.check.that(all(sum(cnt for _, cnt in row["log2_ns"]) == row["requests"] for row in got[rows]), rows)
    others = got["begun_before"] + got["ended_untold"]
    env.check.that(abs(got["disks_count"] - got["requests"] - others) <= 2 + 0.005 * got["disks_count"], out[:400])
    mine = sum(row["requests"] for row in got["places"] if row["pid"] == os.getpid() and row["op"] == "read")
    env.check.that(READS - got["ended_untold"] <= mine <= READS * 1.01, f"{mine} requests for {READS} reads")


@case
def block_requests_one_by_one(env):
    """A line for each request: each direct read is one, of one block where it lies; the lines add up to the sums."""
    out, _ = watch_direct_reads(env, "--block", "--slower", "0", "--json")
    *lines, sums = map(json.loads, out.splitlines())
    if not sums["requests"]:
        raise Skip("the file system's disk has no requests here")
    env.check.equal({line["type"] for line in lines}, {"request"}, "types of lines")
    env.check.equal(len(lines), sums["requests"], "lines")
    for part in ("bytes", "held_ns", "queue_ns", "device_ns"):
        env.check.equal(sum(line[part] for line in lines), sum(disk[part] for disk in sums["disks"]), part)
    mine = [line for line in lines if line["pid"] == os.getpid() and line["op"] == "read"]
    env.check.that(READS - sums["ended_untold"] <= len(mine) <= READS * 1.01, f"{len(mine)} lines for {READS} reads")
    env.check.equal({line["bytes"] for line in mine if line["bytes"] == BLOCK}, {BLOCK}, "bytes of a read")
    places = {i * 7919 % 1024 for i in range(READS)}
    sectors = {line["sector"] for line in mine}
    env.check.that(len(sectors) >= 0.99 * len(places) - sums["ended_untold"], f"{len(sectors)} sectors of {len(places)}")
    env.check.that(all(sector % (BLOCK // 512) == 0 for sector in sectors), f"no blocks: {sorted(sectors)[:8]}")

    out, _ = watch_direct_reads(env, "--block", "--slower", "1000s")
    env.check.that(out.startswith("TIME ") and "SECTOR" in out.splitlines()[0], out[:200])
    env.check.that(not out.splitlines()[1], f"a request of more than 1000 s: {out.splitlines()[1]}")


def read_within(group, disk):
    """Reads that through the cache within a control group; who did."""
    with subprocess.Popen(["dd", f"if={disk}", "of=/dev/null", "bs=64k"], stderr=subprocess.DEVNULL,
                          preexec_fn=lambda: enter_cgroup(group, 0)) as reader:
        reader.wait(30)
        return reader.pid


@case
def block_requests_that_a_limit_holds(env):
    """A control group's limit of reads: the time before there are requests is told, and whose they are."""
    top = "/sys/fs/cgroup/blkio"
    if not os.path.exists(f"{top}/blkio.throttle.read_bps_device") or not shutil.which("losetup"):
        raise Skip("no blkio.throttle (cgroup version 1), or no losetup")
    path, group = env.disk_file(), f"{top}/offcpu-held-{os.getpid()}"
    with open(path, "wb") as f:
        f.write(b"x" * (4 << 20))
    made = subprocess.run(["losetup", "-f", "--show", path], capture_output=True, text=True, check=False)
    if made.returncode:
        raise Skip(f"no loop device: {made.stderr.strip()}")
    loop = made.stdout.strip()
    try:
        os.mkdir(group)
        device = os.stat(loop).st_rdev
        with open(f"{group}/blkio.throttle.read_bps_device", "w", encoding="ascii") as f:
            f.write(f"{os.major(device)}:{os.minor(device)} {4 << 20}")
        out, reader = watch(env, lambda: read_within(group, loop), "--block", "--json")
        mine = [row for row in json.loads(out)["places"] if row["pid"] == reader and row["disk"] == os.path.basename(loop)]
        held_ns = sum(row["held_ns"] for row in mine)
        env.check.that(held_ns > 300_000_000, f"held for {held_ns} ns: {mine}")
        others_ns = sum(row["queue_ns"] + row["device_ns"] for row in mine)
        env.check.that(others_ns < held_ns, f"{others_ns} ns in the queue and on the device")
    finally:
        subprocess.run(["losetup", "-d", loop], check=False)
        if os.path.isdir(group):
            os.rmdir(group)
        os.unlink(path)


@case
def block_requests_of_write_back(env):
    """A file's pages are written by a kernel thread or by fsync: by the file's name in any case."""
    path = env.disk_file()

    def write():
        with open(path, "wb") as f:
            f.write(b"x" * (8 << 20))
            f.flush()
            os.fsync(f.fileno())

    try:
        out, _ = watch(env, write)
    finally:
        os.unlink(path)
    name = os.path.basename(path)
    row = re.search(rf"  {re.escape(name)} *  ?write [\d,]+ requests?, ([\d.]+) (\S+), ", out)
    env.check.that(row is not None, f"{name} is not listed: {out[-1500:]}")
    if row:
        env.check.that(abs(float(row[1]) * {"KiB": 1 / 1024, "MiB": 1}.get(row[2], 0) - 8) < 0.1, f"{row[1]} {row[2]} written of 8 MiB")


@case
def block_requests_with_a_flush_count_once(env):
    """A journal's commit is a write between two flushes: a disk that cannot do it itself ends it twice, and counts it once."""
    image, mount = env.disk_file(), env.temporary("mount")
    os.mkdir(mount)

    def commit():
        fd = os.open(os.path.join(mount, "file"), os.O_WRONLY | os.O_CREAT)
        for _ in range(50):
            os.write(fd, b"x" * BLOCK)
            os.fsync(fd)
        os.close(fd)

    try:
        with open(image, "wb") as f:
            f.truncate(32 << 20)
        for command in (["mkfs.ext4", "-q", "-J", "size=4", image], ["mount", "-o", "loop", image, mount]):
            if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode != 0:
                raise Skip(f"no {' '.join(command[:3])} here")
        source = subprocess.run(["findmnt", "-n", "-o", "SOURCE", mount], capture_output=True, text=True, check=False).stdout.strip()
        stat = f"/sys/block/{os.path.basename(source)}/stat"

        def writes():
            with open(stat, encoding="ascii") as f:
                return int(f.read().split()[4])

        before = writes()
        out, _ = watch(env, commit, "--json")
        after = writes()
    finally:
        subprocess.run(["umount", mount], stderr=subprocess.DEVNULL, check=False)
        os.unlink(image)
    got = json.loads(out)
    mine = sum(row["requests"] for row in got["disks"] if row["disk"] == os.path.basename(source) and row["op"] == "write")
    env.check.that(100 - got["ended_untold"] <= mine <= after - before, f"{mine} writes of {after - before} that {source} counts, for 50 commits")
    env.check.that(got["begun_before"] < 50, f"{got['begun_before']} had begun before: a second end of each commit?")


# A server of two processes that forks one more for each line it is told, which writes through to the disk.
FORKS = """read x; dd if=/dev/zero of="$1" bs=4k count=20 oflag=dsync 2>/dev/null; echo; read x; exit 0"""


@case
def io_of_several_processes_and_what_they_fork(env):
    """
    -p takes more than one process, and with --follow the ones these fork; --cgroup those in a group.  Nobody else's
    operations are told.
    """
    group = env.cgroup(f"offcpu-io-{os.getpid()}")

    def write(servers):
        for server in servers:
            server.stdin.write(b"g\n")
            server.stdin.flush()
            if not server.stdout.readline():
                raise Broken("the server did not write")

    for how in ("follow", "alone", "cgroup"):
        paths = [f"{env.disk_file()}-{i}" for i in range(3)]
        servers = [subprocess.Popen(["/bin/sh", "-c", FORKS, "sh", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
                   for path in paths]
        env.running += servers
        options = [word for server in servers[:2] for word in ("-p", str(server.pid))]
        if how == "follow":
            options.append("--follow")
        elif how == "cgroup":
            options = ["--cgroup", os.path.basename(group)]
            for server in servers[:2]:
                enter_cgroup(group, server.pid)
        out, _ = watch(env, lambda: write(servers), "--slower", "1us", "--json", *options)
        told = [json.loads(line) for line in out.splitlines() if '"op"' in line]
        writes = [sum(op.get("op") == "write" and op.get("file") == path for op in told) for path in paths]
        env.check.equal(writes, [0, 0, 0] if how == "alone" else [20, 20, 0], f"writes of each server's child, {how}")
        if how == "alone":
            ours = {op["pid"] for op in told if "pid" in op}
            env.check.that(ours <= {server.pid for server in servers[:2]}, f"operations of {ours}")
        for server in servers:
            server.stdin.close()
            server.wait(10)
        for path in paths:
            os.unlink(path)
