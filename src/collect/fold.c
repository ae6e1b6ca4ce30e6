/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "collect/fold.h"

#include <string.h>

#include "base/hash.h"
#include "collect/fold_lines.h"
#include "collect/fold_objects.h"
#include "collect/sums.h"

#define TRACERS_FRAMES_MAX 12U

struct fold {
	struct profile *profile;
	struct symbolizer *symbolizer;
	GHashTable *stacks;	/* uint64_t id -> node */
	GHashTable *frames;	/* struct frame_key -> frame id, or place with lines */
	struct fold_lines *lines;	/* NULL: without */
	GHashTable *threads;	/* tno -> index + 1 */
	GHashTable *wakers;	/* uint64_t id -> struct offcpu_rec_waker */
	GHashTable *chains;	/* uint64_t id -> struct offcpu_rec_chain */
	GHashTable *stories;	/* struct offcpu_wait_key -> struct offcpu_chain_sum */
	struct fold_objects *objects;
	struct sums *sums;
	GArray *open;		/* struct open_wait */
	struct offcpu_rec_sleep_path path;	/* of the kernel stack that comes next */
	unsigned max_depth;
	uint32_t pending_user, pending_kernel;	/* nodes of the stacks that never arrived */
	uint32_t lost_thread;	/* index + 1 of the row for threads whose account was lost */
};

/* What a thread was waiting in as the window ended. */
struct open_wait {
	uint64_t ustack, kstack, waker, object;
	uint64_t blocked_ns, runnable_ns, preempted_ns;
	uint32_t thread;
	uint8_t state, flags;
};

/* One address of one program; kernel addresses have pid 0. */
struct frame_key {
	uint64_t ip;
	uint64_t proc_start_ns;
	uint32_t pid, exec_no;
	uint32_t is_return;
};

static guint frame_key_hash(gconstpointer p)
{
	const struct frame_key *k = p;
	uint64_t h = (k->ip ^ k->proc_start_ns) * 0x9e3779b97f4a7c15ULL;

	h ^= ((uint64_t)k->pid << 32 | k->exec_no) * 0xc2b2ae3d27d4eb4fULL;
	return (guint)(h >> 32) ^ k->is_return;
}

static gboolean frame_key_equal(gconstpointer a, gconstpointer b)
{
	const struct frame_key *x = a, *y = b;

	return x->ip == y->ip && x->proc_start_ns == y->proc_start_ns && x->pid == y->pid &&
	       x->exec_no == y->exec_no && x->is_return == y->is_return;
}

static guint wait_key_hash(gconstpointer p)
{
	const struct offcpu_wait_key *k = p;
	uint64_t h = (k->ustack ^ k->kstack << 1 ^ k->waker << 2 ^ k->tno) * 0x9e3779b97f4a7c15ULL;

	return (guint)(h >> 32);
}

static gboolean wait_key_equal(gconstpointer a, gconstpointer b)
{
	return memcmp(a, b, sizeof(struct offcpu_wait_key)) == 0;
}

struct fold *fold_new(struct profile *profile, struct symbolizer *symbolizer, unsigned max_depth)
{
	struct fold *f = g_new0(struct fold, 1);

	f->max_depth = max_depth ? max_depth : OFFCPU_MAX_DEPTH;

	f->profile = profile;
	f->symbolizer = symbolizer;
	f->stacks = g_hash_table_new_full(hash_u64, g_int64_equal, g_free, NULL);
	f->frames = g_hash_table_new_full(frame_key_hash, frame_key_equal, g_free, NULL);
	f->threads = g_hash_table_new(NULL, NULL);
	f->wakers = g_hash_table_new_full(hash_u64, g_int64_equal, NULL, g_free);
	f->chains = g_hash_table_new_full(hash_u64, g_int64_equal, NULL, g_free);
	f->stories = g_hash_table_new_full(wait_key_hash, wait_key_equal, g_free, g_free);
	f->objects = fold_objects_new(profile, "/proc", "/usr/lib/debug");
	f->sums = sums_new();
	f->open = g_array_new(FALSE, FALSE, sizeof(struct open_wait));
	return f;
}

void fold_free(struct fold *f)
{
	if (!f)
		return;
	fold_lines_free(f->lines);
	g_hash_table_destroy(f->stacks);
	g_hash_table_destroy(f->frames);
	g_hash_table_destroy(f->threads);
	g_hash_table_destroy(f->wakers);
	g_hash_table_destroy(f->chains);
	g_hash_table_destroy(f->stories);
	fold_objects_free(f->objects);
	sums_free(f->sums);
	g_array_unref(f->open);
	g_free(f);
}

