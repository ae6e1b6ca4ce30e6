/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <string.h>

#include "analyse/actors.h"
#include "features/wakers/analysis.h"
#include "base/find.h"
#include "base/proc/net_table.h"
#include "explain/kinds/at_once.h"
#include "explain/limits.h"
#include "explain/little.h"
#include "explain/sentence.h"
#include "explain/findings_part.h"
#include "profile/profile.h"

#define UNANSWERED_ADVICE \
	"No answer came while this was recorded. Who asks for work with a long time limit (a long poll) is meant to wait so. Else the peer " \
	"hangs: look at what it waits for, and bound this wait by a time limit."
#define SILENT_ADVICE \
	"It has sent something there, and when it was looked at last nothing had come since, for half of the time and more. If that was " \
	"a request look at who answers it, and bound it by a time limit."
#define OF_QUEUE                                                                                                  \
	"A command that waits for work (BRPOP, XREAD, SUBSCRIBE, reserve) is no problem on a connection of its own; others on "  \
	"that one wait behind it. Else see what that server runs: "
#define OF_REDIS "SLOWLOG GET; WAIT waits for replicas (INFO replication)."
#define OF_MYSQL "See what its sessions do: SHOW PROCESSLIST, SHOW ENGINE INNODB STATUS, its slow query log."

#define OF_POOLER \
	"Who waits for a pooler waits for a statement, or until a connection of the pool is free, which stays in use until a " \
	"transaction (or session) ends, also while its program computes: keep these short, or raise the pool if the server has room. "
#define OF_POOLS OF_POOLER "SHOW POOLS tells who waits (cl_waiting, maxwait)."

/* It does one request after the other. */
#define OF_BUSY "It does one command after another, and has been busy: see which take long: "

static const struct {
	const char *process, *advice, *busy;	/* busy: advice if it was seen running; NULL: the same */
	bool is_pooler;
} servers[] = {
	{ "(redis-server)", OF_QUEUE OF_REDIS, OF_BUSY "SLOWLOG GET.", false },
	{ "(valkey-server)", OF_QUEUE OF_REDIS, OF_BUSY "SLOWLOG GET.", false },
	{ "(keydb-server)", OF_QUEUE OF_REDIS, OF_BUSY "SLOWLOG GET.", false },
	{ "(beanstalkd)", OF_QUEUE "stats.", NULL, false },
	{ "(postgres)", "See what its sessions wait for: wait_event in pg_stat_activity, pg_blocking_pids(). One that is idle in "
			"transaction holds its locks.", NULL, false },
	{ "(mariadbd)", OF_MYSQL, NULL, false },
	{ "(mysqld)", OF_MYSQL, NULL, false },
	{ "(pgbouncer)", OF_POOLS, NULL, true },
	{ "(pgcat)", OF_POOLS, NULL, true },
	{ "(pgdog)", OF_POOLS, NULL, true },
	{ "(odyssey)", OF_POOLS, NULL, true },
	{ "(pgpool)", OF_POOLER "SHOW POOL_PROCESSES tells who has one (num_init_children, max_pool).", NULL, true },
	{ "(pgagroal)", OF_POOLER "pgagroal-cli status tells how many are in use (max_connections).", NULL, true },
	{ "(proxysql)", OF_POOLER "stats_mysql_connection_pool tells how many are in use (max_connections).", NULL, true },
	{ "(maxscale)", OF_POOLER "maxctrl list servers tells how many are in use.", NULL, true },
	{ "(mongod)", "See what it does: db.currentOp(), its log of slow operations.", NULL, false },
};

const char *servers_advice(const char *peer, bool is_busy)
{
	for (size_t i = 0; peer && i < G_N_ELEMENTS(servers); i++)
		if (strstr(peer, servers[i].process))
			return is_busy && servers[i].busy ? servers[i].busy : servers[i].advice;
	return NULL;
}

bool servers_is_database(const char *peer)
{
	return servers_advice(peer, false) && !peer_is_memory_server(peer);
}

bool servers_is_redis(const char *peer)
{
	const char *advice = servers_advice(peer, true);

	return advice && g_str_has_prefix(advice, OF_BUSY);
}

const char *poolers_advice(const char *peer)
{
	return peer ? FIRST(x, servers, x->is_pooler && strstr(peer, x->process), x->advice, NULL) : NULL;
}

const char *servers_advice_of_wait(const struct reasons *r, uint32_t wait, const struct object *o, const char *by,
				   bool is_busy)
{
	const struct rule *rule = reasons_rule(r, wait);
	bool is_asked = o && reasons_of(r, wait) == REASON_NETWORK_RECEIVE && !(rule && rule->advice);

	return is_asked ? servers_advice(o->name, is_busy) ?: servers_advice(by, is_busy) : NULL;
}

#define SYN_REPEATED_NS 1000000000ULL
#define SYN_REPEATED_SLOT 29 /* log2: 0.54 to 1.07 s */
#define LOST_MIN 5
#define LOST_PART 20	/* of the answers */
#define LOST_TIMES 50	/* times the median */
#define AT_ONCE_NS 2000000ULL	/* maximum median */
#define BURST_WAITS_MIN 50
#define BURST_NS 20000000ULL	/* minimum p99 */
#define BURST_TIMES 30	/* times the median */
#define SLOW_SYNC_NS 100000000ULL	/* of the median: a disk that turns takes 10 to 30 ms */
#define ROW_ANSWER_NS 10000000	/* the same for many consecutive questions that take most of the window */
#define TAIL_TIMES 4	/* times the median */
#define TAIL_WAITS_MIN 30
#define COMPUTES_PART 10
#define IN_A_ROW 10
#define ALL_PERMILLE 900	/* of all CPUs' time: all were in use */
#define FREE_PERMILLE 600	/* less: some were free */
#define OTHERS_ADVICE                                                                                                 \
	"Another program has the CPUs: let it run later or elsewhere, give it less (nice, cpu.weight), or give this one CPUs of its own."
#define TAKEN_ADVICE                                                                                                  \
	"All threads of that pool do this all the time, and more work queues for one: more threads (max_workers; of Tokio "           \
	"max_blocking_threads), or look at what this waits for."
#define UNRECORDED_ADVICE                                                                                             \
	"That program is on this machine, and what it waits for is not in this recording: record it, too (-p takes several), or -a. " \
	"Else ask it less often, or in parallel."
