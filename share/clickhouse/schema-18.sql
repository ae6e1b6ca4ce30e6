-- SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
-- The same for old servers, down to 18.16 (Debian's): no codecs, no LowCardinality, no TTL; drop old partitions by hand:
--     ALTER TABLE offcpu.waits DROP PARTITION '2026-11-25'
--
-- A repeated insert has the same keys as the first one, and ReplacingMergeTree keeps one row a key.  Until parts are merged both are
-- there, so queries say FINAL.

CREATE DATABASE IF NOT EXISTS offcpu;

-- Stacks, outermost frame first.  Of contents: the same on all hosts.
CREATE TABLE IF NOT EXISTS offcpu.stacks (
    stack UInt64,
    day Date,
    end UInt8,
    names Array(String),
    modules Array(String),
    build_ids Array(String),
    offsets Array(UInt64),
    files Array(String),
    lines Array(UInt32),
    kinds Array(UInt8),
    whys Array(UInt8),
    inlines Array(UInt8)
) ENGINE = ReplacingMergeTree()
PARTITION BY day
ORDER BY (stack, day);

-- What threads waited for: locks, files, sockets.
CREATE TABLE IF NOT EXISTS offcpu.objects (
    object UInt64,
    day Date,
    host String,
    kind String,
    is_private UInt8,
    operation String,
    name String,
    place String,
    pid UInt32,
    address UInt64,
    holder_tid UInt32
) ENGINE = ReplacingMergeTree()
PARTITION BY day
ORDER BY (object, day);

-- Who woke threads, with `record --wakers`.
CREATE TABLE IF NOT EXISTS offcpu.wakers (
    waker UInt64,
    day Date,
    host String,
    pid UInt32,
    tid UInt32,
    start_ns UInt64,
    comm String,
    irq String,
    user_stack UInt64,
    kernel_stack UInt64
) ENGINE = ReplacingMergeTree()
PARTITION BY day
ORDER BY (waker, day);

-- The account of each thread in each window.
CREATE TABLE IF NOT EXISTS offcpu.threads (
    host String,
    start DateTime,
    window UInt64,
    row UInt32,
    service String,
    process String,
    comm String,
    pid UInt32,
    tid UInt32,
    thread_start_ns UInt64,
    program UInt32,
    flags UInt32,
    from_ns UInt64,
    to_ns UInt64,
    on_cpu_ns UInt64,
    blocked_ns UInt64,
    runnable_ns UInt64,
    preempted_ns UInt64,
    filtered_ns UInt64,
    lost_ns UInt64,
    switches UInt64
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row);

-- The same of its states.
CREATE TABLE IF NOT EXISTS offcpu.states (
    host String,
    start DateTime,
    window UInt64,
    row UInt32,
    service String,
    process String,
    comm String,
    pid UInt32,
    tid UInt32,
    thread_start_ns UInt64,
    program UInt32,
    state String,
    count UInt64,
    blocked_ns UInt64,
    runnable_ns UInt64,
    preempted_ns UInt64
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row);

-- Waits of a thread with the same state, stacks and object.  hist: how many took [2^i, 2^(i+1)) ns, i from 0.
CREATE TABLE IF NOT EXISTS offcpu.waits (
    host String,
    start DateTime,
    window UInt64,
    row UInt32,
    service String,
    process String,
    comm String,
    pid UInt32,
    tid UInt32,
    thread_start_ns UInt64,
    program UInt32,
    wait UInt64,
    state String,
    flags UInt8,
    reason String,
    idle String,
    user_stack UInt64,
    kernel_stack UInt64,
    object UInt64,
    count UInt64,
    blocked_ns UInt64,
    runnable_ns UInt64,
    preempted_ns UInt64,
    max_ns UInt64,
    longest_start_unix_ns UInt64,
    longest_waker UInt64,
    off_cpu_se_ns UInt64,
    count_se UInt64,
    hist Array(UInt32)
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row);

-- Tables that were made before a wait's row told when the longest began, and who ended it, get these once, by hand:
--     ALTER TABLE offcpu.waits ADD COLUMN longest_start_unix_ns UInt64 AFTER max_ns
--     ALTER TABLE offcpu.waits ADD COLUMN longest_waker UInt64 AFTER longest_start_unix_ns

-- Which waker ended how many of a row of waits.
CREATE TABLE IF NOT EXISTS offcpu.wakes (
    host String,
    start DateTime,
    window UInt64,
    row UInt32,
    wait UInt64,
    waker UInt64,
    count UInt64,
    blocked_ns UInt64,
    runnable_ns UInt64,
    hist Array(UInt32)
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row);

-- Samples on CPU, with `record --cpu`.
CREATE TABLE IF NOT EXISTS offcpu.on_cpu (
    host String,
    start DateTime,
    window UInt64,
    row UInt32,
    service String,
    process String,
    comm String,
    pid UInt32,
    tid UInt32,
    thread_start_ns UInt64,
    program UInt32,
    user_stack UInt64,
    kernel_stack UInt64,
    samples UInt64,
    weight_ns UInt64
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row);

-- Tasks of runtimes (goroutines, asyncio), with `record --tasks`: a population a process.  Their time is never that of threads.
CREATE TABLE IF NOT EXISTS offcpu.task_populations (
    host String,
    start DateTime,
    window UInt64,
    row UInt32,
    service String,
    process String,
    pid UInt32,
    kind String,
    version String,
    window_ns UInt64,
    looks UInt64,
    rate_milli_hz UInt64,
    looked_at_ppm UInt64,
    cpu_ns UInt64,
    stale UInt64,
    unreadable UInt64,
    no_row UInt64,
    is_cut UInt8
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row);

-- What tasks of a population wait for, and where: task_ns / window_ns of the population is their mean number.  function: the innermost
-- one of the program itself; call: what it called of its language's library; idle: why these have nothing to do.
CREATE TABLE IF NOT EXISTS offcpu.tasks (
    host String,
    start DateTime,
    window UInt64,
    row UInt32,
    service String,
    process String,
    pid UInt32,
    kind String,
    state String,
    reason String,
    idle String,
    call String,
    function String,
    stack UInt64,
    end UInt8,
    creator String,
    creator_file String,
    creator_line UInt32,
    parent UInt64,
    name String,
    awaited_by String,
    seen UInt64,
    task_ns UInt64,
    task_se_ns UInt64
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row);

-- What could not be recorded.
CREATE TABLE IF NOT EXISTS offcpu.losses (
    host String,
    start DateTime,
    window UInt64,
    row UInt32,
    reason String,
    help String,
    count UInt64,
    time_ns UInt64
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row);

-- One row a window.  It is written last: a window without one is not complete yet.
CREATE TABLE IF NOT EXISTS offcpu.windows (
    host String,
    start DateTime,
    window UInt64,
    row UInt32,
    start_unix_ns UInt64,
    start_ns UInt64,
    duration_ns UInt64,
    cpus UInt32,
    kernel String,
    version String,
    command_line String,
    filters String,
    switches UInt64,
    tracer_cpu_ns UInt64,
    tracer_start_cpu_ns UInt64,
    tracer_stop_cpu_ns UInt64,
    tracer_bpf_ns UInt64,
    tracer_peak_rss_bytes UInt64,
    knows UInt32,
    unknown UInt32,
    on_cpu_hz UInt32,
    on_cpu_end_hz UInt32,
    scale_start_ns UInt64,
    scale_end_ns UInt64,
    scale_max_ns UInt64,
    raised UInt32,
    lowered UInt32,
    over UInt32,
    budget_ppm UInt32,
    used_ppm UInt32,
    peak_ppm UInt32,
    looks_rounds UInt64,
    looks_asked_ns UInt64,
    looks_budget_ppm UInt32
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row);

-- Each stack of each window, all threads of a service together.  A window comes in one block, so its sums have one key, too.
CREATE MATERIALIZED VIEW IF NOT EXISTS offcpu.by_stack
ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (service, reason, host, start, window, idle, user_stack, kernel_stack)
AS SELECT host, start, window, service, reason, idle, user_stack, kernel_stack,
    sum(count) AS waits, sum(blocked_ns + runnable_ns + preempted_ns) AS off_cpu_ns, sum(runnable_ns + preempted_ns) AS cpu_queue_ns,
    max(max_ns) AS longest_ns, sumForEach(hist) AS bars
FROM offcpu.waits
GROUP BY host, start, window, service, reason, idle, user_stack, kernel_stack;

-- The same without stacks.  A window comes in one block, so its sums have one key, too.
CREATE MATERIALIZED VIEW IF NOT EXISTS offcpu.by_reason
ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (service, reason, host, start, window, idle)
AS SELECT host, start, window, service, reason, idle,
    sum(count) AS waits, sum(blocked_ns + runnable_ns + preempted_ns) AS off_cpu_ns, sum(runnable_ns + preempted_ns) AS cpu_queue_ns,
    max(max_ns) AS longest_ns, sumForEach(hist) AS bars
FROM offcpu.waits
GROUP BY host, start, window, service, reason, idle;
