/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile_schema.h"

#include <stddef.h>

/* What all versions have; a change of one of these is for the version after the newest. */
#define TABLES_OF_1_TO_3 \
	{ "meta", \
	  "CREATE TABLE meta( -- about the whole recording\n" \
	  "  key TEXT PRIMARY KEY, -- version, host, kernel, cpus, command_line, filters, self_excluded\n" \
	  "  value\n" \
	  ") WITHOUT ROWID" }, \
	{ "window", \
	  "CREATE TABLE window(\n" \
	  "  id INTEGER PRIMARY KEY,\n" \
	  "  start_unix_ns INTEGER, -- CLOCK_REALTIME\n" \
	  "  start_ns INTEGER, -- CLOCK_MONOTONIC, as every time without a word\n" \
	  "  duration_ns INTEGER,\n" \
	  "  switches INTEGER,\n" \
	  "  tracer_cpu_ns INTEGER,\n" \
	  "  tracer_peak_rss_bytes INTEGER,\n" \
	  "  tracer_bpf_ns INTEGER -- NULL: not known\n" \
	  ")" }, \
	{ "loss", \
	  "CREATE TABLE loss( -- what could not be recorded\n" \
	  "  id INTEGER PRIMARY KEY,\n" \
	  "  window_id INTEGER REFERENCES window(id),\n" \
	  "  reason TEXT,\n" \
	  "  help TEXT,\n" \
	  "  count INTEGER,\n" \
	  "  time_ns INTEGER -- of the threads concerned, where known\n" \
	  ")" }, \
	{ "string", \
	  "CREATE TABLE string(\n" \
	  "  id INTEGER PRIMARY KEY,\n" \
	  "  text TEXT\n" \
	  ")" }, \
	{ "frame", \
	  "CREATE TABLE frame(\n" \
	  "  id INTEGER PRIMARY KEY,\n" \
	  "  name_id INTEGER REFERENCES string(id), -- NULL: unnamed, see why\n" \
	  "  module_id INTEGER REFERENCES string(id),\n" \
	  "  offset INTEGER, -- in the module, or the address; 64 bits, print it with printf('%x')\n" \
	  "  file_id INTEGER REFERENCES string(id),\n" \
	  "  line INTEGER, -- 0: not known\n" \
	  "  kind INTEGER, -- 0 user, 1 kernel\n" \
	  "  why INTEGER, -- 0 named, 1 no symbols, 2 not mapped, 3 process gone, 4 no file, 5 stack lost\n" \
	  "  is_inline INTEGER\n" \
	  ")" }, \
	{ "stack", \
	  "CREATE TABLE stack( -- prefix tree: a stack is the path from the outermost frame to this row\n" \
	  "  id INTEGER PRIMARY KEY,\n" \
	  "  parent_id INTEGER REFERENCES stack(id), -- NULL: outermost; else below id\n" \
	  "  frame_id INTEGER REFERENCES frame(id),\n" \
	  "  depth INTEGER, -- frames on the path\n" \
	  "  end INTEGER -- 0 none (inner row), 1 complete, 2 truncated, 3 broken, 4 pending\n" \
	  ")" }, \
	{ "thread", \
	  "CREATE TABLE thread( -- one thread as one program: an exec begins a new row\n" \
	  "  id INTEGER PRIMARY KEY,\n" \
	  "  window_id INTEGER REFERENCES window(id),\n" \
	  "  pid INTEGER,\n" \
	  "  tid INTEGER,\n" \
	  "  start_ns INTEGER, -- since boot\n" \
	  "  comm TEXT,\n" \
	  "  process TEXT, -- comm of the process's first thread\n" \
	  "  flags INTEGER, -- 1 kernel, 2 open_at_start, 4 open_at_end, 8 exited, 16 execed\n" \
	  "  from_ns INTEGER,\n" \
	  "  to_ns INTEGER,\n" \
	  "  on_cpu_ns INTEGER,\n" \
	  "  blocked_ns INTEGER,\n" \
	  "  runnable_ns INTEGER,\n" \
	  "  preempted_ns INTEGER,\n" \
	  "  filtered_ns INTEGER, -- off-CPU time that a filter kept from being listed in wait\n" \
	  "  lost_ns INTEGER, -- off-CPU time that a loss kept from being listed in wait\n" \
	  "  switches INTEGER\n" \
	  ")" },