void fold_with_lines(struct fold *f)
{
	symbolizer_keep_lines(f->symbolizer);
	f->lines = fold_lines_new(f->profile, f->symbolizer);
}

/* The frame's id, or that of its place with lines. */
static uint32_t spot_id(struct fold *f, const struct offcpu_rec_stack *rec, uint64_t ip, bool is_return)
{
	struct frame_key key = { ip, rec->proc_start_ns, rec->pid, rec->exec_no, is_return };
	struct symbol symbol = { 0 };
	gpointer found;

	if (g_hash_table_lookup_extended(f->frames, &key, NULL, &found))
		return GPOINTER_TO_UINT(found);
	if (rec->is_user) {
		symbolizer_user(f->symbolizer, rec->pid, rec->ts_ns, ip, is_return, &symbol);
		/* the kernel returns to a signal's trampoline, not into the middle of a function */
		if (!symbol.name && is_return) {
			struct symbol start = { 0 };
			symbolizer_user(f->symbolizer, rec->pid, rec->ts_ns, ip, false, &start);
			if (start.name && !start.symbol_offset)
				symbol = start;
		}
	} else {
		symbolizer_kernel(f->symbolizer, ip, is_return, &symbol);
	}
	/*
	 * A named frame is its function, not the place in it: a thread preempted at a thousand
	 * instructions of one loop is one stack.  An unnamed one keeps the place, to be named later.
	 */
	struct frame frame = {
		.name = symbol.name, .module = symbol.module,
		.offset = symbol.name ? symbol.offset - symbol.symbol_offset : symbol.offset,
		.why = symbol.why, .kind = rec->is_user ? FRAME_USER : FRAME_KERNEL,
	};
	uint32_t id = profile_frame(f->profile, &frame);

	if (f->lines)
		id = fold_lines_place(f->lines, &symbol, id);
	/* Mappings that could not be read may be readable for the next stack. */
	if (frame.why != FRAME_PROCESS_GONE && frame.why != FRAME_NOT_MAPPED)
		g_hash_table_insert(f->frames, g_memdup2(&key, sizeof(key)), GUINT_TO_POINTER(id));
	return id;
}

static uint32_t frame_of(const struct fold *f, uint32_t spot)
{
	return f->lines ? fold_lines_frame(f->lines, spot) : spot;
}

static bool is_libc(const char *module)
{
	g_autofree char *base = module ? g_path_get_basename(module) : NULL;

	return base && (g_str_has_prefix(base, "libc.so") || g_str_has_prefix(base, "libc-2.") ||
			g_str_has_prefix(base, "libpthread") || g_str_has_prefix(base, "ld-musl"));
}

/*
 * Did a user stack reach the thread's start?  By name, or, since distributions strip the
 * names of __libc_start_call_main() and start_thread(), by the outermost return address
 * lying in libc while its callee, main() or the thread's function, does not.
 */
static enum stack_end user_stack_end(const struct profile *p, const uint32_t *frames, unsigned cnt)
{
	const struct frame *last = profile_get_frame(p, frames[cnt - 1]);

	if (last->name && symbol_is_thread_start(last->name))
		return STACK_COMPLETE;
	if (cnt >= 2 && is_libc(last->module) &&
	    !is_libc(profile_get_frame(p, frames[cnt - 2])->module))
		return STACK_COMPLETE;
	return STACK_BROKEN;
}

static enum stack_end stack_end_of(const struct fold *f, const struct offcpu_rec_stack *rec,
				   const uint32_t *frames, unsigned cnt)
{
	if (rec->end == OFFCPU_WALK_CUT || cnt > f->max_depth)
		return STACK_TRUNCATED;
	if (rec->end == OFFCPU_WALK_COMPLETE)
		return STACK_COMPLETE;
	return rec->is_user ? user_stack_end(f->profile, frames, cnt) : STACK_BROKEN;
}

/* Words that are no code: where a walk by frame pointers went astray it reads whatever lies there. */
static unsigned cut_astray(const struct profile *p, const uint32_t *frames, unsigned cnt)
{
	while (cnt > 1 && profile_get_frame(p, frames[cnt - 1])->why == FRAME_NOT_MAPPED)
		cnt--;
	return cnt;
}

void fold_sleep_path(struct fold *f, const struct offcpu_rec_sleep_path *rec, size_t size)
{
	if (size >= sizeof(*rec) && rec->cnt <= OFFCPU_SLEEP_PATH_MAX)
		f->path = *rec;
}

static uint64_t kernel_function_start(struct fold *f, uint64_t ip)
{
	uint64_t start;
	const char *name;

	return symbolizer_kernel_function(f->symbolizer, ip, &name, &start) ? start : 0;
}

