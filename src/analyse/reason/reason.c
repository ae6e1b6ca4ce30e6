/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "analyse/reason/reason.h"

#include <glib.h>
#include <string.h>

static const struct reason_row {
	enum reason_family family;
	const char *name, *text, *says, *advice;
} rows[REASON_COUNT] = {
	[REASON_OTHER] = { FAMILY_OTHER, "other", "other", "waits for something that no rule knows",
			   "See the stacks; a rule of your own names it: --rules FILE." },
	[REASON_NETWORK_RECEIVE] = { FAMILY_NETWORK, "network.receive", "network receive",
				     "waits for data from the network",
				     "Look at the peer that it waits for; ask it less often, or in parallel." },
	[REASON_NETWORK_SEND] =
		{ FAMILY_NETWORK, "network.send", "network send", "waits for a peer that reads too slowly",
		  "The peer or the link is slower than this sender: send less, or raise the send buffer." },
	[REASON_NETWORK_CONNECT] =
		{ FAMILY_NETWORK, "network.connect", "network connect", "waits for a connection to be set up",
		  "Keep connections open and reuse them; if the peer is at its limit raise its backlog (somaxconn)." },
	[REASON_NETWORK_ACCEPT] = { FAMILY_NETWORK, "network.accept", "network accept", "waits for a client to connect",
				    "Nothing to do: no client connects." },
	[REASON_DISK_READ] = { FAMILY_DISK, "disk.read", "disk read", "waits for a read from disk",
			       "Cache what is read again, read ahead, or read in parallel." },
	[REASON_DISK_WRITE] =
		{ FAMILY_DISK, "disk.write", "disk write", "waits for a write to disk",
		  "Write less at a time, or raise the limits of dirty pages; see which device is slow: offcpu io." },
	[REASON_DISK_SYNC] = { FAMILY_DISK, "disk.sync", "disk sync", "waits for data to be safe on disk (fsync)",
			       "Batch: one fsync for many changes, group commit, or a faster disk for the log." },
	[REASON_DISK_METADATA] = { FAMILY_DISK, "disk.metadata", "disk metadata", "waits for metadata of a file system",
				   "Keep files open, do fewer opens, renames and unlinks at a time." },
	[REASON_LOCK_MUTEX] = { FAMILY_LOCK, "lock.mutex", "mutex", "waits for a mutex",
				"Hold the lock for less time (no I/O or sleep under it), or split it." },
	[REASON_LOCK_RWLOCK] = { FAMILY_LOCK, "lock.rwlock", "read-write lock", "waits for a read-write lock",
				 "Hold it for less time, to read as to write (no I/O under it): who waits to write may keep out all who "
				 "read." },
	[REASON_LOCK_CONDITION] = { FAMILY_LOCK, "lock.condition", "condition", "waits for a condition to be signalled",
				    "Look at who signals it, and what that thread waits for: report --wakers." },
	[REASON_LOCK_SEMAPHORE] = { FAMILY_LOCK, "lock.semaphore", "semaphore", "waits for a semaphore",
				    "If it counts a pool's resources, raise the pool or hold them for less time." },
	[REASON_LOCK_GIL] =
		{ FAMILY_LOCK, "lock.gil", "GIL", "waits for Python's global interpreter lock (GIL)",
		  "A CPU-bound thread holds it: move that work to a process, or to code that releases the GIL." },
	[REASON_LOCK_OTHER] = { FAMILY_LOCK, "lock.other", "other lock", "waits for a lock (futex)",
				"It may be a lock, a queue or a condition: look at who wakes it, and what that thread waits for: report "
				"--wakers." },
	[REASON_LOCK_KERNEL] =
		{ FAMILY_LOCK, "lock.kernel", "kernel lock", "waits for a lock of the kernel",
		  "Fewer threads on one file, address space or socket at a time; see the kernel frames: --stacks." },
	[REASON_LOCK_PINNED] = { FAMILY_LOCK, "lock.pinned", "pinned carrier", "holds up its carrier thread (pinned)",
				 "Meanwhile the carrier runs no other virtual thread: do not wait inside synchronized (before Java 24), native "
				 "code or a class initialiser." },
	[REASON_EVENT_LOOP] = { FAMILY_EVENT_LOOP, "event_loop", "event loop", "waits for events",
				"If events are late, look at who sends them." },
	[REASON_POOL_IDLE] = { FAMILY_POOL_IDLE, "pool_idle", "pool idle", "waits for work",
			       "Nothing to do: there is no work." },
	[REASON_SLEEP] = { FAMILY_SLEEP, "sleep", "sleep", "sleeps until a timer",
			   "See why it pauses: if it looks whether something has come, wait for that instead; a limit of its rate or a "
			   "pause between tries may be meant." },
	[REASON_CHILD_EXIT] = { FAMILY_CHILD_EXIT, "child_exit", "child exit", "waits for a child to end",
				"Look at what the child does: record it, too (--follow)." },
	[REASON_PIPE] = { FAMILY_PIPE, "pipe", "pipe", "waits for the other end of a pipe",
			  "Look at the process at the other end." },
	[REASON_TERMINAL] = { FAMILY_TERMINAL, "terminal", "terminal", "waits for a terminal",
			      "Somebody has to type, or read." },
	[REASON_MEMORY_FILE] = { FAMILY_MEMORY, "memory.file", "page fault from file",
				 "waits for a page of a file to be read",
				 "Warm the file before (MAP_POPULATE, readahead), or lock it into memory (mlock)." },
	[REASON_MEMORY_SWAP] = { FAMILY_MEMORY, "memory.swap", "page fault from swap",
				 "waits for memory to come back from swap",
				 "There is too little memory: use less, add some, or lock what must be fast (mlock)." },
	[REASON_MEMORY_RECLAIM] = { FAMILY_MEMORY, "memory.reclaim", "memory reclaim", "waits for memory to be freed",
				    "The machine or the cgroup is at its memory limit: raise it or use less." },
	[REASON_CPU_THROTTLED] = { FAMILY_CPU, "cpu.throttled", "throttled by cgroup",
				   "is throttled by its cgroup's CPU quota",
				   "Raise the quota (cpu.max), or run fewer threads in it." },
	[REASON_CPU_QUEUE] =
		{ FAMILY_CPU, "cpu.queue", "run queue", "waits for a CPU",
		  "More runnable threads than CPUs: add CPUs or run fewer; who holds them: record --runq-blame." },
	[REASON_STOPPED] = { FAMILY_STOPPED, "stopped", "stopped", "is stopped by a signal or a debugger",
			     "Continue it (SIGCONT), or detach the debugger." },
	[REASON_DEVICE] = { FAMILY_DEVICE, "device", "device", "waits for a device",
			    "See the kernel frames for the driver: --stacks." },
	[REASON_DECISION] = { FAMILY_DECISION, "decision", "decision", "waits for another program to decide",
			      "Look at the program that decides (ended by), and at what it waits for itself." },
	[REASON_ON_CPU] = { FAMILY_ON_CPU, "on_cpu", "on CPU", "runs",
			    "Look at the functions that take most of it: offcpu flame --weight on_cpu." },
};

