-- SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
-- Questions to a fleet.  They run on 22.8 and later; each ends with a semicolon.  Ranges are the first lines of each.

-- Which stack's p99 grew, over all hosts: the last hour (3600) against the same hour yesterday (90000 to 86400 seconds ago).  Bars are
-- powers of two; within one the value is interpolated.  Stacks with fewer than 100 waits in either hour have no p99 worth the name.
SELECT service, reason, round(after_ns / before_ns, 2) AS growth, round(before_ns / 1e6, 3) AS before_ms,
    round(after_ns / 1e6, 3) AS after_ms, waits_before, waits_after, hosts, user_stack, kernel_stack, leaf, outer_frames
FROM
(
    SELECT
        service, reason, user_stack, kernel_stack, waits_before, waits_after, hosts,
        arrayFirstIndex(c -> c >= 0.99 * waits_before, arrayCumSum(before)) AS b,
        arrayFirstIndex(c -> c >= 0.99 * waits_after, arrayCumSum(after)) AS a,
        pow(2, b - 1) * (1 + (0.99 * waits_before - arrayCumSum(before)[b] + before[b]) / before[b]) AS before_ns,
        pow(2, a - 1) * (1 + (0.99 * waits_after - arrayCumSum(after)[a] + after[a]) / after[a]) AS after_ns
    FROM
    (
        SELECT
            service, reason, user_stack, kernel_stack, uniq(host) AS hosts,
            sumForEach(if(start < now() - 86400, hist, [])) AS before,
            sumForEach(if(start >= now() - 3600, hist, [])) AS after,
            arraySum(before) AS waits_before, arraySum(after) AS waits_after
        FROM offcpu.waits FINAL
        WHERE idle = '' AND (start >= now() - 3600 OR (start >= now() - 90000 AND start < now() - 86400))
        GROUP BY service, reason, user_stack, kernel_stack
        HAVING waits_before >= 100 AND waits_after >= 100
    )
    WHERE after_ns > 2 * before_ns
    ORDER BY after_ns / before_ns DESC
    LIMIT 20
) AS grown
ANY LEFT JOIN
(
    SELECT stack AS user_stack, names[length(names)] AS leaf, arrayStringConcat(arraySlice(names, 1, 12), ';') AS outer_frames
    FROM offcpu.stacks
    WHERE day >= toDate(now() - 90000)
) AS leaves USING user_stack
ORDER BY growth DESC;

-- What the fleet waits for, by service: the last hour.  Idle time is left out.
WITH now() - 3600 AS from
SELECT service, reason, uniq(host) AS hosts, sum(waits) AS all_waits, round(sum(off_cpu_ns) / 1e9, 1) AS seconds,
    round(max(longest_ns) / 1e6, 1) AS longest_ms
FROM offcpu.by_reason FINAL
WHERE start >= from AND idle = ''
GROUP BY service, reason
ORDER BY seconds DESC
LIMIT 30;

-- On which hosts a lock hurts most: share of a service's time that is spent in locks, the last hour.
WITH now() - 3600 AS from
SELECT service, host, round(100 * sum(startsWith(reason, 'lock.') ? off_cpu_ns : 0) / sum(off_cpu_ns), 1) AS lock_percent,
    round(sum(off_cpu_ns) / 1e9, 1) AS seconds
FROM offcpu.by_reason FINAL
WHERE start >= from AND idle = ''
GROUP BY service, host
HAVING seconds > 1
ORDER BY lock_percent DESC
LIMIT 30;

-- Which hosts lost something, or are missing: the last day.
WITH now() - 86400 AS from
SELECT host, count() AS windows, round(sum(duration_ns) / 864e11 * 100, 2) AS percent_of_day, max(start) AS last
FROM offcpu.windows FINAL
WHERE start >= from
GROUP BY host
ORDER BY last;

-- The longest waits of the last hour: on which host, when each began, in which thread, and who ended it.  Idle time is left out.
SELECT host, began, service, reason, comm, tid, longest_ms, woken_by, waker_tid, user_stack, kernel_stack
FROM
(
    SELECT host, toDateTime(intDiv(longest_start_unix_ns, 1000000000)) AS began, service, reason, comm, tid,
        round(max_ns / 1e6, 3) AS longest_ms, longest_waker, user_stack, kernel_stack
    FROM offcpu.waits FINAL
    WHERE start >= now() - 3600 AND idle = '' AND longest_start_unix_ns != 0
    ORDER BY max_ns DESC
    LIMIT 30
) AS longest
ANY LEFT JOIN
(
    SELECT waker AS longest_waker, if(irq = '', comm, irq) AS woken_by, tid AS waker_tid
    FROM offcpu.wakers
    WHERE day >= toDate(now() - 90000)
) AS ended USING longest_waker
ORDER BY longest_ms DESC;