static bool is_schedule(struct fold *f, uint64_t ip)
{
	uint64_t start;
	const char *name;

	return symbolizer_kernel_function(f->symbolizer, ip, &name, &start) &&
	       g_str_has_prefix(name, "__schedule") && (name[10] == '\0' || name[10] == '.');
}

/*
 * The frames between the thread's resting place in __schedule() and the innermost frame of
 * its walk, from the words found there.  A word is taken for a frame only when the call
 * before it calls the function of the frame taken last, so a stale word cannot pass unless
 * it lies about nothing; and the chain must meet the walk.  Returns how many, innermost first.
 */
static unsigned sleep_path(struct fold *f, const struct offcpu_rec_stack *rec, uint64_t *ret_ip)
{
	const struct offcpu_rec_sleep_path *path = &f->path;
	uint64_t function = 0;
	unsigned cnt = 0;

	if (path->id != rec->id || !path->cnt || path->word[path->cnt - 1] != rec->ip[0])
		return 0;
	for (unsigned i = 0; i + 1 < path->cnt; i++) {
		if (cnt ? path->callee[i] != function : !is_schedule(f, path->word[i]))
			continue;
		ret_ip[cnt++] = path->word[i];
		function = kernel_function_start(f, path->word[i]);
		if (!function)
			return 0;
	}
	/* met exactly, or through a function that jumped instead of calling */
	uint64_t met = path->callee[path->cnt - 1];
	return met == function || (met && kernel_function_start(f, met + 1) == met) ? cnt : 0;
}

/*
 * How many innermost frames of a waker's kernel stack are the tracepoint's and our own program's:
 * that walk began inside of them.
 */
static unsigned tracers_frames(struct fold *f, const struct offcpu_rec_stack *rec)
{
	static const char *const outermost[] = { "__traceiter_sched_waking", "__bpf_trace_sched_waking",
						 "__bpf_trace_sched_wakeup_template", "bpf_trace_run1" };
	unsigned skip = 0;

	for (unsigned i = 0; i < MIN(rec->depth, TRACERS_FRAMES_MAX); i++) {
		uint64_t start;
		const char *name;

		if (!rec->ip[i])
			skip = i + 1;	/* the programs knew them */
		if (!symbolizer_kernel_function(f->symbolizer, rec->ip[i], &name, &start))
			continue;
		for (size_t k = 0; k < G_N_ELEMENTS(outermost); k++)
			if (g_str_has_prefix(name, outermost[k]))
				skip = i + 1;
	}
	return skip < rec->depth ? skip : 0;
}

void fold_stack(struct fold *f, const struct offcpu_rec_stack *rec, size_t size)
{
	uint32_t frames[OFFCPU_MAX_DEPTH + OFFCPU_SLEEP_PATH_MAX], spots[G_N_ELEMENTS(frames)], node = 0;
	uint64_t inner[OFFCPU_SLEEP_PATH_MAX];
	unsigned cnt = 0;

	if (size < offsetof(struct offcpu_rec_stack, ip) || rec->depth == 0 ||
	    rec->depth > OFFCPU_MAX_DEPTH ||
	    size < offsetof(struct offcpu_rec_stack, ip) + rec->depth * sizeof(rec->ip[0])) {
		profile_add_loss(f->profile, "bad_record", "a record of impossible size was dropped", 1, 0);
		return;
	}
	if (g_hash_table_contains(f->stacks, &rec->id))
		return;
	unsigned inner_cnt = rec->is_user ? 0 : sleep_path(f, rec, inner);
	for (unsigned i = 0; i < inner_cnt; i++)
		spots[cnt++] = spot_id(f, rec, inner[i], true);
	for (unsigned i = rec->is_user ? 0 : tracers_frames(f, rec); i < rec->depth; i++)
		spots[cnt++] = spot_id(f, rec, rec->ip[i], i > 0 || !rec->is_user);
	for (unsigned i = 0; i < cnt; i++)
		frames[i] = frame_of(f, spots[i]);
	unsigned mapped_cnt = rec->is_user ? cut_astray(f->profile, frames, cnt) : cnt;
	enum stack_end end = mapped_cnt < cnt ? STACK_BROKEN : stack_end_of(f, rec, frames, cnt);
	cnt = MIN(mapped_cnt, f->max_depth);
	if (f->lines) {
		fold_lines_stack(f->lines, rec->id, spots, cnt, end);
	} else {
		for (unsigned i = cnt; i-- > 0;)
			node = profile_node(f->profile, node, frames[i]);
		g_array_index(f->profile->nodes, struct stack_node, node).end = (uint8_t)end;
	}
	g_hash_table_insert(f->stacks, g_memdup2(&rec->id, sizeof(rec->id)), GUINT_TO_POINTER(node));
}