const struct profile_table profile_schema_1[] = {
	TABLES_OF_1_TO_3
	{ "wait",
	  "CREATE TABLE wait( -- all waits of one thread with the same state, flags and stacks\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  window_id INTEGER REFERENCES window(id),\n"
	  "  thread_id INTEGER REFERENCES thread(id),\n"
	  "  user_stack_id INTEGER REFERENCES stack(id), -- NULL: none\n"
	  "  kernel_stack_id INTEGER REFERENCES stack(id),\n"
	  "  state TEXT, -- S D T t P I R\n"
	  "  flags INTEGER, -- 1 open_at_start, 2 open_at_end\n"
	  "  count INTEGER,\n"
	  "  blocked_ns INTEGER,\n"
	  "  runnable_ns INTEGER,\n"
	  "  preempted_ns INTEGER,\n"
	  "  max_ns INTEGER,\n"
	  "  log2_ns TEXT -- JSON [[exponent,count],...]: durations from 2^exponent ns up to the next\n"
	  ")" },
	{ NULL, NULL },
};

/* A wait's window is that of its thread, and of one wait alone its duration says all. */
const struct profile_table profile_schema_2[] = {
	TABLES_OF_1_TO_3
	{ "wait",
	  "CREATE TABLE wait( -- all waits of one thread with the same state, flags and stacks\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  thread_id INTEGER REFERENCES thread(id),\n"
	  "  user_stack_id INTEGER REFERENCES stack(id), -- NULL: none\n"
	  "  kernel_stack_id INTEGER REFERENCES stack(id),\n"
	  "  state TEXT, -- S D T t P I R\n"
	  "  flags INTEGER, -- 1 open_at_start, 2 open_at_end\n"
	  "  count INTEGER,\n"
	  "  blocked_ns INTEGER,\n"
	  "  runnable_ns INTEGER,\n"
	  "  preempted_ns INTEGER,\n"
	  "  max_ns INTEGER, -- NULL: one wait, so the sum of the three before\n"
	  "  log2_ns TEXT -- JSON [exponent,count,...]: durations from 2^exponent ns up to the next, and so on; NULL: one wait\n"
	  ")" },
	{ NULL, NULL },
};

