-- SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause
-- A team that sees its services only:  change the role's name, its services and its users, and run it once for each team.
--
-- Every table that names functions, files or threads has the service, so one condition holds for all.  What stays visible of a host
-- is in `windows` and `losses`: how long it was recorded, by which command, and what was lost.  A wait that another service ended
-- names that service's thread.
--
-- Who has no policy sees everything, where users_without_row_policies_can_read_rows is on (as it is from the start).  The tables are
-- granted one by one, since "offcpu.*" would have the hidden one behind by_reason, which no policy guards.

CREATE ROLE IF NOT EXISTS offcpu_shop;

GRANT SELECT ON offcpu.windows TO offcpu_shop;
GRANT SELECT ON offcpu.losses TO offcpu_shop;
GRANT SELECT ON offcpu.threads TO offcpu_shop;
GRANT SELECT ON offcpu.states TO offcpu_shop;
GRANT SELECT ON offcpu.waits TO offcpu_shop;
GRANT SELECT ON offcpu.wakes TO offcpu_shop;
GRANT SELECT ON offcpu.on_cpu TO offcpu_shop;
GRANT SELECT ON offcpu.task_populations TO offcpu_shop;
GRANT SELECT ON offcpu.tasks TO offcpu_shop;
GRANT SELECT ON offcpu.findings TO offcpu_shop;
GRANT SELECT ON offcpu.requests TO offcpu_shop;
GRANT SELECT ON offcpu.request_times TO offcpu_shop;
GRANT SELECT ON offcpu.tcp_waits TO offcpu_shop;
GRANT SELECT ON offcpu.connections TO offcpu_shop;
GRANT SELECT ON offcpu.stacks TO offcpu_shop;
GRANT SELECT ON offcpu.objects TO offcpu_shop;
GRANT SELECT ON offcpu.wakers TO offcpu_shop;
GRANT SELECT ON offcpu.by_reason TO offcpu_shop;

CREATE ROW POLICY IF NOT EXISTS offcpu_shop ON
    offcpu.threads, offcpu.states, offcpu.waits, offcpu.wakes, offcpu.on_cpu, offcpu.task_populations, offcpu.tasks,
    offcpu.findings, offcpu.requests, offcpu.request_times, offcpu.tcp_waits, offcpu.connections, offcpu.stacks, offcpu.objects,
    offcpu.wakers, offcpu.by_reason
    FOR SELECT USING service IN ('cart.service', 'payment.service') TO offcpu_shop;

CREATE USER IF NOT EXISTS alice IDENTIFIED WITH sha256_password BY 'change this' DEFAULT ROLE offcpu_shop;

-- The agents need no more than this, so that a host that is taken over can read nothing of the others.
CREATE ROLE IF NOT EXISTS offcpu_agent;
GRANT INSERT ON offcpu.* TO offcpu_agent;
CREATE USER IF NOT EXISTS agent IDENTIFIED WITH sha256_password BY 'change this, too' DEFAULT ROLE offcpu_agent;