static const char *comm_string(struct profile *p, const char *comm)
{
	char text[OFFCPU_COMM_LEN + 1] = { 0 };

	memcpy(text, comm, OFFCPU_COMM_LEN);
	if (g_utf8_validate(text, -1, NULL))
		return profile_string(p, text);
	g_autofree char *valid = g_utf8_make_valid(text, -1);
	return profile_string(p, valid);
}

static void add_times(struct thread *t, const struct offcpu_state_total *total)
{
	t->blocked_ns += total->blocked_ns;
	t->runnable_ns += total->runnable_ns;
	t->preempted_ns += total->preempted_ns;
}

void fold_thread(struct fold *f, const struct offcpu_rec_thread *rec, size_t size)
{
	const struct offcpu_account *account = &rec->account;

	if (size < sizeof(*rec) || rec->to_ns < rec->from_ns) {
		profile_add_loss(f->profile, "bad_record", "a record of impossible size was dropped", 1, 0);
		return;
	}
	struct thread t = {
		.pid = rec->pid, .tid = rec->tid, .start_ns = rec->start_ns,
		.comm = comm_string(f->profile, rec->comm),
		.process = comm_string(f->profile, rec->process),
		.flags = (rec->flags & OFFCPU_THREAD_KERNEL ? THREAD_KERNEL : 0) |
			 (rec->end == OFFCPU_END_EXIT ? THREAD_EXITED : 0) |
			 (rec->end == OFFCPU_END_EXEC ? THREAD_EXECED : 0) |
			 (rec->open_flags & OFFCPU_OPEN_AT_START ? THREAD_OPEN_AT_START : 0) |
			 (rec->open_state ? THREAD_OPEN_AT_END : 0),
		.from_ns = rec->from_ns, .to_ns = rec->to_ns,
		.on_cpu_ns = account->on_cpu_ns, .lost_ns = account->lost_ns, .switches = account->switches,
		.filtered_ns = account->filtered.blocked_ns + account->filtered.runnable_ns + account->filtered.preempted_ns,
	};
	add_times(&t, &account->filtered);
	for (unsigned i = 0; i < OFFCPU_STATE_COUNT; i++)
		add_times(&t, &account->state[i]);
	uint32_t index = profile_add_thread(f->profile, &t);

	for (unsigned i = 0; i < OFFCPU_STATE_COUNT; i++) {
		const struct offcpu_state_total *total = &account->state[i];
		const struct state_total own = {
			.thread = index, .state = (uint8_t)OFFCPU_STATE_LETTERS[i], .count = total->count,
			.blocked_ns = total->blocked_ns, .runnable_ns = total->runnable_ns,
			.preempted_ns = total->preempted_ns,
		};
		if (own.count)
			profile_add_state(f->profile, &own);
	}

	g_hash_table_insert(f->threads, GUINT_TO_POINTER(rec->tno), GUINT_TO_POINTER(index + 1));
	if (!rec->open_state)
		return;
	const struct open_wait open = {
		.ustack = rec->open_ustack, .kstack = rec->open_kstack,
		.waker = rec->open_waker, .object = rec->open_object,
		.blocked_ns = rec->open_blocked_ns, .runnable_ns = rec->open_runnable_ns,
		.preempted_ns = rec->open_preempted_ns,
		.thread = index, .state = rec->open_state, .flags = rec->open_flags,
	};
	g_array_append_val(f->open, open);
}

void fold_waker(struct fold *f, const struct offcpu_rec_waker *rec, size_t size)
{
	if (size < sizeof(*rec)) {
		profile_add_loss(f->profile, "bad_record", "a record of impossible size was dropped", 1, 0);
		return;
	}
	if (g_hash_table_contains(f->wakers, &rec->id))
		return;
	struct offcpu_rec_waker *own = g_memdup2(rec, sizeof(*rec));

	g_hash_table_insert(f->wakers, &own->id, own);
}

void fold_chain(struct fold *f, const struct offcpu_rec_chain *rec, size_t size)
{
	if (size < sizeof(*rec) || !rec->cnt || rec->cnt > OFFCPU_CHAIN_MAX || !rec->end ||
	    rec->end >= OFFCPU_CHAIN_END_COUNT || rec->loop_to >= rec->cnt) {
		profile_add_loss(f->profile, "bad_record", "a record of impossible size was dropped", 1, 0);
		return;
	}
	if (g_hash_table_contains(f->chains, &rec->id))
		return;
	struct offcpu_rec_chain *own = g_memdup2(rec, sizeof(*rec));

	g_hash_table_insert(f->chains, &own->id, own);
}