#define STARVED "Where all workers of a pool wait so, nobody is left to do those tasks: another pool for them, or more workers."
#define STARVED_LIMITED                                                                                              \
	"Its time limit ends these waits, so nobody did those tasks: where all workers of a pool wait so nobody is left to. "  \
	"Another pool for them, or no wait in a worker; without the limit it stands still for ever."

/* For threads that may not use all CPUs. */
static const char *advice_of_cpus(const struct findings *f, const struct finding *row)
{
	const struct ran r = ran_of(f, row);

	if (r.policy)
		return "A real-time thread comes before all others on a CPU: let these use other CPUs (taskset, cpuset, "
		       "sched_setaffinity), or run it without that policy or with pauses.";
	if (r.is_same)
		return "Let these threads, or those that ran there, use other CPUs, too (taskset, cpuset, sched_setaffinity).";
	if (ran_others(f, row))
		return OTHERS_ADVICE;
	if (row->limit.is_others)
		return "They ran little there, so others hold these CPUs: see who (record --runq-blame), or let these threads use "
		       "others, too (taskset, cpuset, sched_setaffinity).";
	return "They may not use the other CPUs (taskset, cpuset, sched_setaffinity): let them, or run fewer.";
}

static const char *advice_of_quota(const struct finding *row)
{
	if (row->limit.used.name)
		return "Another program of that group uses most of its quota: have it do less, or give it a group of its own. Else raise the "
		       "quota (cpu.max).";
	return row->threads_cnt == 1 ? "Raise the quota (cpu.max), or have what is in that group compute less." : NULL;
}

/* At most a third of the answers take several times as long as the median, and together most of the time. */
static bool is_mostly_of_few(const struct finding *row)
{
	const unsigned from = profile_hist_slot(finding_percentile_ns(row, 0.5) * TAIL_TIMES);
	uint64_t all_cnt = 0, tail_cnt = 0;
	double all = 0, tail = 0;	/* in proportion to time: slots are powers of two */

	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++) {
		const double weight = row->hist[i] * (double)(UINT64_C(1) << MIN(i, 62));

		all_cnt += row->hist[i];
		all += weight;
		tail_cnt += i > from ? row->hist[i] : 0;
		tail += i > from ? weight : 0;
	}
	return row->max_ns >= FINDING_NOTICED_NS && all_cnt >= TAIL_WAITS_MIN && tail_cnt <= all_cnt / 3 &&
	       tail > all / 2;
}

static const char *advice_of_limit(const struct findings *f, const struct finding *row)
{
	const struct profile_limit *l = row->limit.limit;

	if (!l)
		return NULL;
	switch ((enum profile_limit_kind)l->kind) {
	case LIMIT_STOPPED:
		return finding_object(f, row) && object_is_lock(finding_object(f, row)) ?
			       "A stopped process lets go of nothing, and wakes nobody: continue it (kill -CONT), or detach its debugger." :
			       "A stopped process answers nobody: continue it (kill -CONT), or detach its debugger.";
	case LIMIT_CPUS:
		return advice_of_cpus(f, row);
	case LIMIT_DISK:
		return "If it is at that limit raise it, or read and write less; if not see which device is slow: "
		       "offcpu io.";
	case LIMIT_MEMORY:
		if (row->limit.refaults)
			return "The limit throws out pages that are still used, and page faults and reclaim take CPU time, too: raise it, or "
			       "use less memory.";
		if (row->reason == REASON_MEMORY_FILE)
			return "Pages of files go when that is full: if these were read before (workingset_refault_file in its memory.stat "
			       "grows) raise that limit, or map less; if not warm the file before.";
		return "Raise that limit, or use less memory.";
	case LIMIT_POLICY:
		return g_str_has_prefix(l->text, "SCHED_DEADLINE") ?
			       "It has used up the runtime that it asked for: ask for more (chrt -d, sched_setattr()), or do less each "
			       "period. More CPUs do not help." :
			       "The kernel keeps a part of each CPU from real-time threads (sched_rt_runtime_us, fair_server): let it "
			       "sleep in between, or run it without a real-time policy.";
	case LIMIT_POOL:
		return pool_is_many_small(f, row) && !is_mostly_of_few(row) ? MANY_SMALL_ADVICE : pool_advice(f, row);
	case LIMIT_CONNECT:
		return connects_advice(row);
	case LIMIT_FAILS:
		return tries_advice(row);
	case LIMIT_LOSS:
		return loss_is_of_this_machine(row) ? LOSS_LOCAL_ADVICE : LOSS_ADVICE;
	case LIMIT_FULL:
		return FULL_ADVICE;
	case LIMIT_SLACK:
		return "Sleeps that are meant to be shorter take so long by that: set it back (prctl(PR_SET_TIMERSLACK, 0)). Whoever "
		       "started the thread may have left it so: /proc/TID/timerslack_ns.";
	case LIMIT_GONE:
		return !limit_gone_is_file(l) ?
			       "Nobody can let it go: start all that share it anew. A mutex with PTHREAD_MUTEX_ROBUST is given to the next one "
			       "(EOWNERDEAD), which mends what it guards." :
		       limit_gone_keeper(l, NULL) ?
			       "Who has the file open has the lock, also by inheritance: end that program, or close the file for such "
			       "(O_CLOEXEC, 9>&- in a shell)." :
			       "A program that it started has the file open still, and so the lock: see which (lsof, fuser). If that should "
			       "not keep it close the file for such programs: O_CLOEXEC, 9>&- in a shell.";
	case LIMIT_CYCLE:
		return cycle_advice(row);
	case LIMIT_NAGLE:
		return NAGLE_ADVICE;
	case LIMIT_QUOTA:
		return advice_of_quota(row);
	case LIMIT_WEIGHT:
		return "Groups share busy CPUs by their weights: a job that has time may go on so. Else give it a larger one (cpu.weight, "
		       "cpu.shares, CPUWeight=, requests.cpu of a pod), or see who held the CPUs (record -a --runq-blame).";
	case LIMIT_OWED:
		return owed_advice(f, row);
	case LIMIT_FILES:
	case LIMIT_TASKS:
	case LIMIT_SEMAPHORE:
		return full_advice(row);
	case LIMIT_CHILD:
		return child_advice(f, row);
	case LIMIT_END:
		return helpers_advice();
	default:
		return NULL;
	}
}