static const char *const family_names[FAMILY_COUNT] = {
	[FAMILY_OTHER] = "other",       [FAMILY_NETWORK] = "network",       [FAMILY_DISK] = "disk",
	[FAMILY_LOCK] = "lock",         [FAMILY_EVENT_LOOP] = "event_loop", [FAMILY_POOL_IDLE] = "pool_idle",
	[FAMILY_SLEEP] = "sleep",       [FAMILY_CHILD_EXIT] = "child_exit", [FAMILY_PIPE] = "pipe",
	[FAMILY_TERMINAL] = "terminal", [FAMILY_MEMORY] = "memory",         [FAMILY_CPU] = "cpu",
	[FAMILY_STOPPED] = "stopped",   [FAMILY_DEVICE] = "device",         [FAMILY_DECISION] = "decision",
	[FAMILY_ON_CPU] = "on_cpu",
};

static const struct reason_row *row_of(enum reason reason)
{
	return &rows[(unsigned)reason < REASON_COUNT ? reason : REASON_OTHER];
}

const char *reason_name(enum reason reason)
{
	return row_of(reason)->name;
}

const char *reason_text(enum reason reason)
{
	return row_of(reason)->text;
}

const char *reason_says(enum reason reason)
{
	return row_of(reason)->says;
}

const char *reason_advice(enum reason reason)
{
	return row_of(reason)->advice;
}

bool reason_parse(const char *name, enum reason *ret_reason)
{
	for (unsigned i = 0; i < REASON_COUNT; i++) {
		if (g_strcmp0(name, rows[i].name) == 0) {
			*ret_reason = (enum reason)i;
			return true;
		}
	}
	return false;
}

const char *reason_names(void)
{
	static char *names;

	if (g_once_init_enter(&names)) {
		GString *s = g_string_new(rows[0].name);

		for (unsigned i = 1; i < REASON_COUNT; i++)
			g_string_append_printf(s, ", %s", rows[i].name);
		g_once_init_leave(&names, g_string_free(s, FALSE));
	}
	return names;
}

enum reason_family reason_family(enum reason reason)
{
	return row_of(reason)->family;
}

const char *reason_family_name(enum reason_family family)
{
	return family_names[(unsigned)family < FAMILY_COUNT ? family : FAMILY_OTHER];
}

bool reason_is_named(enum reason reason, const char *name)
{
	return strcmp(reason_name(reason), name) == 0 || strcmp(reason_family_name(reason_family(reason)), name) == 0;
}