void fold_chain_sum(struct fold *f, const struct offcpu_wait_key *key, const struct offcpu_chain_sum *sum)
{
	struct offcpu_chain_sum *mine = g_hash_table_lookup(f->stories, key);

	if (!mine) {
		g_hash_table_insert(f->stories, g_memdup2(key, sizeof(*key)), g_memdup2(sum, sizeof(*sum)));
		return;
	}
	for (unsigned i = 0; i < OFFCPU_CHAIN_MAX; i++) {
		mine->hop[i].ran_ns += sum->hop[i].ran_ns;
		mine->hop[i].runnable_ns += sum->hop[i].runnable_ns;
		mine->hop[i].earlier_ns += sum->hop[i].earlier_ns;
	}
	mine->rest_ns += sum->rest_ns;
}

void fold_object(struct fold *f, const struct offcpu_rec_object *rec, size_t size)
{
	fold_objects_add(f->objects, rec, size);
}

void fold_sum(struct fold *f, const struct offcpu_wait_key *key, const struct offcpu_wait_sum *sum)
{
	sums_add(f->sums, key, sum);
}

/* The stand-in for a stack that never arrived: one frame that says so. */
static uint32_t pending_node(struct fold *f, uint8_t kind)
{
	uint32_t *node = kind == FRAME_USER ? &f->pending_user : &f->pending_kernel;
	struct frame frame = { .kind = kind, .why = FRAME_PENDING };

	if (!*node) {
		*node = profile_node(f->profile, 0, profile_frame(f->profile, &frame));
		g_array_index(f->profile->nodes, struct stack_node, *node).end = STACK_PENDING;
	}
	return *node;
}

bool fold_find(const struct fold *f, uint64_t id, uint32_t *ret_node)
{
	gpointer found;

	if (!g_hash_table_lookup_extended(f->stacks, &id, NULL, &found))
		return false;
	*ret_node = GPOINTER_TO_UINT(found);
	return true;
}

bool fold_find_thread(const struct fold *f, uint32_t tno, uint32_t *ret_thread)
{
	uint32_t index = GPOINTER_TO_UINT(g_hash_table_lookup(f->threads, GUINT_TO_POINTER(tno)));

	if (index)
		*ret_thread = index - 1;
	return index;
}

static uint32_t node_of(struct fold *f, uint64_t id, uint8_t kind)
{
	uint32_t node;

	if (!id)
		return 0;
	return fold_find(f, id, &node) ? node : pending_node(f, kind);
}

/* Does a frame of the kernel stack have a name that begins so? */
static bool stack_names(const struct profile *p, uint32_t node, const char *prefix)
{
	for (; node; node = profile_get_node(p, node)->parent) {
		const struct frame *fr = profile_get_frame(p, profile_get_node(p, node)->frame);

		if (fr->name && g_str_has_prefix(fr->name, prefix))
			return true;
	}
	return false;
}

/* What runs a thread in the kernel has none of; outside of these two no interrupt is a timer. */
static bool is_timer(const struct profile *p, uint32_t kernel)
{
	return stack_names(p, kernel, "__hrtimer_run_queues") || stack_names(p, kernel, "call_timer_fn") ||
	       stack_names(p, kernel, "__run_timers");
}

static char *softirq_name(const struct profile *p, int nr, uint32_t kernel)
{
	/* include/linux/interrupt.h; in this order since Linux 4.11 */
	static const char *const vectors[] = { "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL",
					       "TASKLET", "SCHED", "HRTIMER", "RCU" };

	if (is_timer(p, kernel) || nr == 1 || nr == 8)
		return g_strdup("timer");
	return nr >= 0 && nr < (int)G_N_ELEMENTS(vectors) ? g_strconcat("softirq:", vectors[nr], NULL) :
							    g_strdup("softirq");
}