/* Linux sends a SYN again after 1, 3, 7 s (TCP_TIMEOUT_INIT, include/net/tcp.h). */
static bool has_repeated_syn(const struct finding *row)
{
	uint64_t waits = 0;

	for (unsigned i = SYN_REPEATED_SLOT; i < PROFILE_HIST_SLOTS; i++)
		waits += row->hist[i];
	return row->reason == REASON_NETWORK_CONNECT && waits > row->count / 4 && row->max_ns >= SYN_REPEATED_NS;
}

/* Its rule has its own advice. */
static bool is_of_rule(const struct findings *f, const struct finding *row)
{
	const struct rule *rule = finding_rule(f, row);

	return rule && rule->advice;
}

/* The rule of the wait is about the program whose loop it holds up, or about a lock that no other call avoids. */
static bool knows_loop(const struct findings *f, const struct finding *row)
{
	const struct rule *rule = reasons_rule(f->reasons, row->wait);

	return rule && rule->advice && rule->protocol &&
	       (rule->reason == REASON_LOCK_OTHER || strcmp(rule->protocol, row->loop->name) == 0);
}

/* A waker outside of the process of a lock and its waiters that ends nearly all waits does so by a signal. */
bool sentence_is_ended_by_kill(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	return (row->reason == REASON_LOCK_MUTEX || row->reason == REASON_LOCK_RWLOCK) && o && o->is_private &&
	       row->pid && row->by.pid && row->by.pid != row->pid && row->by.blocked_ns >= row->time_ns / 10 * 9;
}

/*
 * Threads also wait for a CPU while others are free: for the one where they last ran, or may run.  Only if all are
 * used there are too few.
 */
static const char *advice_of_queue(const struct findings *f, const struct finding *row)
{
	const struct profile_info *info = &f->profile->info;

	if (wakers_are_connections(f->profile, f->programs, row->process))
		return "Most of its wakings are by connections that come in, which many threads wait for: record --storms tells "
		       "how many wake in vain. EPOLLEXCLUSIVE or SO_REUSEPORT wakes one for each.";
	if (row->bursts.cnt)
		return BURSTS_ADVICE;
	if (ran_uneven(f, row))
		return "One thread does most of this, while those that do the same beside it have no work for most of the time: share it "
		       "out in smaller pieces (a finer grain, dynamic scheduling).";
	if (info->scheduler)
		return "A BPF scheduler (sched_ext) decides who gets a CPU: look at what it tells of itself, or compare without it.";
	if (wakers_watch_apart(f->profile, f->programs, row->process))
		return "Most of its wakings are by events that go to many epoll sets: record --storms tells how many wake in vain. "
		       "EPOLLEXCLUSIVE, or one set for all threads, wakes one for each.";
	if (ran_others(f, row) || row->is_for_hog)
		return OTHERS_ADVICE;
	const int busy = profile_cpus_busy(f->profile);	/* only if not the whole machine is recorded */

	if (busy >= ALL_PERMILLE && ran_share(f->profile) * 2000 < busy)
		return "Others have the CPUs for most of that time: see who (record -a --runq-blame), let them run later or elsewhere, or give "
		       "them less (nice, cpu.weight).";
	if (ran_share(f->profile) >= CPUS_FULL || busy >= ALL_PERMILLE)
		return info->has_blame || busy >= 0 ? "More runnable threads than CPUs: add CPUs or run fewer." :
					 reason_advice(REASON_CPU_QUEUE);
	if ((!info->imported && profile_is_of_machine(f->profile)) || (busy >= 0 && busy < FREE_PERMILLE))
		return "CPUs were free meanwhile, so more of them would not help: see who wakes many threads at once "
		       "(record --wakers), and which CPUs they may use.";
	if (ran_little(f->profile))
		return info->has_blame ? "Its own threads ran little, so others held the CPUs." :
					 "Its own threads ran little, so others held the CPUs: see who (record -a --runq-blame).";
	return info->has_blame ? "See who held the CPUs: if none was free add CPUs or run fewer." :
				 "See who held the CPUs (record --runq-blame): if none was free add CPUs or run fewer.";
}

#define STUCK_RWLOCK \
	"who has it to read takes it once more behind a writer that waits, or whoever holds it is stuck. See what its other threads do: " \
	"`offcpu report --full`."

/* A lock of a database's or a language's is none of pthread's. */
bool sentence_stuck_is_of_rule(const struct findings *f, const struct finding *row)
{
	const struct rule *rule = finding_rule(f, row);

	return rule && rule->protocol && rule->advice;
}

static const char *advice_of_stuck_rwlock(const struct findings *f, const struct finding *row)
{
	static const char *const pthreads[] = { "pthread_rwlock_", "__pthread_rwlock_", "___pthread_rwlock_", NULL };

	if (sentence_stuck_is_of_rule(f, row))
		return finding_rule(f, row)->advice;
	return profile_stack_names(f->profile, profile_wait(f->profile, row->wait)->user, pthreads) ?
		       "Nobody gave it to this waiter while this was recorded: readers that overlap starve a writer "
		       "(PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP), " STUCK_RWLOCK :
		       "Nobody gave it to this waiter while this was recorded: readers that overlap starve a writer, " STUCK_RWLOCK;
}

/* A private lock of a process with one thread. */
static bool is_alone_with_lock(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);
	const uint32_t pid = finding_pid(f, row);

	return row->never_let_go && o && o->is_private && deadlock_is_alone(f->profile, pid) &&
	       deadlock_knows_all(f->profile, pid);
}

static const char *advice_of_stuck(const struct findings *f, const struct finding *row)
{
	if (row->limit.limit && row->limit.limit->kind == LIMIT_GONE)
		return advice_of_limit(f, row);
	const struct rule *rule = row->stayer_wait ? reasons_rule(f->reasons, row->stayer_wait - 1) : NULL;

	if (rule && rule->advice && rule->reason == REASON_NETWORK_RECEIVE)	/* what it waits for is the cause */
		return rule->advice;
	if (row->is_behind || row->stayer_wait)
		return "Nobody let go of it while this was recorded. That other thread is likely to have it: see what it waits for, and wait for "
		       "that without the lock.";
	if (row->is_both_stuck)
		return "Nobody let go of either while this was recorded: if each of these threads holds what the other waits for it is a "
		       "deadlock: take the locks in one order everywhere. Else whoever holds one is stuck: `offcpu report --full`.";
	if (is_alone_with_lock(f, row))
		return "Nobody let go of it while this was recorded, and its process has no other thread: it was forked while "
		       "a thread had the lock that is not there in the child (fork before threads begin, start programs with "
		       "posix_spawn(), in Python multiprocessing's spawn), or took it twice (a signal's handler, too).";
	return row->never_let_go && row->reason == REASON_LOCK_RWLOCK ?
		       advice_of_stuck_rwlock(f, row) :
		       "Nobody let go of it while this was recorded: a deadlock, or whoever holds it is stuck. See what its other "
		       "threads wait for: `offcpu report --full`.";
}