/* New: what sampling must not touch, and what it did; who made threads runnable. */
const struct profile_table profile_schema_3[] = {
	TABLES_OF_1_TO_3
	{ "object",
	  "CREATE TABLE object( -- what threads waited for: futexes\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  kind TEXT, -- mutex, condition variable, rwlock, semaphore, barrier, join, once, libc lock, park; futex: not known\n"
	  "  is_private INTEGER,\n"
	  "  operation TEXT, -- FUTEX_WAIT, ..., futex_waitv\n"
	  "  name TEXT, -- of the variable, or where it lies\n"
	  "  place TEXT, -- path of the file whose data it is, [heap], [stack], ...\n"
	  "  pid INTEGER, -- 0: shared, and known by its name\n"
	  "  address INTEGER, -- in that process; 64 bits, print it with printf('%x')\n"
	  "  holder_tid INTEGER -- who held it as the waits began; NULL: not known\n"
	  ")" },
	{ "wait",
	  "CREATE TABLE wait( -- all waits of one thread with the same state, flags, stacks and object\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  thread_id INTEGER REFERENCES thread(id),\n"
	  "  user_stack_id INTEGER REFERENCES stack(id), -- NULL: none\n"
	  "  kernel_stack_id INTEGER REFERENCES stack(id),\n"
	  "  state TEXT, -- S D T t P I R\n"
	  "  flags INTEGER, -- 1 open_at_start, 2 open_at_end\n"
	  "  count INTEGER,\n"
	  "  blocked_ns INTEGER,\n"
	  "  runnable_ns INTEGER,\n"
	  "  preempted_ns INTEGER,\n"
	  "  off_cpu_se_ns INTEGER, -- standard error of the sum of the three before; NULL: exact\n"
	  "  max_ns INTEGER, -- NULL: one wait, so that sum\n"
	  "  log2_ns TEXT, -- JSON [exponent,count,...]: durations from 2^exponent ns up to the next, and so on; NULL: one wait\n"
	  "  object_id INTEGER REFERENCES object(id) -- NULL: none, or not recorded\n"
	  ")" },
	{ "state_total",
	  "CREATE TABLE state_total( -- exact, whatever was sampled: all waits of one thread in one state but those filtered\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  thread_id INTEGER REFERENCES thread(id),\n"
	  "  state TEXT, -- S D T t P I R\n"
	  "  count INTEGER,\n"
	  "  blocked_ns INTEGER,\n"
	  "  runnable_ns INTEGER,\n"
	  "  preempted_ns INTEGER\n"
	  ")" },
	{ "sampling",
	  "CREATE TABLE sampling( -- waits below the scale were kept with probability duration / scale\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  window_id INTEGER REFERENCES window(id),\n"
	  "  start_scale_ns INTEGER, -- as the window began; 0: exact\n"
	  "  end_scale_ns INTEGER,\n"
	  "  max_scale_ns INTEGER,\n"
	  "  raised INTEGER, -- times the governor raised the scale\n"
	  "  lowered INTEGER,\n"
	  "  exceeded INTEGER, -- readings, about one a second, above the budget by the BPF programs' time\n"
	  "  budget_ppm INTEGER, -- of all CPUs' time; 0: no governor\n"
	  "  used_ppm INTEGER, -- the tracer's BPF and CPU time; NULL: not known\n"
	  "  peak_ppm INTEGER -- in the worst second\n"
	  ")" },
	{ "waker",
	  "CREATE TABLE waker( -- what made threads runnable: a thread at a place, or an interrupt\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  pid INTEGER, -- 0: an interrupt\n"
	  "  tid INTEGER,\n"
	  "  start_ns INTEGER, -- since boot\n"
	  "  comm TEXT,\n"
	  "  irq TEXT, -- NULL: a thread; else irq:DEVICE, softirq:VECTOR, timer, ipi, ...\n"
	  "  user_stack_id INTEGER REFERENCES stack(id), -- NULL: none\n"
	  "  kernel_stack_id INTEGER REFERENCES stack(id)\n"
	  ")" },
	{ "wake",
	  "CREATE TABLE wake( -- the sleeps of one wait row that one waker ended\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  wait_id INTEGER REFERENCES wait(id),\n"
	  "  waker_id INTEGER REFERENCES waker(id),\n"
	  "  count INTEGER,\n"
	  "  blocked_ns INTEGER, -- part of the wait's\n"
	  "  runnable_ns INTEGER, -- part of the wait's: from the waking to the CPU\n"
	  "  log2_ns TEXT -- of these delays, as in wait\n"
	  ")" },
	{ "chain",
	  "CREATE TABLE chain( -- a waker, and the chain that had ended its own last wait\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  waker_id INTEGER REFERENCES waker(id),\n"
	  "  next_id INTEGER REFERENCES chain(id), -- NULL: see end; else below id\n"
	  "  end INTEGER, -- 0 goes on, 1 awake, 2 loop, 3 interrupt, 4 depth, 5 start of tracing, 6 unknown\n"
	  "  loop_steps INTEGER -- how many steps back towards the sleeper a loop closes\n"
	  ")" },
	{ "story",
	  "CREATE TABLE story( -- sleeps of one wake row that one chain ended\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  wake_id INTEGER REFERENCES wake(id),\n"
	  "  chain_id INTEGER REFERENCES chain(id),\n"
	  "  count INTEGER,\n"
	  "  blocked_ns INTEGER, -- part of the wake's; its hops and rest_ns add up to it\n"
	  "  runnable_ns INTEGER, -- part of the wake's\n"
	  "  rest_ns INTEGER -- the last waker's wait for who is not in the chain; until the interrupt came\n"
	  ")" },
	{ "hop",
	  "CREATE TABLE hop( -- what one waker of the chain did in that time\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  story_id INTEGER REFERENCES story(id),\n"
	  "  step INTEGER, -- 1: who woke the sleeper\n"
	  "  ran_ns INTEGER, -- from the end of its own wait to its waking, on CPU\n"
	  "  runnable_ns INTEGER, -- the same, waiting for a CPU\n"
	  "  earlier_ns INTEGER -- before its own wait\n"
	  ")" },
	{ "blame",
	  "CREATE TABLE blame( -- who held the CPU while a thread stood in its queue; what no row of it takes is not known\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  thread_id INTEGER REFERENCES thread(id), -- that waited\n"
	  "  kind INTEGER, -- 1 a thread, 2 nobody: the CPU was idle, 3 nobody: throttled by its cgroup\n"
	  "  pid INTEGER, -- of the thread that held it, as the next two; 0 and '' without\n"
	  "  tid INTEGER, -- 0: several threads of that name\n"
	  "  comm TEXT,\n"
	  "  count INTEGER, -- stretches of its on the CPU\n"
	  "  runnable_ns INTEGER, -- part of the waiting thread's\n"
	  "  preempted_ns INTEGER\n"
	  ")" },
	{ "storm",
	  "CREATE TABLE storm( -- events of one waker that woke 8 threads or more at once\n"
	  "  id INTEGER PRIMARY KEY,\n"
	  "  waker_id INTEGER REFERENCES waker(id),\n"
	  "  events INTEGER,\n"
	  "  calls INTEGER, -- system calls or interrupts that they took\n"
	  "  woken INTEGER,\n"
	  "  most INTEGER, -- woken by one event\n"
	  "  ended INTEGER, -- of the woken, seen to sleep again or exit\n"
	  "  again INTEGER, -- of those, asleep again after 100 us on CPU or less\n"
	  "  cpu_ns INTEGER, -- on CPU from the waking until then, of all that ended\n"
	  "  again_ns INTEGER, -- the same of those asleep again\n"
	  "  delay_ns INTEGER -- in a run queue meanwhile, of all that ended\n"
	  ")" },
	{ NULL, NULL },
};