/* "irq:virtio0", "softirq:NET_RX", "timer", "ipi"; NULL for a thread. */
static char *plain_irq_name(const struct profile *p, const struct offcpu_rec_waker *rec, uint32_t kernel)
{
	char device[OFFCPU_IRQ_NAME_LEN + 1] = { 0 };

	memcpy(device, rec->irq_name, OFFCPU_IRQ_NAME_LEN);
	if (rec->kind == OFFCPU_WAKER_SOFTIRQ)
		return softirq_name(p, rec->nr, kernel);
	if (rec->kind == OFFCPU_WAKER_NMI)
		return g_strdup("nmi");
	if (rec->kind == OFFCPU_WAKER_TASK && rec->tid)
		return NULL;
	if (rec->nr >= 0)
		return device[0] ? g_strconcat("irq:", device, NULL) : g_strdup_printf("irq:%d", rec->nr);
	if (rec->vector == OFFCPU_VECTOR_TIMER || is_timer(p, kernel))
		return g_strdup("timer");
	if (rec->vector == OFFCPU_VECTOR_IRQ_WORK)
		return g_strdup("irq_work");
	if (rec->vector == OFFCPU_VECTOR_IPI)
		return g_strdup("ipi");
	/* behind its handler, as it wakes ksoftirqd */
	if (stack_names(p, kernel, "sysvec_apic_timer_interrupt"))
		return g_strdup("timer");
	if (stack_names(p, kernel, "sysvec_call_function") || stack_names(p, kernel, "sysvec_reschedule_ipi") ||
	    stack_names(p, kernel, "__flush_smp_call_function_queue") ||
	    stack_names(p, kernel, "flush_smp_call_function_queue") ||
	    stack_names(p, kernel, "generic_smp_call_function") || stack_names(p, kernel, "irq_work_run"))
		return g_strdup("ipi");
	/* the idle thread, which is no thread, or an interrupt without a number */
	return g_strdup(rec->kind == OFFCPU_WAKER_TASK ? "idle" : "irq");
}

/*
 * The same, with the disk whose request has just been completed: "softirq:BLOCK(vda)".  An interrupt may go on to
 * wake for other reasons; what is done for the request has the block layer on its stack.
 */
static char *irq_name(const struct profile *p, const struct offcpu_rec_waker *rec, uint32_t kernel)
{
	g_autofree char *name = plain_irq_name(p, rec, kernel);

	if (!name || !rec->comm[0] || (rec->kind != OFFCPU_WAKER_SOFTIRQ && rec->kind != OFFCPU_WAKER_HARDIRQ) ||
	    !(stack_names(p, kernel, "blk_") || stack_names(p, kernel, "bio_endio")))
		return g_steal_pointer(&name);
	return g_strdup_printf("%s(%.*s)", name, OFFCPU_COMM_LEN, rec->comm);
}

/*
 * The part of a kernel stack that is the interrupt's: what lies outside of its entry (asm_*) is the
 * interrupted thread's.  The entry too: it is there only where the interrupt came in user mode, and that
 * is no difference in who woke.
 */
static uint32_t cut_interrupted(struct profile *p, uint32_t kernel)
{
	g_autoptr(GArray) frames = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	uint32_t node = 0;

	for (uint32_t n = kernel; n; n = profile_get_node(p, n)->parent) {
		uint32_t frame = profile_get_node(p, n)->frame;
		const char *name = profile_get_frame(p, frame)->name;

		if (!name || !g_str_has_prefix(name, "asm_") || !frames->len) {
			g_array_append_val(frames, frame);
			continue;
		}
		for (guint i = frames->len; i-- > 0;)
			node = profile_node(p, node, g_array_index(frames, uint32_t, i));
		profile_stack_end(p, node, STACK_COMPLETE);
		return node;
	}
	return kernel;
}

/*
 * Was an interrupt's handler at work, one that no tracepoint speaks of?  What a thread does on its way
 * back to user mode from an interrupt, such as to die of a signal, is its own work.
 */
static bool in_handler(const struct profile *p, uint32_t kernel)
{
	for (uint32_t n = kernel; n; n = profile_get_node(p, n)->parent) {
		const char *name = profile_get_frame(p, profile_get_node(p, n)->frame)->name;

		if (!name)
			continue;
		if (g_str_has_prefix(name, "irqentry_exit"))
			return false;
		if (g_str_has_prefix(name, "sysvec_") || g_str_has_prefix(name, "__sysvec_") ||
		    g_str_has_prefix(name, "common_interrupt") || g_str_has_prefix(name, "__common_interrupt"))
			return true;
	}
	return false;
}

bool fold_find_waker(struct fold *f, uint64_t id, uint32_t *ret_waker)
{
	const struct offcpu_rec_waker *rec = id ? g_hash_table_lookup(f->wakers, &id) : NULL;

	if (!rec)
		return false;
	uint32_t kernel = node_of(f, rec->kstack, FRAME_KERNEL);
	bool is_thread = rec->kind == OFFCPU_WAKER_TASK && rec->tid && !in_handler(f->profile, kernel);
	struct offcpu_rec_waker interrupt = *rec;

	if (!is_thread && rec->kind == OFFCPU_WAKER_TASK && rec->tid) {
		interrupt.kind = OFFCPU_WAKER_HARDIRQ;
		interrupt.pid = interrupt.tid = 0;
		interrupt.ustack = interrupt.start_ns = 0;
		interrupt.comm[0] = 0;
		rec = &interrupt;
	}
	struct waker w = {
		.pid = rec->pid, .tid = rec->tid, .start_ns = rec->start_ns,
		.user = node_of(f, rec->ustack, FRAME_USER), .kernel = kernel,
	};

	if (!is_thread)
		w.kernel = cut_interrupted(f->profile, w.kernel);
	g_autofree char *irq = irq_name(f->profile, rec, w.kernel);

	w.irq = irq;
	w.comm = irq ? "" : comm_string(f->profile, rec->comm);
	*ret_waker = profile_waker(f->profile, &w);
	return true;
}