static bool is_of_protocol(const struct findings *f, const struct finding *row, const char *protocol)
{
	const struct rule *rule = finding_rule(f, row);

	return rule && g_strcmp0(rule->protocol, protocol) == 0;
}

static const char *advice_of_clock(const struct finding *row)
{
	if (row->leads_ns)
		return "Another program waits until it ends: see why it pauses, and what need not wait for it (of make what depends on it).";
	return row->waited_ns ? "Others wait meanwhile for what it holds, or does afterwards: do not sleep there." :
				"It only sleeps, again and again, for about the same time: a clock that ticks may stay as it is. If it looks "
				    "whether something has come, wait for that instead.";
}

/*
 * Nobody woke most of them.  A worker without work that is handed some looks like one that waits for its turn, and a
 * large pool has many.  Nobody waits for a semaphore without having work.
 */
static bool is_mostly_at_rest(const struct findings *f, const struct finding *row)
{
	uint32_t cnt = 0;

	for (uint32_t i = 0; row->reason != REASON_LOCK_SEMAPHORE && i < f->profile->waits->len; i++) {
		const struct wait *w = profile_wait(f->profile, i);

		cnt += f->blocked_in[i] == row->id && finding_wait_is_all_along(w);
	}
	return cnt > row->threads_cnt / 2;
}

/* NULL: it looks up no name. */
static const char *advice_of_resolver(const struct findings *f, const struct finding *row)
{
	if (!is_of_protocol(f, row, "resolver"))
		return NULL;
	if (row->timed_out_cnt <= row->woken_cnt / 2)
		return reasons_advice(f->reasons, row->wait);
	return row->queue_at_once ?
		       "This name server does not answer: see /etc/resolv.conf. Until then cache names, or resolve apart from "
		       "libuv's threads (dns.resolve()), or have more of them (UV_THREADPOOL_SIZE), half of which look up names." :
		       "This name server does not answer: see /etc/resolv.conf for others, and options timeout: for how long it is "
		       "asked; cache names.";
}

static const char *advice_of_syns(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	if (o && g_str_has_prefix(o->name, "unix socket"))
		return "The queue of connections of that socket is full, and connect() waits until whoever listens there accepts one: accept "
		       "faster (more workers, an event loop), or have a longer backlog (listen()). `ss -xl` shows it.";
	if (o && net_text_is_loopback(o->name))
		return "Waits of 1, 3 or 7 s are SYNs sent again: the listener's accept queue is full (it accepts too slowly, "
		       "or its backlog or somaxconn is small), or packets are lost.";
	return "Nobody there answers to SYNs, which are sent again after 1, 3, 7 s: a firewall or a route drops them, the host is "
	       "down, or its accept queue is full. A shorter connect timeout bounds the wait.";
}

static const char *advice_of_deadlock(const struct finding *row)
{
	if (row->deadlock == row->deadlock_next)
		return "It holds this lock already and waits for itself for ever: do not lock it twice. Until that is mended "
		       "only a restart helps.";
	if (!row->deadlock_next)
		return "The process was forked while another thread held it, or that thread ended: nobody can let it go. Only a restart "
		       "helps. Start programs with posix_spawn() or exec at once, or take the lock in pthread_atfork().";
	if (row->reason == REASON_CHILD_EXIT)
		return "The child prints into a pipe that its parent alone reads, which waits until the child ends: neither goes on. "
		       "Read what it prints before waiting for it (communicate()), or send that to a file.";
	if (row->reason == REASON_PIPE)
		return "Each waits for what the other is to write, so neither goes on: close the input of a program before reading what "
		       "it makes of it till the end (communicate()), also where another program has inherited that end.";
	return "Each of these threads holds what the next one waits for, so none goes on: take the locks in one order "
	       "everywhere. Until that is mended only a restart helps.";
}

/* How often its threads wait for this before they wait for something else, such as the next request. */
static uint64_t waits_in_a_row(const struct findings *f, const struct finding *row)
{
	const struct profile *p = f->profile;
	g_autofree bool *is_its = g_new0(bool, (gsize)p->threads->len + 1);
	uint64_t others = 0;

	for (uint32_t i = 0; i < p->waits->len; i++)
		is_its[profile_wait(p, i)->thread] |= f->blocked_in[i] == row->id;
	EACH_ROW(i, const struct wait, w, p->waits)
		others += is_its[w->thread] && w->blocked_ns && f->blocked_in[i] != row->id ? w->count : 0;
	return row->count / MAX(others, 1);
}

/* What an event loop waits is no answer's time where several are due at once, as on several connections. */
static bool may_ask_one_by_one(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	return !o || o->kind != OBJECT_EPOLL ||
	       pool_asks_one_by_one(f, finding_pid(f, row),
				    profile_upstream(f->profile, profile_wait(f->profile, row->wait)));
}

/*
 * Each thread asks again as soon as it has a fast answer: the number of questions takes the time.  A thread that
 * receives unasked data reads a stream.
 */
static bool is_many_small(const struct findings *f, const struct finding *row)
{
	const uint64_t window_ns = f->profile->info.duration_ns, threads = MAX(row->threads_cnt, 1);
	struct tcp_shares shares;

	if (row->reason != REASON_NETWORK_RECEIVE || row->loop || row->limit.limit || !row->count ||
	    (tcp_shares_find(f, row, &shares) && shares.most == TCP_SHARE_SILENT) || is_mostly_of_few(row) ||
	    !may_ask_one_by_one(f, row))
		return false;
	uint64_t answer_ns = row->time_ns / row->count;
	if (answer_ns <= SMALL_ANSWER_NS)
		return row->count / MAX(window_ns / 1000000000, 1) / threads >= SMALL_ANSWERS_PER_S;
	return answer_ns <= ROW_ANSWER_NS && row->count / threads >= IN_A_ROW && waits_in_a_row(f, row) >= IN_A_ROW;
}