const char profile_views[] =
	"CREATE VIEW v_frame AS SELECT f.id,\n"
	"  coalesce(n.text, printf('%s+0x%x', coalesce(m.text, ''), f.offset)) AS name,\n"
	"  m.text AS module, f.offset, s.text AS file, f.line,\n"
	"  CASE f.kind WHEN 1 THEN 'kernel' ELSE 'user' END AS kind,\n"
	"  CASE f.why WHEN 0 THEN 'named' WHEN 1 THEN 'no symbols' WHEN 2 THEN 'not mapped'\n"
	"    WHEN 3 THEN 'process gone' WHEN 4 THEN 'no file' ELSE 'stack lost' END AS why,\n"
	"  f.is_inline\n"
	"FROM frame f LEFT JOIN string n ON n.id = f.name_id LEFT JOIN string m ON m.id = f.module_id\n"
	"  LEFT JOIN string s ON s.id = f.file_id;\n"
	"CREATE VIEW v_stack AS SELECT s.id, s.parent_id, s.depth,\n"
	"  CASE s.end WHEN 0 THEN 'none' WHEN 1 THEN 'complete' WHEN 2 THEN 'truncated'\n"
	"    WHEN 3 THEN 'broken' ELSE 'pending' END AS end,\n"
	"  f.name AS leaf, f.module, f.file, f.line, f.kind\n"
	"FROM stack s LEFT JOIN v_frame f ON f.id = s.frame_id;\n"
	"CREATE VIEW v_thread AS SELECT id, window_id, pid, tid, comm, process,\n"
	"  to_ns - from_ns AS observed_ns, on_cpu_ns,\n"
	"  blocked_ns + runnable_ns + preempted_ns AS off_cpu_ns, blocked_ns, runnable_ns, preempted_ns,\n"
	"  to_ns - from_ns - on_cpu_ns - blocked_ns - runnable_ns - preempted_ns AS residual_ns,\n"
	"  filtered_ns, lost_ns, switches, flags & 1 <> 0 AS is_kernel, flags & 2 <> 0 AS open_at_start,\n"
	"  flags & 4 <> 0 AS open_at_end, flags & 8 <> 0 AS exited, flags & 16 <> 0 AS execed\n"
	"FROM thread;\n"
	"CREATE VIEW v_wait AS SELECT w.id, t.window_id, w.thread_id, t.pid, t.tid, t.comm, t.process, w.state,\n"
	"  w.flags & 1 <> 0 AS open_at_start, w.flags & 2 <> 0 AS open_at_end, w.count,\n"
	"  w.blocked_ns + w.runnable_ns + w.preempted_ns AS off_cpu_ns,\n"
	"  w.blocked_ns, w.runnable_ns, w.preempted_ns, coalesce(w.off_cpu_se_ns, 0) AS off_cpu_se_ns,\n"
	"  coalesce(w.max_ns, w.blocked_ns + w.runnable_ns + w.preempted_ns) AS max_ns,\n"
	"  w.user_stack_id, u.leaf AS user_leaf, w.kernel_stack_id, k.leaf AS kernel_leaf,\n"
	"  o.kind AS object_kind, o.name AS object\n"
	"FROM wait w LEFT JOIN thread t ON t.id = w.thread_id LEFT JOIN v_stack u ON u.id = w.user_stack_id\n"
	"  LEFT JOIN v_stack k ON k.id = w.kernel_stack_id LEFT JOIN object o ON o.id = w.object_id;\n"
	"CREATE VIEW v_wake AS SELECT k.id, k.wait_id, t.comm, t.pid, t.tid, coalesce(a.irq, a.comm) AS waker,\n"
	"  a.pid AS waker_pid, a.tid AS waker_tid, a.irq, k.count, k.blocked_ns, k.runnable_ns,\n"
	"  a.user_stack_id AS waker_user_stack_id, a.kernel_stack_id AS waker_kernel_stack_id\n"
	"FROM wake k JOIN wait w ON w.id = k.wait_id JOIN thread t ON t.id = w.thread_id\n"
	"  JOIN waker a ON a.id = k.waker_id;\n"
	"CREATE VIEW v_story AS WITH RECURSIVE path(chain_id, at_id, step) AS (SELECT id, id, 1 FROM chain\n"
	"  UNION ALL SELECT p.chain_id, c.next_id, p.step + 1 FROM path p JOIN chain c ON c.id = p.at_id\n"
	"    WHERE c.next_id IS NOT NULL)\n"
	"SELECT s.id, s.wake_id, k.comm, k.pid, k.tid, s.count, s.blocked_ns, p.step, coalesce(a.irq, a.comm) AS waker,\n"
	"  a.pid AS waker_pid, a.tid AS waker_tid, coalesce(h.ran_ns, 0) AS ran_ns,\n"
	"  coalesce(h.runnable_ns, 0) AS runnable_ns, coalesce(h.earlier_ns, 0) AS earlier_ns,\n"
	"  CASE WHEN c.next_id IS NULL THEN s.rest_ns ELSE 0 END AS rest_ns,\n"
	"  CASE c.end WHEN 0 THEN '' WHEN 1 THEN 'awake' WHEN 2 THEN 'loop' WHEN 3 THEN 'interrupt'\n"
	"    WHEN 4 THEN 'depth' WHEN 5 THEN 'start' ELSE 'unknown' END AS end\n"
	"FROM story s JOIN v_wake k ON k.id = s.wake_id JOIN path p ON p.chain_id = s.chain_id\n"
	"  JOIN chain c ON c.id = p.at_id JOIN waker a ON a.id = c.waker_id\n"
	"  LEFT JOIN hop h ON h.story_id = s.id AND h.step = p.step;\n"
	"CREATE VIEW v_blame AS SELECT b.id, b.thread_id, t.comm, t.pid, t.tid,\n"
	"  CASE b.kind WHEN 1 THEN b.comm WHEN 2 THEN '[idle]' ELSE '[throttled]' END AS held_by,\n"
	"  b.pid AS held_by_pid, b.tid AS held_by_tid, b.count, b.runnable_ns, b.preempted_ns\n"
	"FROM blame b JOIN thread t ON t.id = b.thread_id\n"
	"UNION ALL SELECT NULL, t.id, t.comm, t.pid, t.tid, '[unknown]', 0, 0, 0,\n"
	"  t.runnable_ns - coalesce(sum(b.runnable_ns), 0), t.preempted_ns - coalesce(sum(b.preempted_ns), 0)\n"
	"FROM thread t LEFT JOIN blame b ON b.thread_id = t.id GROUP BY t.id\n"
	"HAVING t.runnable_ns + t.preempted_ns > coalesce(sum(b.runnable_ns + b.preempted_ns), 0);\n"
	"CREATE VIEW v_storm AS SELECT s.id, coalesce(a.irq, a.comm) AS waker, a.pid, a.tid, s.events, s.woken, s.most,\n"
	"  s.ended, s.again, s.again * 100.0 / s.ended AS again_percent, s.cpu_ns, s.again_ns, s.delay_ns,\n"
	"  a.user_stack_id AS waker_user_stack_id, a.kernel_stack_id AS waker_kernel_stack_id\n"
	"FROM storm s JOIN waker a ON a.id = s.waker_id;\n"
	"CREATE VIEW v_hist AS SELECT w.id AS wait_id, json_extract(w.log2_ns, '$[0]') + e.key - 1 AS exponent,\n"
	"  e.value AS count\n"
	"FROM wait w, json_each(w.log2_ns) e WHERE e.key > 0 AND e.value > 0\n"
	"UNION ALL SELECT id, min(47, 4 * (length(x) - 1) + CASE WHEN x >= '8' THEN 3 WHEN x >= '4' THEN 2\n"
	"    WHEN x >= '2' THEN 1 ELSE 0 END), count\n"
	"FROM (SELECT id, count, printf('%x', blocked_ns + runnable_ns + preempted_ns) AS x FROM wait\n"
	"  WHERE log2_ns IS NULL);\n";
