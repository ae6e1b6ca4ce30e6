-- SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
-- Tables of `offcpu push --clickhouse` for ClickHouse 22.8 and later:  clickhouse-client --multiquery < schema.sql
-- Rows are kept 30 days, sums of windows by reason 400.
--
-- A repeated insert has the same keys as the first one, and ReplacingMergeTree keeps one row a key.  Until parts are merged both are
-- there, so queries say FINAL.  Within a window rows are sorted by what makes neighbours alike, which is what packs them; `row` is their
-- order in the recording.

CREATE DATABASE IF NOT EXISTS offcpu;

-- What rows point to: stacks, objects, wakers; one row for each service of a host that has it.  A host sends each of them once in 24
-- hours, so a window's are of its day or of the one before, and are kept two days longer.

-- Stacks, outermost frame first.  `stack` is a hash of the contents: the same on all hosts.
CREATE TABLE IF NOT EXISTS offcpu.stacks (
    host LowCardinality(String) CODEC(ZSTD(1)),
    day Date CODEC(Delta, ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    stack UInt64 CODEC(ZSTD(1)),
    end UInt8 CODEC(ZSTD(1)),
    names Array(LowCardinality(String)) CODEC(ZSTD(1)),
    modules Array(LowCardinality(String)) CODEC(ZSTD(1)),
    build_ids Array(LowCardinality(String)) CODEC(ZSTD(1)),
    offsets Array(UInt64) CODEC(ZSTD(1)),
    files Array(LowCardinality(String)) CODEC(ZSTD(1)),
    lines Array(UInt32) CODEC(ZSTD(1)),
    kinds Array(UInt8) CODEC(ZSTD(1)),
    whys Array(UInt8) CODEC(ZSTD(1)),
    inlines Array(UInt8) CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree()
PARTITION BY day
ORDER BY (host, day, service, stack)
TTL day + INTERVAL 32 DAY;

-- What threads waited for: locks, files, sockets.
CREATE TABLE IF NOT EXISTS offcpu.objects (
    host LowCardinality(String) CODEC(ZSTD(1)),
    day Date CODEC(Delta, ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    object UInt64 CODEC(ZSTD(1)),
    kind LowCardinality(String) CODEC(ZSTD(1)),
    is_private UInt8 CODEC(ZSTD(1)),
    operation LowCardinality(String) CODEC(ZSTD(1)),
    name String CODEC(ZSTD(1)),
    place String CODEC(ZSTD(1)),
    pid UInt32 CODEC(ZSTD(1)),
    address UInt64 CODEC(ZSTD(1)),
    holder_tid UInt32 CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree()
PARTITION BY day
ORDER BY (host, day, service, object)
TTL day + INTERVAL 32 DAY;

-- Who woke threads, with `record --wakers`; service: of those that were woken.
CREATE TABLE IF NOT EXISTS offcpu.wakers (
    host LowCardinality(String) CODEC(ZSTD(1)),
    day Date CODEC(Delta, ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    waker UInt64 CODEC(ZSTD(1)),
    pid UInt32 CODEC(ZSTD(1)),
    tid UInt32 CODEC(ZSTD(1)),
    start_ns UInt64 CODEC(ZSTD(1)),
    comm LowCardinality(String) CODEC(ZSTD(1)),
    irq LowCardinality(String) CODEC(ZSTD(1)),
    user_stack UInt64 CODEC(ZSTD(1)),
    kernel_stack UInt64 CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree()
PARTITION BY day
ORDER BY (host, day, service, waker)
TTL day + INTERVAL 32 DAY;

-- The account of each thread in each window.
CREATE TABLE IF NOT EXISTS offcpu.threads (
    host LowCardinality(String),
    start DateTime('UTC') CODEC(Delta, ZSTD(1)),
    window UInt64 CODEC(ZSTD(1)),
    row UInt32 CODEC(T64, ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    process LowCardinality(String) CODEC(ZSTD(1)),
    comm LowCardinality(String) CODEC(ZSTD(1)),
    pid UInt32 CODEC(Delta, ZSTD(1)),
    tid UInt32 CODEC(Delta, ZSTD(1)),
    thread_start_ns UInt64 CODEC(Delta, ZSTD(1)),
    program UInt32 CODEC(ZSTD(1)),
    flags UInt32,
    from_ns UInt64 CODEC(ZSTD(1)),
    to_ns UInt64 CODEC(ZSTD(1)),
    on_cpu_ns UInt64 CODEC(ZSTD(1)),
    blocked_ns UInt64 CODEC(ZSTD(1)),
    runnable_ns UInt64 CODEC(ZSTD(1)),
    preempted_ns UInt64 CODEC(ZSTD(1)),
    filtered_ns UInt64 CODEC(ZSTD(1)),
    lost_ns UInt64 CODEC(ZSTD(1)),
    switches UInt64 CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
PRIMARY KEY (host, start, window)
ORDER BY (host, start, window, pid, tid, row)
TTL start + INTERVAL 30 DAY;

-- The same of its states.
CREATE TABLE IF NOT EXISTS offcpu.states (
    host LowCardinality(String),
    start DateTime('UTC') CODEC(Delta, ZSTD(1)),
    window UInt64 CODEC(ZSTD(1)),
    row UInt32 CODEC(T64, ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    process LowCardinality(String) CODEC(ZSTD(1)),
    comm LowCardinality(String) CODEC(ZSTD(1)),
    pid UInt32 CODEC(Delta, ZSTD(1)),
    tid UInt32 CODEC(Delta, ZSTD(1)),
    thread_start_ns UInt64 CODEC(Delta, ZSTD(1)),
    program UInt32 CODEC(ZSTD(1)),
    state LowCardinality(String),
    count UInt64 CODEC(ZSTD(1)),
    blocked_ns UInt64 CODEC(ZSTD(1)),
    runnable_ns UInt64 CODEC(ZSTD(1)),
    preempted_ns UInt64 CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
PRIMARY KEY (host, start, window)
ORDER BY (host, start, window, pid, tid, row)
TTL start + INTERVAL 30 DAY;

-- Waits of a thread with the same state, stacks and object.  hist: how many took [2^i, 2^(i+1)) ns, i from 0; kept without its empty
-- ends, as the first slot's number and the slots from there.
CREATE TABLE IF NOT EXISTS offcpu.waits (
    host LowCardinality(String),
    start DateTime('UTC') CODEC(Delta, ZSTD(1)),
    window UInt64 CODEC(ZSTD(1)),
    row UInt32 CODEC(T64, ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    process LowCardinality(String) CODEC(ZSTD(1)),
    comm LowCardinality(String) CODEC(ZSTD(1)),
    pid UInt32 CODEC(Delta, ZSTD(1)),
    tid UInt32 CODEC(Delta, ZSTD(1)),
    thread_start_ns UInt64 CODEC(Delta, ZSTD(1)),
    program UInt32 CODEC(ZSTD(1)),
    state LowCardinality(String) CODEC(ZSTD(1)),
    flags UInt8 CODEC(ZSTD(1)),
    reason LowCardinality(String) CODEC(ZSTD(1)),
    idle LowCardinality(String) CODEC(ZSTD(1)),
    user_stack UInt64 CODEC(ZSTD(3)),
    kernel_stack UInt64 CODEC(ZSTD(3)),
    object UInt64 CODEC(ZSTD(1)),
    count UInt64 CODEC(T64, ZSTD(1)),
    blocked_ns UInt64 CODEC(T64, ZSTD(1)),
    runnable_ns UInt64 CODEC(T64, ZSTD(1)),
    preempted_ns UInt64 CODEC(T64, ZSTD(1)),
    max_ns UInt64 CODEC(T64, ZSTD(1)),
    longest_start_unix_ns UInt64 CODEC(T64, ZSTD(1)),
    longest_waker UInt64 CODEC(ZSTD(1)),
    off_cpu_se_ns UInt64 CODEC(T64, ZSTD(1)),
    count_se UInt64 CODEC(T64, ZSTD(1)),
    first_bar UInt8 CODEC(ZSTD(1)),
    bars Array(UInt32) CODEC(ZSTD(1)),
    hist Array(UInt32) ALIAS arrayConcat(arrayWithConstant(first_bar, toUInt32(0)), bars),
    route LowCardinality(String) CODEC(ZSTD(1)),
    trace_id String CODEC(ZSTD(1)),
    span_id String CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
PRIMARY KEY (host, start, window)
ORDER BY (host, start, window, pid, tid, thread_start_ns, reason, kernel_stack, row)
TTL start + INTERVAL 30 DAY;

-- Which waker ended how many of a row of waits: `wait` is that row's number in the same window.
CREATE TABLE IF NOT EXISTS offcpu.wakes (
    host LowCardinality(String),
    start DateTime('UTC') CODEC(Delta, ZSTD(1)),
    window UInt64 CODEC(ZSTD(1)),
    row UInt32 CODEC(Delta, ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    wait UInt32 CODEC(Delta, ZSTD(1)),
    waker UInt64 CODEC(ZSTD(1)),
    count UInt64 CODEC(T64, ZSTD(1)),
    blocked_ns UInt64 CODEC(T64, ZSTD(1)),
    runnable_ns UInt64 CODEC(T64, ZSTD(1)),
    first_bar UInt8 CODEC(ZSTD(1)),
    bars Array(UInt32) CODEC(ZSTD(1)),
    hist Array(UInt32) ALIAS arrayConcat(arrayWithConstant(first_bar, toUInt32(0)), bars)
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row)
TTL start + INTERVAL 30 DAY;

-- Samples on CPU, with `record --cpu`.
CREATE TABLE IF NOT EXISTS offcpu.on_cpu (
    host LowCardinality(String),
    start DateTime('UTC') CODEC(Delta, ZSTD(1)),
    window UInt64 CODEC(ZSTD(1)),
    row UInt32 CODEC(T64, ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    process LowCardinality(String) CODEC(ZSTD(1)),
    comm LowCardinality(String) CODEC(ZSTD(1)),
    pid UInt32 CODEC(Delta, ZSTD(1)),
    tid UInt32 CODEC(Delta, ZSTD(1)),
    thread_start_ns UInt64 CODEC(Delta, ZSTD(1)),
    program UInt32 CODEC(ZSTD(1)),
    user_stack UInt64 CODEC(ZSTD(1)),
    kernel_stack UInt64 CODEC(ZSTD(1)),
    samples UInt64 CODEC(ZSTD(1)),
    weight_ns UInt64 CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
PRIMARY KEY (host, start, window)
ORDER BY (host, start, window, pid, tid, kernel_stack, row)
TTL start + INTERVAL 30 DAY;

-- Tasks of runtimes (goroutines, asyncio), with `record --tasks`: a population a process.  Their time is never that of threads.
CREATE TABLE IF NOT EXISTS offcpu.task_populations (
    host LowCardinality(String),
    start DateTime('UTC') CODEC(Delta, ZSTD(1)),
    window UInt64 CODEC(ZSTD(1)),
    row UInt32 CODEC(Delta, ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    process LowCardinality(String) CODEC(ZSTD(1)),
    pid UInt32,
    kind LowCardinality(String),
    version LowCardinality(String),
    window_ns UInt64 CODEC(ZSTD(1)),
    looks UInt64 CODEC(ZSTD(1)),
    rate_milli_hz UInt64 CODEC(ZSTD(1)),
    looked_at_ppm UInt64 CODEC(ZSTD(1)),
    cpu_ns UInt64 CODEC(ZSTD(1)),
    stale UInt64 CODEC(ZSTD(1)),
    unreadable UInt64 CODEC(ZSTD(1)),
    no_row UInt64 CODEC(ZSTD(1)),
    is_cut UInt8
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row)
TTL start + INTERVAL 30 DAY;

-- What tasks of a population wait for, and where: task_ns / window_ns of the population is their mean number.  function: the innermost
-- one of the program itself; call: what it called of its language's library; idle: why these have nothing to do.
CREATE TABLE IF NOT EXISTS offcpu.tasks (
    host LowCardinality(String),
    start DateTime('UTC') CODEC(Delta, ZSTD(1)),
    window UInt64 CODEC(ZSTD(1)),
    row UInt32 CODEC(T64, ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    process LowCardinality(String) CODEC(ZSTD(1)),
    pid UInt32,
    kind LowCardinality(String),
    state LowCardinality(String),
    reason LowCardinality(String),
    idle LowCardinality(String),
    call LowCardinality(String),
    function LowCardinality(String),
    stack UInt64 CODEC(ZSTD(1)),
    end UInt8,
    creator LowCardinality(String),
    creator_file LowCardinality(String),
    creator_line UInt32,
    parent UInt64 CODEC(ZSTD(1)),
    name String CODEC(ZSTD(1)),
    awaited_by String CODEC(ZSTD(1)),
    seen UInt64 CODEC(ZSTD(1)),
    task_ns UInt64 CODEC(ZSTD(1)),
    task_se_ns UInt64 CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
PRIMARY KEY (host, start, window)
ORDER BY (host, start, window, pid, kind, reason, row)
TTL start + INTERVAL 30 DAY;

-- What a report of the window begins with: at most three, the most important first.  The sentence has its share, and time_ns / whole_ns is
-- that, too.
CREATE TABLE IF NOT EXISTS offcpu.findings (
    host LowCardinality(String),
    start DateTime('UTC') CODEC(Delta, ZSTD(1)),
    window UInt64 CODEC(ZSTD(1)),
    row UInt32 CODEC(Delta, ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    process LowCardinality(String) CODEC(ZSTD(1)),
    kind LowCardinality(String),
    reason LowCardinality(String),
    time_ns UInt64 CODEC(ZSTD(1)),
    whole_ns UInt64 CODEC(ZSTD(1)),
    sentence String CODEC(ZSTD(1)),
    evidence String CODEC(ZSTD(1)),
    advice LowCardinality(String) CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row)
TTL start + INTERVAL 30 DAY;

-- Requests, where a host was told what is one ([request NAME] of its agent.conf): how many ended in the window, and how long they took.
-- counts: of latencies from from_ns to 6% more, without those that no request had.  max_ns: to such a step.  service: of a thread that
-- they ran on.  A name without any requests has a row, too.
CREATE TABLE IF NOT EXISTS offcpu.requests (
    host LowCardinality(String),
    start DateTime('UTC') CODEC(Delta, ZSTD(1)),
    window UInt64 CODEC(ZSTD(1)),
    row UInt32 CODEC(Delta, ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    request LowCardinality(String) CODEC(ZSTD(1)),
    count UInt64 CODEC(ZSTD(1)),
    wall_ns UInt64 CODEC(ZSTD(1)),
    on_cpu_ns UInt64 CODEC(ZSTD(1)),
    blocked_ns UInt64 CODEC(ZSTD(1)),
    runnable_ns UInt64 CODEC(ZSTD(1)),
    preempted_ns UInt64 CODEC(ZSTD(1)),
    max_ns UInt64 CODEC(ZSTD(1)),
    from_ns Array(UInt64) CODEC(ZSTD(1)),
    counts Array(UInt64) CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row)
TTL start + INTERVAL 30 DAY;

-- What they spent that time on: the CPU (on_cpu), its queue (cpu.queue), or what they waited for, and where.  times_ns: of requests
-- whose latency was from from_ns to a quarter more.
CREATE TABLE IF NOT EXISTS offcpu.request_times (
    host LowCardinality(String),
    start DateTime('UTC') CODEC(Delta, ZSTD(1)),
    window UInt64 CODEC(ZSTD(1)),
    row UInt32 CODEC(Delta, ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    request LowCardinality(String) CODEC(ZSTD(1)),
    reason LowCardinality(String) CODEC(ZSTD(1)),
    place LowCardinality(String) CODEC(ZSTD(1)),
    from_ns Array(UInt64) CODEC(ZSTD(1)),
    times_ns Array(UInt64) CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row)
TTL start + INTERVAL 30 DAY;

-- What waits for TCP sockets went on: parts of blocked_ns, what is in none is not known.  service: the one that waits longest for the object.
CREATE TABLE IF NOT EXISTS offcpu.tcp_waits (
    host LowCardinality(String),
    start DateTime('UTC') CODEC(Delta, ZSTD(1)),
    window UInt64 CODEC(ZSTD(1)),
    row UInt32 CODEC(Delta, ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    object UInt64 CODEC(ZSTD(1)),
    direction LowCardinality(String),
    count UInt64 CODEC(T64, ZSTD(1)),
    blocked_ns UInt64 CODEC(T64, ZSTD(1)),
    peer_ns UInt64 CODEC(T64, ZSTD(1)),
    network_ns UInt64 CODEC(T64, ZSTD(1)),
    silent_ns UInt64 CODEC(T64, ZSTD(1)),
    unclear_ns UInt64 CODEC(T64, ZSTD(1)),
    resent UInt64 CODEC(T64, ZSTD(1)),
    srtt_us UInt32 CODEC(T64, ZSTD(1)),
    min_rtt_us UInt32 CODEC(T64, ZSTD(1))
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row)
TTL start + INTERVAL 30 DAY;

-- TCP connections of processes, and ports that they serve: both ends of one name each other, on two hosts.  A client's end without a port
-- stands for several, an empty remote end of a server for all of its clients.
CREATE TABLE IF NOT EXISTS offcpu.connections (
    host LowCardinality(String),
    start DateTime('UTC') CODEC(Delta, ZSTD(1)),
    window UInt64 CODEC(ZSTD(1)),
    row UInt32 CODEC(Delta, ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    process LowCardinality(String) CODEC(ZSTD(1)),
    pid UInt32 CODEC(ZSTD(1)),
    side LowCardinality(String),
    local String CODEC(ZSTD(1)),
    remote String CODEC(ZSTD(1)),
    INDEX by_local local TYPE bloom_filter GRANULARITY 4,
    INDEX by_remote remote TYPE bloom_filter GRANULARITY 4
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row)
TTL start + INTERVAL 30 DAY;

-- What could not be recorded.
CREATE TABLE IF NOT EXISTS offcpu.losses (
    host LowCardinality(String),
    start DateTime('UTC') CODEC(Delta, ZSTD(1)),
    window UInt64 CODEC(ZSTD(1)),
    row UInt32 CODEC(Delta, ZSTD(1)),
    reason LowCardinality(String),
    help String CODEC(ZSTD(1)),
    count UInt64 CODEC(ZSTD(1)),
    time_ns UInt64 CODEC(ZSTD(1))
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row)
TTL start + INTERVAL 30 DAY;

-- One row a window.  It is written last: a window without one is not complete yet.
CREATE TABLE IF NOT EXISTS offcpu.windows (
    host LowCardinality(String),
    start DateTime('UTC') CODEC(Delta, ZSTD(1)),
    window UInt64 CODEC(ZSTD(1)),
    row UInt32 CODEC(Delta, ZSTD(1)),
    start_unix_ns UInt64 CODEC(ZSTD(1)),
    start_ns UInt64 CODEC(ZSTD(1)),
    duration_ns UInt64 CODEC(ZSTD(1)),
    cpus UInt32,
    kernel LowCardinality(String),
    version LowCardinality(String),
    command_line String CODEC(ZSTD(1)),
    filters String CODEC(ZSTD(1)),
    switches UInt64 CODEC(ZSTD(1)),
    tracer_cpu_ns UInt64 CODEC(ZSTD(1)),
    tracer_start_cpu_ns UInt64 CODEC(ZSTD(1)),
    tracer_stop_cpu_ns UInt64 CODEC(ZSTD(1)),
    tracer_bpf_ns UInt64 CODEC(ZSTD(1)),
    tracer_peak_rss_bytes UInt64 CODEC(ZSTD(1)),
    knows UInt32,
    unknown UInt32,
    on_cpu_hz UInt32,
    on_cpu_end_hz UInt32,
    scale_start_ns UInt64 CODEC(ZSTD(1)),
    scale_end_ns UInt64 CODEC(ZSTD(1)),
    scale_max_ns UInt64 CODEC(ZSTD(1)),
    raised UInt32,
    lowered UInt32,
    over UInt32,
    budget_ppm UInt32,
    used_ppm UInt32,
    peak_ppm UInt32,
    looks_rounds UInt64 CODEC(ZSTD(1)),
    looks_asked_ns UInt64 CODEC(ZSTD(1)),
    looks_budget_ppm UInt32
) ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, row)
TTL start + INTERVAL 30 DAY;

-- The waits of each window by service and reason.  A window comes in one block, so its sums have one key, too.
CREATE MATERIALIZED VIEW IF NOT EXISTS offcpu.by_reason (
    host LowCardinality(String),
    start DateTime('UTC') CODEC(Delta, ZSTD(1)),
    window UInt64 CODEC(ZSTD(1)),
    service LowCardinality(String) CODEC(ZSTD(1)),
    reason LowCardinality(String) CODEC(ZSTD(1)),
    idle LowCardinality(String) CODEC(ZSTD(1)),
    waits UInt64 CODEC(T64, ZSTD(1)),
    off_cpu_ns UInt64 CODEC(T64, ZSTD(1)),
    cpu_queue_ns UInt64 CODEC(T64, ZSTD(1)),
    longest_ns UInt64 CODEC(T64, ZSTD(1)),
    bars Array(UInt64) CODEC(ZSTD(1))
)
ENGINE = ReplacingMergeTree()
PARTITION BY toDate(start)
ORDER BY (host, start, window, service, reason, idle)
TTL start + INTERVAL 400 DAY
AS SELECT host, start, window, service, reason, idle,
    sum(count) AS waits, sum(blocked_ns + runnable_ns + preempted_ns) AS off_cpu_ns, sum(runnable_ns + preempted_ns) AS cpu_queue_ns,
    max(max_ns) AS longest_ns, sumForEach(hist) AS bars
FROM offcpu.waits
GROUP BY host, start, window, service, reason, idle;