static const char *advice_of_server(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	const uint64_t median_ns = finding_percentile_ns(row, 0.5);

	if (row->count > 1 && row->max_ns > median_ns * LOST_TIMES &&
	    ((finding_is_by(f, row, RULES_MEMORY_SERVER "*") && median_ns < AT_ONCE_NS) || one_command_may_be(f, row)))
		return "Most answers come at once, and some only after long: the server did something else then, as one long command "
		       "(SLOWLOG GET) or writing to the disk, or it did not run: stopped, paused, throttled.";
	/* for a socket in a file only the waker is known */
	g_autofree char *by = row->by.pid && row->by.pid != finding_pid(f, row) ? g_strdup_printf("(%s)", row->by.comm) : NULL;

	const bool is_busy = (row->by.does_ns && row->by.does == REASON_ON_CPU) ||
			     (o && profile_server_does(f->profile, o->pid) == SERVER_WORKS);

	const char *advice = servers_advice_of_wait(f->reasons, row->wait, o, by, is_busy);
	const bool is_blind = row->reason == REASON_NETWORK_RECEIVE && !advice && by && !row->by.does_ns &&
			      unseen_has_tasks(f, row->by.pid);

	return is_blind ? "That program's goroutines, or the like, are not seen here: look at what they wait for, as is said below." :
			  advice;
}

/* By what the lock's holder does meanwhile; NULL: that says nothing more. */
static bool is_held_by_deadlocked(const struct findings *f, const struct finding *row)
{
	const struct finding *cause = finding_is_held(f, row) ? finding_cause(f, row) : NULL;

	return cause && cause->deadlock;
}

/* Who ran for that part of the time that it waited for a CPU did more with the lock than a moment's work. */
static bool holder_computes(const struct findings *f, const struct finding *row)
{
	const uint32_t at = row->by.tid ? cause_thread(f->profile, row->by.pid, row->by.tid) : CAUSE_NONE;
	const struct thread *t = at != CAUSE_NONE ? profile_thread(f->profile, at) : NULL;

	return t && t->on_cpu_ns >= (t->runnable_ns + t->preempted_ns) / COMPUTES_PART;
}

static const char *advice_of_holder(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	if (row->reason == REASON_LOCK_KERNEL && o && g_str_has_prefix(o->name, "mmap_lock") && o->pid == finding_pid(f, row) &&
	    row->by.pid && row->by.pid != o->pid && finding_is_held(f, row))
		return "Another program looks into this one (smaps or maps of /proc/PID, its memory): let it do so less often; smaps_rollup "
		       "and statm tell sums.";
	if (row->by.is_holder && row->by.pid && !finding_process_name(f, row->by.pid))
		return "Another program has it, which is not in this recording: record both (-p takes several) to see what that does with it.";
	if (is_held_by_deadlocked(f, row))
		return "Who holds it is deadlocked itself, as told before: it goes on when that is mended.";
	const bool is_file = row->reason == REASON_LOCK_KERNEL && row->by.tid && finding_is_held(f, row) &&
			     finding_is_file_lock(f, row);
	const bool is_lock = !is_of_rule(f, row) &&
			     (row->reason == REASON_LOCK_MUTEX || row->reason == REASON_LOCK_RWLOCK);

	if ((is_lock || (is_file && !row->unended)) && finding_mostly_does(row)) {
		if (reason_family(row->by.does) == FAMILY_DISK || reason_family(row->by.does) == FAMILY_NETWORK)
			return "Do the I/O outside of the lock, or batch it.";
		if (row->by.does == REASON_CPU_QUEUE)
			return holder_computes(f, row) ?
				       "The holder computes with it, and waits for a CPU meanwhile: do less under the lock (prepare before, and only "
				       "put it in place there). Too many runnable threads, or too low a priority, make that longer." :
				       "The holder lost its CPU: too many runnable threads, or too low a priority.";
	}
	if (is_file)
		return row->unended ?: reason_advice(REASON_LOCK_MUTEX);
	if (row->reason == REASON_LOCK_KERNEL && !is_of_rule(f, row) && row->by.does_ns &&
	    (row->by.does == REASON_DISK_SYNC || row->by.does == REASON_DISK_WRITE))
		return "Who holds it waits for the disk meanwhile (O_SYNC, fsync): write and sync more at once, from one thread, or have "
		       "several files.";
	return NULL;
}

/* One ends nearly all of these waits, as at a barrier, and mostly waits for something else itself; NULL: not so. */
static const char *advice_of_latest(const struct findings *f, const struct finding *row)
{
	const bool is_barrier = finding_is_by(f, row, "*barrier*");
	const enum reason_family does = reason_family(row->by.does);

	if (!is_barrier && (row->reason != REASON_LOCK_SEMAPHORE || is_of_rule(f, row) || row->by.are_peers))
		return NULL;
	if (row->threads_cnt < 2 || !row->by.tid || row->by.threads_cnt != 1 ||
	    row->by.blocked_ns < row->time_ns / 10 * 9 || !finding_mostly_does(row) || !row->by.does_wait ||
	    does == FAMILY_LOCK || does == FAMILY_CPU)
		return NULL;
	return is_barrier ?
		       "One is later than the others, which wait for it, and mostly waits itself meanwhile: look at what that waits for." :
		       "One ends nearly all of these waits, and mostly waits for something else itself: look at that. If it has what the "
		       "semaphore counts meanwhile, give that back before.";
}

/* Threads of one kind that end one another's waits; NULL: not so. */
static const char *advice_of_peers(const struct findings *f, const struct finding *row)
{
	bool is_signalled = !is_of_rule(f, row) && reason_is_signalled(row->reason);

	if (is_signalled && sentence_is_nameless(f, row))
		return "What they wait for only their functions tell: record once more with names (Mono: --jitmap; `offcpu doctor -p PID` "
		       "tells how).";
	if (!is_signalled || !row->by.are_peers || row->threads_cnt <= 2)
		return NULL;
	if (row->tells_all && row->by.does_ns)
		return "One of them tells all others at once that what they wait for is there: look at what that one waits for itself.";
	return is_mostly_at_rest(f, row) ?
		       "Most of these threads slept all the time: workers without work that others of their kind give some, or "
		       "threads that are short of something. Look at what those do that end the waits." :
		       "Threads of its own kind end the waits: they are short of something. Raise the pool, or hold it less.";
}