-- What tasks (goroutines, asyncio) wait for, by service: the last hour.  tasks: how many on average where there are any.
SELECT service, kind, waits_in, function, hosts, round(all_ns / looked_ns, 1) AS tasks, task_seconds
FROM
(
    SELECT service, kind, if(call != '', call, if(reason != '', reason, state)) AS waits_in, function, uniq(host) AS hosts,
        round(sum(task_ns) / 1e9, 1) AS task_seconds, sum(task_ns) AS all_ns
    FROM offcpu.tasks FINAL
    WHERE start >= now() - 3600 AND idle = ''
    GROUP BY service, kind, waits_in, function
) AS waiting
ANY LEFT JOIN
(
    SELECT service, kind, sum(window_ns) AS looked_ns
    FROM offcpu.task_populations FINAL
    WHERE start >= now() - 3600
    GROUP BY service, kind
) AS looked USING service, kind
ORDER BY task_seconds DESC
LIMIT 30;

-- Which findings how many hosts have: the last hour.  A finding is what a report of a window begins with.
SELECT kind, reason, process, uniq(host) AS hosts, uniq(window) AS windows, round(sum(time_ns) / 1e9, 1) AS seconds,
    argMax(sentence, time_ns) AS at_its_worst, argMax(host, time_ns) AS there
FROM offcpu.findings FINAL
WHERE start >= now() - 3600
GROUP BY kind, reason, process
ORDER BY hosts DESC, seconds DESC
LIMIT 30;

-- Requests of the last hour, over all hosts: rate, percentiles (to 6%) and the longest.
SELECT request, hosts, requests, round(requests / seconds, 1) AS a_second, round(p50_ns / 1e6, 3) AS p50_ms, round(p99_ns / 1e6, 3) AS p99_ms,
    round(longest_ns / 1e6, 3) AS max_ms
FROM
(
    SELECT request, sum(n) AS requests, quantileExactWeighted(0.5)(took_ns, n) AS p50_ns, quantileExactWeighted(0.99)(took_ns, n) AS p99_ns
    FROM offcpu.requests FINAL ARRAY JOIN from_ns AS took_ns, counts AS n
    WHERE start >= now() - 3600
    GROUP BY request
) AS latencies
ANY LEFT JOIN
(
    SELECT request, uniq(host) AS hosts, max(max_ns) AS longest_ns, sum(duration_ns) / 1e9 / uniq(host) AS seconds
    FROM (SELECT host, window, request, max_ns FROM offcpu.requests FINAL WHERE start >= now() - 3600) AS r
    ANY LEFT JOIN (SELECT host, window, duration_ns FROM offcpu.windows FINAL WHERE start >= now() - 7200) AS w USING host, window
    GROUP BY request
) AS observed USING request
ORDER BY p99_ms DESC
LIMIT 30;

-- What requests of the last hour spent their time on, and what the slowest 1% of them did: percent of their time.
SELECT request, reason, place, round(100 * all_ns / greatest(sum(all_ns) OVER (PARTITION BY request), 1), 1) AS percent,
    round(100 * slow_ns / greatest(sum(slow_ns) OVER (PARTITION BY request), 1), 1) AS percent_of_slowest, hosts
FROM
(
    SELECT request, reason, place, uniq(host) AS hosts, sum(ns) AS all_ns, sum(if(took_ns >= p99_ns, ns, 0)) AS slow_ns
    FROM
    (
        SELECT host, request, reason, place, took_ns, ns
        FROM offcpu.request_times FINAL ARRAY JOIN from_ns AS took_ns, times_ns AS ns
        WHERE start >= now() - 3600
    ) AS times
    ANY LEFT JOIN
    (
        SELECT request, quantileExactWeighted(0.99)(took_ns, n) AS p99_ns
        FROM offcpu.requests FINAL ARRAY JOIN from_ns AS took_ns, counts AS n
        WHERE start >= now() - 3600
        GROUP BY request
    ) AS latencies USING request
    GROUP BY request, reason, place
) AS sums
ORDER BY request, percent_of_slowest DESC
LIMIT 100;