/* The wakers of a chain, nearest first; an interrupt ends it.  0: the first one is not known. */
static unsigned chain_wakers(struct fold *f, const struct offcpu_rec_chain *rec, uint32_t *ret_wakers, uint8_t *ret_end)
{
	unsigned cnt = 0;

	*ret_end = rec->end;	/* the same numbers */
	while (cnt < rec->cnt) {
		if (!fold_find_waker(f, rec->waker[cnt], &ret_wakers[cnt])) {
			*ret_end = CHAIN_UNKNOWN;
			break;
		}
		if (profile_get_waker(f->profile, ret_wakers[cnt++])->irq) {
			*ret_end = CHAIN_INTERRUPT;
			break;
		}
	}
	return cnt;
}

static uint32_t add_chain(struct profile *p, const uint32_t *wakers, unsigned cnt, uint8_t end, unsigned loop_to)
{
	uint32_t id = 0;

	for (unsigned i = cnt; i-- > 0;) {
		const struct chain_node c = {
			.waker = wakers[i], .next = i + 1 < cnt ? id + 1 : 0,
			.end = i + 1 < cnt ? CHAIN_GOES_ON : end,
			.loop_steps = i + 1 < cnt || end != CHAIN_LOOP ? 0 : (uint8_t)(cnt - loop_to),
		};
		id = profile_chain(p, &c);
	}
	return id;
}

/*
 * The kernel's sums as the story: cut to the wakers that are in it, and to the wait's time, which sampling
 * rounds in another way.  What nothing was said about is the first waker's time.  is_cut: the kernel's
 * chain is longer.
 */
static void tell_story(const struct profile *p, const uint32_t *wakers, unsigned cnt, bool is_cut,
		       const struct offcpu_chain_sum *sum, struct story *story)
{
	const struct offcpu_chain_sum none = { 0 };
	uint64_t left_ns = story->blocked_ns;

	if (!sum)
		sum = &none;
	for (unsigned i = 0; i < cnt; i++) {
		struct hop *hop = &story->hop[i];

		if (profile_get_waker(p, wakers[i])->irq)
			break;
		hop->ran_ns = MIN(sum->hop[i].ran_ns, left_ns);
		left_ns -= hop->ran_ns;
		hop->runnable_ns = MIN(sum->hop[i].runnable_ns, left_ns);
		left_ns -= hop->runnable_ns;
		hop->earlier_ns = MIN(sum->hop[i].earlier_ns, left_ns);
		left_ns -= hop->earlier_ns;
	}
	story->rest_ns = MIN(sum->rest_ns, left_ns);
	left_ns -= story->rest_ns;
	if (is_cut || profile_get_waker(p, wakers[0])->irq)
		story->rest_ns += left_ns;
	else
		story->hop[0].ran_ns += left_ns;
}

/* What ended the waits of *k; with chains the kernel's id is a chain's. */
static void add_wake(struct fold *f, struct wake *k, uint64_t id, const struct offcpu_chain_sum *sum)
{
	const struct offcpu_rec_chain *rec = id ? g_hash_table_lookup(f->chains, &id) : NULL;
	struct story story = { .count = k->count, .blocked_ns = k->blocked_ns, .runnable_ns = k->runnable_ns };
	uint32_t wakers[OFFCPU_CHAIN_MAX];
	unsigned cnt;
	uint8_t end;

	if (!rec) {
		if (fold_find_waker(f, id, &k->waker))
			profile_add_wake(f->profile, k);
		return;
	}
	cnt = chain_wakers(f, rec, wakers, &end);
	if (!cnt)
		return;
	k->waker = wakers[0];
	story.wake = profile_add_wake(f->profile, k);
	story.chain = add_chain(f->profile, wakers, cnt, end, rec->loop_to);
	tell_story(f->profile, wakers, cnt, cnt < rec->cnt, sum, &story);
	profile_add_story(f->profile, &story);
}