/* It waits for other processes, whose waits were recorded. */
static bool is_for_recorded_child(const struct findings *f, const struct finding *row)
{
	const struct profile *p = f->profile;

	return row->reason == REASON_CHILD_EXIT && row->by.does_ns &&
	       (!row->by.does_wait ||
		profile_thread(p, profile_wait(p, row->by.does_wait - 1)->thread)->pid != finding_pid(f, row));
}

/* By its children, if it waits for one or reads their output; NULL: nothing more is known. */
static const char *advice_of_children(const struct findings *f, const struct finding *row)
{
	if (is_for_recorded_child(f, row) && !row->spawned_cnt)
		return row->by.does == REASON_ON_CPU ?
			       "The child computes: a CPU profile of it tells more." :
			       "The child is in this recording, too: look at what it waits for.";
	return spawns_advice(f, row);
}

/* Nobody is left to run the tasks that these threads wait for; NULL: somebody is. */
static const char *advice_of_nobody(const struct finding *row)
{
	if (row->nobody_works == NOBODY_OF_POOL)
		return "All workers of that pool wait so all the time, and nothing else works: if these tasks are for the same pool "
		       "nobody is left to do them, until a restart. Another pool for tasks that others wait for, or no wait within a task.";
	return row->nobody_works ?
		       "All threads of the process wait so, and nobody is left to do these tasks: it stands still until a restart. "
		       "Another pool for tasks that others wait for." :
		       NULL;
}

/* It is reported with another finding, or is a script's own pause, or a supervisor's; NULL: not so. */
static const char *advice_of_told(const struct findings *f, const struct finding *row)
{
	const char *advice = restarts_advice(f, row);

	if (advice)
		return advice;
	if (row->has_sleep)
		return "The script starts `sleep` again and again: if it looks whether something has come, wait for that instead (wait, "
		       "inotifywait, a pipe); a pause that is meant may stay.";
	if (row->is_shells_sleep)
		return "It is told with the script that waits for it.";
	if (row->one_by_one)
		return "Each of them begins when the one before has ended: begin several, and wait when all have begun (a future that "
		       "std::async() returns waits where it is dropped: keep it).";
	if (row->is_behind)
		return BEHIND_ADVICE;
	if (row->asks_itself && !row->limit.limit)
		return SELF_ADVICE;
	return row->queue_tasks ? TAKEN_ADVICE : NULL;
}

/*
 * Some answers come, and fast, and timeouts end the other waits; NULL: not so.  A set may contain clients' sockets,
 * too.
 */
static const char *advice_at_once(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);
	const bool is_loop = row->reason == REASON_EVENT_LOOP;
	const bool is_alone = o && (o->kind == OBJECT_SOCKET || strcmp(o->place, "1 socket") == 0);

	/* what else a loop has to do at its time is no limit of the answer that it waits for */
	const bool has_own_timers = o && o->kind == OBJECT_EPOLL && !is_alone;

	if ((!is_loop && (row->reason != REASON_NETWORK_RECEIVE || has_own_timers)) || row->timed_out_cnt < LOST_MIN ||
	    row->timed_out_cnt > row->woken_cnt / 2 || row->timed_out_cnt < row->woken_cnt / LOST_PART ||
	    finding_percentile_ns(row, 0.5) >= row->max_ns / LOST_TIMES)
		return NULL;
	return !is_loop || is_alone ? AT_ONCE_ADVICE :
			  "Events come at once, or not until it times out: if it has asked and waits for an answer, questions or answers "
			  "are lost, or the peer leaves some out (nstat, its log); a shorter timeout bounds the wait.";
}

/* Timeouts, its own or its waker's, end most of these; NULL: not so, or nothing follows. */
static const char *advice_of_timeouts(const struct findings *f, const struct finding *row)
{
	if (row->timed_out_cnt <= row->woken_cnt / 2)
		return NULL;
	if (row->reason == REASON_NETWORK_CONNECT)
		return "Nobody takes the connection: the listener's accept queue is full, packets are dropped, or the host is down. "
		       "A shorter timeout bounds the wait.";
	if (row->reason == REASON_EVENT_LOOP || row->reason == REASON_NETWORK_RECEIVE)
		return row->timed_out_cnt * 10 > row->woken_cnt * 9 ?
			       "Time limits end these waits: the peer does not answer, or at once or not at all, as where packets are lost "
			       "(nstat, its log). A shorter timeout bounds the wait." :
			       "A time limit of a library's own wakes it again and again while it waits: look at the peer that it waits for.";
	if (row->reason == REASON_LOCK_OTHER && !is_of_rule(f, row))
		return "Its own time limit ends most of these waits, so nobody holds it up: see whether it should look that often, "
		       "and what it looks for.";
	return NULL;
}

/* `advice` says to look at who ends the waits, of whom the sentence tells what they mostly do: what follows from that. */
static const char *advice_by_enders(const struct finding *row, const char *advice)
{
	if (!advice || !strstr(advice, "report --wakers") || row->by.is_holder || !row->by.does_ns || !finding_mostly_does(row))
		return advice;
	if (row->by.does == REASON_ON_CPU)
		return "Who ends these waits computes meanwhile: a CPU profile of that tells more (record --cpu).";
	if (row->by.does == REASON_CPU_QUEUE)
		return "Who ends these waits wants a CPU meanwhile: see who has them (record -a --runq-blame).";
	return row->by.threads_cnt < row->threads_cnt ?
		       "More wait than there are threads that end these waits, and those mostly wait themselves: see to what they wait for "
		       "first. More of them, or a time limit of theirs, keep a slow one from holding up the others." :
		       "Who ends these waits mostly waits itself: see to what that waits for first.";
}

/* Who ends these waits is throttled: that is what to mend; NULL: it is not. */
static const char *advice_of_throttled(const struct finding *row)
{
	return row->by.does == REASON_CPU_THROTTLED && row->by.does_ns && finding_mostly_does(row) ?
		       reason_advice(REASON_CPU_THROTTLED) : NULL;
}

/* Whoever reads from the pipe, into which an event loop writes, is too slow. */
static const char *advice_of_loops_pipe(const struct findings *f, const struct finding *row)
{
	if (!finding_is_by(f, row, "pipe-write") || row->by.pid == row->pid)
		return NULL;
	return row->by.does_ns && finding_mostly_does(row) && row->by.does != REASON_ON_CPU ?
		       "Who reads from that pipe mostly waits itself: see to what that waits for first. So that it does not hold up the loop "
		       "write from another thread (a logger's transport), or drop what finds no room." :
		       "Who reads from that pipe is slower than this writes: see what that does. So that it does not hold up the loop write "
		       "from another thread (a logger's transport), or drop what finds no room.";
}

/* Of what holds up an event loop; NULL: no loop, or its rule says more. */
static const char *advice_of_loop(const struct findings *f, const struct finding *row)
{
	if (!row->loop || !row->loop->advice || knows_loop(f, row))
		return NULL;
	return ends_advice(f, row) ?: advice_of_loops_pipe(f, row) ?: row->loop->advice;
}

/* For waits for a task's result; NULL: not so, or the worker is unknown. */
static const char *advice_of_workers(const struct findings *f, const struct finding *row)
{
	if (!sentence_is_for_workers(f, row))
		return NULL;
	if (sentence_is_starved(f, row))
		return STARVED;
	if (sentence_is_in_worker(f, row) && row->timed_out_cnt && !row->by.tid)
		return STARVED_LIMITED;
	if (!row->by.does_ns)
		return NULL;
	if (row->by.threads_cnt < row->threads_cnt)
		return "More wait than there are workers: more workers, or a shorter wait of theirs.";
	return row->by.does == REASON_ON_CPU ? "The workers compute: a CPU profile of them tells more." :
					       "Look at what the workers wait for: that is what the result takes.";
}

/* A disk that is fast except for some waits, or slower than any idle disk: other work on it, or a limit. */
static const char *advice_of_slow_sync(const struct finding *row)
{
	uint64_t long_ns = finding_percentile_ns(row, 0.99);

	if (row->reason != REASON_DISK_SYNC || row->count < BURST_WAITS_MIN || long_ns < BURST_NS)
		return NULL;
	if (finding_percentile_ns(row, 0.5) > SLOW_SYNC_NS)
		return "A disk takes so long where it has other work, or a limit holds it: `offcpu io` tells which, and record -a who "
		       "writes there. One fsync for many changes meets that less often.";
	if (finding_percentile_ns(row, 0.5) > long_ns / BURST_TIMES)
		return NULL;
	return "Most take a moment, and some many times as long: others write to that disk meanwhile, or a limit holds it: `offcpu io` "
	       "tells. One fsync for many changes meets that less often.";
}

/* The process on this machine that reads what is sent; 0: unknown. */
static uint32_t reader_of(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	return row->by.pid ? row->by.pid : o && !object_is_lock(o) ? o->pid : 0;
}

/* Another program of this machine makes room, or TCP says that the other end has none. */
static bool is_for_slow_reader(const struct findings *f, const struct finding *row)
{
	const uint32_t reader = reader_of(f, row);
	struct tcp_shares t;

	return row->reason == REASON_NETWORK_SEND && !is_of_rule(f, row) &&
	       ((reader && reader != finding_pid(f, row)) || (tcp_shares_find(f, row, &t) && t.most == TCP_SHARE_PEER));
}

/* How its waits end, or that nobody has time to end them; NULL: that says nothing more. */
static const char *advice_of_ending(const struct findings *f, const struct finding *row)
{
	if (row->is_aborted)
		return "A timer of the server ends these waits, and sessions let their locks go as a statement has failed: deadlocks that it "
		       "finds after deadlock_timeout, or lock_timeout. Its log tells (deadlock detected, with both statements): take rows in one "
		       "order everywhere.";
	if (tcp_shares_is_way_full(f, row))
		return "The link, or a limit on the way there (tc, a machine's bandwidth), is slower than this sender: send less, "
		       "or compress it.";
	if (is_for_slow_reader(f, row))
		return "Whoever reads at the other end is slower than this sender: look at what it does meanwhile.";
	if (row->by.timeouts_cnt)
		return row->by.threads_cnt > 1 ?
			       "Nobody signals the threads that end these waits, so they go on only when they time out: if they wait for what "
			       "these threads hand them, let those signal that." :
			       "Nobody signals the thread that ends these waits, so it goes on only when it times out: if it waits for what "
			       "these threads hand it, let them signal that. A clock that ticks may stay as it is.";
	return NULL;
}

/* It was not ended in the whole window, or not answered. */
static const char *advice_of_no_answer(const struct findings *f, const struct finding *row)
{
	const struct wait *w = profile_wait(f->profile, row->wait);

	if (row->unended)
		return row->unended;
	if (row->reason == REASON_NETWORK_RECEIVE && profile_silent_peer(f->profile, w))
		return SILENT_ADVICE;
	return has_repeated_syn(row) ? advice_of_syns(f, row) : NULL;
}

static bool has_slow_tail(const struct finding *row)
{
	return row->reason == REASON_NETWORK_RECEIVE && !row->limit.limit && !row->timed_out_cnt &&
	       is_mostly_of_few(row);
}

/* By who is at the other end; NULL: that says nothing more. */
static const char *advice_of_other_end(const struct findings *f, const struct finding *row)
{
	const bool computes = row->by.does_ns && (row->by.does == REASON_ON_CPU || row->by.does == REASON_CPU_QUEUE);

	if (row->reason == REASON_NETWORK_RECEIVE && row->by.does_ns && row->by.does == REASON_CPU_QUEUE &&
	    finding_mostly_does(row))
		return "Who answers waits for a CPU itself: see who has the CPUs (record -a --runq-blame). More questions make that longer.";
	/* as in a pipeline */
	if (finding_is_by(f, row, "pipe-write") && computes)
		return "Its reader computes, which bounds both: a CPU profile of it tells more, or let several do it (pigz, xz -T0).";
	if (row->by.pid && !row->by.does_ns && profile_signaller_works(f->profile, row->by.pid, row->by.tid) &&
	    wait_is_for_signal_of_others(f->profile, profile_wait(f->profile, row->wait)))
		return "Who ends these waits is another process, which was busy whenever it was looked at: see what it does so long, with a disk or "
		       "on a CPU (record it, too: its number with -p).";
	/* it has the name of a recorded program, as a server's process for one session */
	if (row->reason == REASON_NETWORK_RECEIVE && row->by.pid && !finding_process_name(f, row->by.pid) &&
	    ANY_ROW(struct thread, t, f->profile->threads, strcmp(t->process, row->by.comm) == 0))
		return "Who answers began meanwhile, or was not chosen, so what it waits for is not in this recording: record --follow, "
		       "or -a.";
	return NULL;
}