/* Waits of threads whose account was lost must not vanish with it: they share one row. */
static uint32_t lost_thread(struct fold *f, const struct wait *w)
{
	if (!f->lost_thread) {
		struct thread t = {
			.comm = profile_string(f->profile, "[lost]"),
			.process = profile_string(f->profile, "[lost]"),
			.from_ns = f->profile->info.start_ns, .to_ns = f->profile->info.start_ns,
			.flags = THREAD_EXITED,
		};
		f->lost_thread = profile_add_thread(f->profile, &t) + 1;
	}
	struct thread *t = &g_array_index(f->profile->threads, struct thread, f->lost_thread - 1);
	t->to_ns += wait_off_cpu_ns(w);
	t->blocked_ns += w->blocked_ns;
	t->runnable_ns += w->runnable_ns;
	t->preempted_ns += w->preempted_ns;
	return f->lost_thread - 1;
}

static void finish_sum(struct fold *f, const struct offcpu_wait_key *key, const struct sums_total *sum)
{
	uint32_t index = GPOINTER_TO_UINT(g_hash_table_lookup(f->threads, GUINT_TO_POINTER(key->tno)));
	struct wait w = {
		.user = node_of(f, key->ustack, FRAME_USER), .kernel = node_of(f, key->kstack, FRAME_KERNEL),
		.state = key->state,
		.flags = key->flags & OFFCPU_OPEN_AT_START ? WAIT_OPEN_AT_START : 0,
		.count = sum->count, .blocked_ns = sum->blocked_ns, .runnable_ns = sum->runnable_ns,
		.preempted_ns = sum->preempted_ns, .max_ns = sum->max_ns, .off_cpu_se_ns = sum->off_cpu_se_ns,
	};

	memcpy(w.hist, sum->hist, sizeof(w.hist));
	w.object = fold_objects_wait(f->objects, key->object, w.user, w.kernel);
	w.thread = index ? index - 1 : lost_thread(f, &w);
	if (w.flags & WAIT_OPEN_AT_START)
		g_array_index(f->profile->threads, struct thread, w.thread).flags |= THREAD_OPEN_AT_START;
	uint32_t wait = profile_add_wait(f->profile, &w);

	if (!key->waker)
		return;
	struct wake k = {
		.wait = wait, .count = sum->count, .blocked_ns = sum->blocked_ns, .runnable_ns = sum->runnable_ns,
	};

	memcpy(k.hist, sum->wake_hist, sizeof(sum->wake_hist));
	add_wake(f, &k, key->waker, g_hash_table_lookup(f->stories, key));
}

static void finish_open(struct fold *f, const struct open_wait *open)
{
	uint64_t total = open->blocked_ns + open->runnable_ns + open->preempted_ns;
	struct wait w = {
		.thread = open->thread,
		.user = node_of(f, open->ustack, FRAME_USER),
		.kernel = node_of(f, open->kstack, FRAME_KERNEL),
		.state = open->state,
		.flags = WAIT_OPEN_AT_END | (open->flags & OFFCPU_OPEN_AT_START ? WAIT_OPEN_AT_START : 0),
		.count = 1, .blocked_ns = open->blocked_ns, .runnable_ns = open->runnable_ns,
		.preempted_ns = open->preempted_ns, .max_ns = total,
	};
	w.hist[profile_hist_slot(total)] = 1;
	w.object = fold_objects_wait(f->objects, open->object, w.user, w.kernel);
	uint32_t wait = profile_add_wait(f->profile, &w);

	if (!open->waker)
		return;
	struct wake k = {
		.wait = wait, .count = 1, .blocked_ns = open->blocked_ns, .runnable_ns = open->runnable_ns,
	};

	k.hist[profile_hist_slot(open->runnable_ns)] = 1;
	add_wake(f, &k, open->waker, NULL);
}

bool fold_lacks_thread(const struct fold *f)
{
	size_t cnt = sums_cnt(f->sums);

	for (size_t i = 0; i < cnt; i++)
		if (!g_hash_table_contains(f->threads, GUINT_TO_POINTER(sums_tno(f->sums, i))))
			return true;
	return false;
}

void fold_finish(struct fold *f)
{
	size_t cnt = sums_cnt(f->sums);

	if (f->lines)
		fold_lines_finish(f->lines, f->stacks);
	profile_expect_waits(f->profile, (guint)(cnt + f->open->len));
	for (size_t i = 0; i < cnt; i++) {
		struct sums_total sum;
		const struct offcpu_wait_key *key = sums_get(f->sums, i, &sum);

		finish_sum(f, key, &sum);
	}
	sums_free(f->sums);
	f->sums = NULL;
	for (guint i = 0; i < f->open->len; i++)
		finish_open(f, &g_array_index(f->open, struct open_wait, i));
	g_array_set_size(f->open, 0);
}

uint64_t fold_stack_cnt(const struct fold *f)
{
	return g_hash_table_size(f->stacks);
}