/* Whoever answers mostly waits for what a rule knows, as a lock of a database; NULL: it does not. */
static const char *advice_of_what_it_does(const struct findings *f, const struct finding *row)
{
	const bool is_known = row->reason == REASON_NETWORK_RECEIVE && row->by.does_wait && row->by.does_ns &&
			      finding_mostly_does(row);
	const struct rule *rule = is_known ? reasons_rule(f->reasons, row->by.does_wait - 1) : NULL;

	return rule && rule->reason == row->by.does ? rule->advice : NULL;
}

/* It waits for a program of this machine that was not chosen. */
static bool asks_unrecorded(const struct findings *f, const struct finding *row)
{
	const struct object *o = finding_object(f, row);

	return row->reason == REASON_NETWORK_RECEIVE && !is_of_rule(f, row) && o && o->pid &&
	       !f->profile->info.imported && !profile_is_of_machine(f->profile) && !finding_process_name(f, o->pid);
}

/* By who ends it: a disk, a server, whoever answers; NULL: that says nothing more. */
static const char *advice_of_whom(const struct findings *f, const struct finding *row)
{
	const char *advice = is_of_rule(f, row) ? NULL : advice_of_slow_sync(row);

	advice = advice ?: advice_of_what_it_does(f, row) ?: peer_runs_advice_of(f, row);
	advice = advice ?: backlog_advice(f, row) ?: advice_of_server(f, row);
	if (!advice && row->is_unanswered)
		advice = UNANSWERED_ADVICE;
	advice = advice ?: advice_of_other_end(f, row) ?: (row->is_pool_taken ? TAKEN_ADVICE : NULL);
	if (!advice && asks_unrecorded(f, row))
		return UNRECORDED_ADVICE;
	if (!advice && !is_of_rule(f, row) && has_slow_tail(row))
		return "Most answers come soon, and a part takes several times as long, which is most of this time: see which questions these "
		       "are, why the peer takes so long for them, and whether that must be waited for.";
	return advice;
}

const char *sentence_advice(const struct findings *f, const struct finding *row)
{
	if (row->deadlock)
		return advice_of_deadlock(row);
	if (finding_is_for_stopped(row))
		return advice_of_limit(f, row);
	if (row->never_let_go || sentence_is_ended_by_kill(f, row))
		return advice_of_stuck(f, row);
	const char *advice = advice_of_nobody(row);

	if (advice)
		return advice;
	if (row->is_cost)
		return "Look at its memory limit first: page faults and reclaim take that time.";
	if (row->busy == BUSY_ALONE)
		return serial_advice(f);
	if (row->busy == BUSY_REFUSES)
		return full_advice(row);
	if (row->busy)
		return sentence_busy_advice(f, row);
	advice = advice_of_told(f, row) ?: one_command_advice_of(f, row) ?: advice_of_limit(f, row);
	if (advice)
		return advice;
	if (row->reason == REASON_CPU_QUEUE && !row->is_yield)
		return advice_of_queue(f, row);
	if (sentence_is_for_cpu(row))
		return reason_advice(row->reason);
	advice = advice_of_throttled(row) ?: advice_of_loop(f, row);
	if (advice)
		return advice;
	advice = blocked_advice_of(f, row) ?: session_advice(f, row) ?: locked_advice_of(f, row) ?: ends_advice(f, row);
	advice = advice ?: advice_of_holder(f, row) ?: backlog_advice_of_drops(row->backlog);
	if (advice)
		return advice;
	if (row->is_fork)
		return "fork() takes the longer the more memory its process has: start programs with posix_spawn() or vfork(), or from a "
		       "small process.";
	if (row->waited_ns || (row->reason == REASON_SLEEP && row->leads_ns && !is_of_rule(f, row)) ||
	    (row->clock_ns > row->time_ns / 2 && !is_of_rule(f, row) && !pauses_advice(row)))
		return advice_of_clock(row);
	if (row->reason == REASON_SLEEP && !is_of_rule(f, row) && (row->is_poll_loop || pauses_advice(row)))
		return pauses_advice(row) ?: "If it looks whether something has come, wait for that instead; a pause that is meant may stay.";
	advice = advice_of_children(f, row);
	if (advice)
		return advice;
	if (is_of_protocol(f, row, "OpenMP") && row->by.does == REASON_CPU_QUEUE && finding_mostly_does(row))
		return "The others wait for a CPU themselves: fewer threads (OMP_NUM_THREADS), or CPUs that others leave free. "
		       "If one of them has more to do, share out better (schedule(dynamic)).";
	if (row->asks)
		return MISSED_ADVICE;
	if (row->waits_for_asker)
		return "It has nothing to do until the thread that ends these waits goes on: look at what that one waits for.";
	advice = advice_of_ending(f, row) ?: advice_of_resolver(f, row) ?: advice_of_no_answer(f, row);
	if (advice)
		return advice;
	if (finding_is_by(f, row, "connections-*"))	/* it needs one, with or without time limit */
		return reasons_advice(f->reasons, row->wait);
	if (row->is_broadcast)
		return "Wake one thread for one event (signal), or have a condition for each kind of event.";
	advice = advice_of_workers(f, row) ?: advice_of_latest(f, row) ?: advice_of_peers(f, row);
	if (advice)
		return advice;
	if (row->is_poll_loop && !finding_is_by(f, row, "*queue-full") &&
	    (row->reason == REASON_LOCK_CONDITION || row->reason == REASON_LOCK_SEMAPHORE))
		return "A timer ends most of these waits: let who changes the state signal it, and wait without a timeout.";
	if (nagle_has_delayed_acks(f, row))
		return NAGLE_ADVICE;
	if (backlog_is_of_clients(f, row))
		return backlog_advice(f, row);
	advice = advice_at_once(f, row);
	if (advice)
		return advice;
	if (row->is_poll_loop && row->reason == REASON_EVENT_LOOP)
		return "A timer ends most of these waits: wait for the event itself, without a timeout.";
	advice = is_of_rule(f, row) ? NULL : advice_of_timeouts(f, row);
	if (advice)
		return advice;
	if (is_many_small(f, row))
		return MANY_SMALL_ADVICE;
	return advice_by_enders(row, advice_of_whom(f, row) ?: reasons_advice(f->reasons, row->wait));
}
