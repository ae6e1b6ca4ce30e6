/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "fold/fold.h"

#include "base/find.h"
#include "base/opener/opener.h"
#include "fold/objects.h"
#include "fold/targets/targets.h"
#include "fold/parts.h"
#include "fold/services.h"
#include "fold/stacks.h"
#include "fold/sums.h"
#include "features/traces/fold.h"
#include "features/wakers/fold.h"

struct fold *fold_new(struct profile *profile, struct symbolizer *symbolizer, unsigned max_depth)
{
	struct fold *f = g_new0(struct fold, 1);

	f->profile = profile;
	f->stacks = fold_stacks_new(profile, symbolizer, max_depth);
	f->wakers = fold_wakers_new(profile, f->stacks);
	f->objects = fold_objects_new(profile, "/proc", "/usr/lib/debug");
	f->targets = fold_targets_new(profile, "/proc");
	f->kernel_locks = fold_kernel_locks_new(profile, symbolizer, "/proc");
	f->on_cpu = fold_on_cpu_new();
	f->threads = g_hash_table_new(NULL, NULL);
	f->sums = sums_new();
	f->traces = fold_traces_new();
	f->open = g_array_new(FALSE, FALSE, sizeof(struct open_wait));
	f->throttled = g_array_new(FALSE, FALSE, sizeof(struct blame));
	f->owners = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	return f;
}

FREES(fold_free, struct fold, f, fold_wakers_free(f->wakers); fold_objects_free(f->objects);
      fold_targets_free(f->targets); fold_kernel_locks_free(f->kernel_locks); fold_on_cpu_free(f->on_cpu);
      fold_stacks_free(f->stacks); g_hash_table_destroy(f->threads); sums_free(f->sums); fold_traces_free(f->traces);
      fold_slices_free(f->slices); fold_services_free(f->services); g_array_unref(f->open);
      g_array_unref(f->throttled); g_array_unref(f->owners))

void fold_with_lines(struct fold *f)
{
	fold_stacks_with_lines(f->stacks);
}

void fold_with_services(struct fold *f)
{
	f->services = fold_services_new(f->profile, "/proc");
}

void fold_stack(struct fold *f, const struct offcpu_rec_stack *rec, size_t size)
{
	fold_stacks_add(f->stacks, rec, size);
}

void fold_language(struct fold *f, const void *rec, size_t size)
{
	fold_stacks_add_language(f->stacks, rec, size);
}

void fold_context(struct fold *f, const void *rec, size_t size)
{
	fold_stacks_add_context(f->stacks, rec, size);
}

bool fold_route(struct fold *f, const void *record, size_t size, struct fold_route *ret)
{
	const struct offcpu_rec_context *rec = record;
	g_autofree char *comm = NULL;

	*ret = (struct fold_route){ .text = g_string_new(NULL) };
	ret->calls_itself = fold_stacks_route(f->stacks, rec, size, ret->text);
	if (!fold_contexts_is_sound(rec, size)) {
		fold_drop_record(f->profile);
		return false;
	}
	comm = opener_process_text("/proc", rec->pid, "comm");
	if (!comm)
		return true;
	ret->process = fold_comm(f->profile, g_strchomp(comm));
	if (f->services)
		ret->service = fold_services_name(f->services, rec->pid, rec->proc_start_ns, ret->process, 0, false);
	return true;
}

void fold_trace(struct fold *f, const void *rec, size_t size)
{
	if (!fold_traces_add(f->traces, rec, size))
		fold_drop_record(f->profile);
}

void fold_gil(struct fold *f, const void *record, size_t size)
{
	const struct offcpu_rec_language *rec = record;
	g_autoptr(GString) place = g_string_new(NULL);

	if (size < offsetof(struct offcpu_rec_language, frame) || rec->depth > OFFCPU_GIL_DEPTH ||
	    size < offsetof(struct offcpu_rec_language, frame) + rec->depth * sizeof(rec->frame[0])) {
		fold_drop_record(f->profile);
		return;
	}
	fold_stacks_append_holder(f->stacks, rec, place);
	fold_objects_add_gil(f->objects, rec, place->str);
}

void fold_sleep_path(struct fold *f, const struct offcpu_rec_sleep_path *rec, size_t size)
{
	fold_stacks_add_path(f->stacks, rec, size);
}

void fold_waker(struct fold *f, const void *rec, size_t size)
{
	fold_wakers_add(f->wakers, rec, size);
}

void fold_chain(struct fold *f, const void *rec, size_t size)
{
	fold_wakers_add_chain(f->wakers, rec, size);
}

void fold_sleep(struct fold *f, const void *rec, size_t size)
{
	fold_wakers_add_sleep(f->wakers, rec, size);
}

/* The key under which fold_sum() has added. */
static struct offcpu_wait_key key_now(const struct fold *f, const struct offcpu_wait_key *key)
{
	struct offcpu_wait_key own = *key;

	if (f->is_later_window)
		own.ustack = fold_stacks_id_at(f->stacks, own.ustack, UINT64_MAX);
	return own;
}

void fold_earlier(struct fold *f, const void *rec, size_t size)
{
	struct offcpu_rec_earlier own;

	if (size < sizeof(own)) {
		fold_drop_record(f->profile);
		return;
	}
	own = *(const struct offcpu_rec_earlier *)rec;
	own.key = key_now(f, &own.key);
	fold_wakers_add_earlier(f->wakers, &own);
}

void fold_chain_sum(struct fold *f, const struct offcpu_wait_key *key, const struct offcpu_chain_sum *sum)
{
	const struct offcpu_wait_key own = key_now(f, key);

	fold_wakers_add_sum(f->wakers, &own, sum);
}

void fold_target(struct fold *f, const void *rec, size_t size)
{
	fold_targets_add(f->targets, rec, size);
}

static uint32_t object_of(struct fold *f, uint64_t id, uint32_t user, uint32_t kernel)
{
	const struct offcpu_rec_kernel_lock *lock = id ? fold_kernel_locks_find(f->kernel_locks, id) : NULL;
	uint64_t target = lock ? lock->target : id;
	uint32_t object = target ? fold_targets_object(f->targets, target) : 0;

	if (lock)
		return fold_kernel_locks_object(f->kernel_locks, lock, object, kernel);
	return object ? object : fold_objects_wait(f->objects, id, user, kernel);
}

uint32_t fold_object_of(struct fold *f, uint64_t id, uint64_t waker, uint32_t user, uint32_t kernel)
{
	uint32_t object = object_of(f, id, user, kernel), journal = 0, by;

	if (waker && fold_journal_is_awaited(f->profile, kernel, object) && fold_wakers_first(f->wakers, waker, &by))
		journal = fold_journal_object(f->profile, profile_get_waker(f->profile, by));
	return journal ? journal : object;
}

void fold_kernel_lock(struct fold *f, const void *rec, size_t size)
{
	fold_kernel_locks_add(f->kernel_locks, rec, size);
}

void fold_object(struct fold *f, const void *rec, size_t size)
{
	fold_objects_add(f->objects, rec, size);
}

void fold_poll(struct fold *f)
{
	fold_targets_look(f->targets);
	if (f->slices)
		fold_stacks_poll_names(f->stacks);
}

void fold_expect_sums(struct fold *f, size_t cnt)
{
	sums_expect(f->sums, cnt);
	if (f->slices || f->is_later_window)	/* otherwise sums are not separated by slice */
		fold_stacks_look_at_names(f->stacks);
}

void fold_sum(struct fold *f, const struct offcpu_wait_slot *sum)
{
	uint64_t ustack = sum->ustack;
	size_t row;

	if (f->slices)
		ustack = fold_stacks_id_at(f->stacks, ustack, fold_slices_when(f->slices, sum));
	else if (f->is_later_window)	/* these names are those at its end */
		ustack = fold_stacks_id_at(f->stacks, ustack, UINT64_MAX);
	row = sums_add(f->sums, ustack, sum);
	if (f->slices)
		fold_slices_add(f->slices, row, sum);
}

void fold_on_cpu(struct fold *f, const struct oncpu_key *key, const struct oncpu_sum *sum, uint64_t slice_ns)
{
	fold_on_cpu_add(f->on_cpu, key, sum, slice_ns, f->slices ? fold_slices_length_ns(f->slices) : 0);
}

void fold_with_slices(struct fold *f, uint64_t slice_ns, uint64_t start_ns)
{
	f->slices = fold_slices_new(slice_ns, start_ns);
}

unsigned fold_slices_at(struct fold *f, uint64_t now_ns)
{
	if (!f->slices)
		return 0;
	fold_slices_now(f->slices, now_ns, sums_cnt(f->sums));
	return fold_slices_shift(f->slices);
}

static void add_times(struct thread *t, const struct offcpu_state_total *total)
{
	t->blocked_ns += total->blocked_ns;
	t->runnable_ns += total->runnable_ns;
	t->preempted_ns += total->preempted_ns;
}

static void note_throttled(struct fold *f, const struct offcpu_rec_thread *rec, uint32_t index)
{
	const struct thread *t = profile_thread(f->profile, index);
	const struct blame throttled = {
		.thread = index, .kind = BLAME_THROTTLED, .comm = "", .count = 1,
		.runnable_ns = MIN(rec->throttled_runnable_ns, t->runnable_ns),
		.preempted_ns = MIN(rec->throttled_preempted_ns, t->preempted_ns),
	};

	if (throttled.runnable_ns || throttled.preempted_ns)
		g_array_append_val(f->throttled, throttled);
}

void fold_finish_throttled(struct fold *f)
{
	for (guint i = 0; i < f->throttled->len; i++)
		profile_add_blame(f->profile, &g_array_index(f->throttled, struct blame, i));
	g_array_set_size(f->throttled, 0);
}

/* Did the program end? Its first thread usually leaves last. If not, the program cannot be asked any more. */
static bool has_ended(const struct thread *t)
{
	return t->flags & THREAD_EXECED || (t->flags & THREAD_EXITED && t->tid == t->pid);
}

void fold_thread(struct fold *f, const struct offcpu_rec_thread *rec, size_t size)
{
	const struct offcpu_account *account = &rec->account;

	if (size < sizeof(*rec) || rec->to_ns < rec->from_ns) {
		fold_drop_record(f->profile);
		return;
	}
	struct thread t = {
		.pid = rec->pid, .tid = rec->tid, .start_ns = rec->start_ns,
		.comm = fold_comm(f->profile, rec->comm), .process = fold_comm(f->profile, rec->process),
		.flags = (rec->flags & OFFCPU_THREAD_KERNEL ? THREAD_KERNEL : 0) |
			 (rec->end == OFFCPU_END_EXIT ? THREAD_EXITED : 0) |
			 (rec->end == OFFCPU_END_EXEC ? THREAD_EXECED : 0) |
			 (rec->flags & OFFCPU_THREAD_OPEN_AT_START ? THREAD_OPEN_AT_START : 0) |
			 (rec->flags & OFFCPU_THREAD_OPEN_AT_END ? THREAD_OPEN_AT_END : 0),
		.from_ns = rec->from_ns, .to_ns = rec->to_ns, .on_cpu_ns = account->on_cpu_ns,
		.lost_ns = account->lost_ns, .switches = account->switches,
		.filtered_ns = account->filtered.blocked_ns + account->filtered.runnable_ns +
			       account->filtered.preempted_ns,
	};
	add_times(&t, &account->filtered);
	for (unsigned i = 0; i < OFFCPU_STATE_COUNT; i++)
		add_times(&t, &account->state[i]);
	if (f->services && !(t.flags & THREAD_KERNEL))
		t.service = fold_services_name(f->services, t.pid, rec->proc_start_ns, t.process, rec->cgroup_id,
					       has_ended(&t));
	uint32_t index = profile_add_thread(f->profile, &t);

	EACH_IN(i, const struct offcpu_state_total, total, account->state, OFFCPU_STATE_COUNT) {
		const struct state_total own = {
			.thread = index, .state = (uint8_t)OFFCPU_STATE_LETTERS[i], .count = total->count,
			.blocked_ns = total->blocked_ns, .runnable_ns = total->runnable_ns,
			.preempted_ns = total->preempted_ns,
		};
		if (own.count)
			profile_add_state(f->profile, &own);
	}

	g_hash_table_insert(f->threads, GUINT_TO_POINTER(rec->tno), GUINT_TO_POINTER(index + 1));
	note_throttled(f, rec, index);
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

bool fold_find_thread(const struct fold *f, uint32_t tno, uint32_t *ret_thread)
{
	uint32_t index = GPOINTER_TO_UINT(g_hash_table_lookup(f->threads, GUINT_TO_POINTER(tno)));

	if (index)
		*ret_thread = index - 1;
	return index;
}

/* Waits of threads whose account was lost share one row, so that they do not vanish. */
static uint32_t lost_thread(struct fold *f, const struct sums_total *sum)
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
	t->to_ns += sum->blocked_ns + sum->runnable_ns + sum->preempted_ns;
	t->blocked_ns += sum->blocked_ns;
	t->runnable_ns += sum->runnable_ns;
	t->preempted_ns += sum->preempted_ns;
	return f->lost_thread - 1;
}

bool fold_lacks_thread(struct fold *f)
{
	size_t cnt = sums_cnt(f->sums);
	uint32_t owner;

	while (f->owners->len < cnt && fold_find_thread(f, sums_key(f->sums, f->owners->len)->tno, &owner))
		g_array_append_val(f->owners, owner);
	return f->owners->len < cnt;
}

void fold_finish_threads(struct fold *f)
{
	while (fold_lacks_thread(f)) {
		struct sums_total sum;

		sums_get(f->sums, f->owners->len, &sum);
		uint32_t owner = lost_thread(f, &sum);

		g_array_append_val(f->owners, owner);
	}
}

void fold_cut(struct fold *f, uint64_t edge_ns)
{
	fold_wakers_cut(f->wakers, edge_ns);
}

void fold_begin_window(struct fold *f)
{
	profile_empty_rows(f->profile);
	g_hash_table_remove_all(f->threads);
	sums_free(f->sums);
	f->sums = sums_new();
	g_array_set_size(f->throttled, 0);
	g_array_set_size(f->owners, 0);
	f->lost_thread = 0;
	f->is_later_window = true;
	fold_stacks_next_window(f->stacks);
	fold_targets_next_window(f->targets);
	fold_wakers_next_window(f->wakers);
	if (f->services)
		fold_services_next_window(f->services);
}

size_t fold_crossed_cnt(const struct fold *f)
{
	return fold_stacks_cnt(f->stacks) + fold_wakers_cnt(f->wakers) + fold_objects_cnt(f->objects) +
	       fold_targets_cnt(f->targets) + fold_kernel_locks_cnt(f->kernel_locks);
}

/* No window's profile is left: frees frames, stacks and strings that only windows used. */
static void compact(struct fold *f)
{
	struct profile_compact *c = profile_compact_begin(f->profile);

	fold_stacks_keep(f->stacks, c);
	if (f->services)
		fold_services_keep(f->services, c);
	profile_compact_end(c);
}

void fold_forget(struct fold *f, bool are_windows_gone)
{
	if (are_windows_gone)
		profile_empty_objects(f->profile);
	fold_stacks_forget(f->stacks);
	fold_wakers_forget(f->wakers);
	fold_objects_forget(f->objects);
	fold_targets_forget(f->targets, are_windows_gone);
	fold_kernel_locks_forget(f->kernel_locks);
	if (are_windows_gone)
		compact(f);
}

/* For a reader of waits, a parked goroutine sleeps. */
static uint8_t letter_of_request(uint8_t state)
{
	return state == OFFCPU_REQUEST_PARKED ? 'S' : state;
}

void fold_set_open_requests(struct fold *f, struct open_requests *requests)
{
	f->requests = requests;
}

void fold_set_park_names(struct fold *f, const char *const *names, unsigned cnt)
{
	f->park_names = names;
	f->park_names_cnt = cnt;
}

/* The object of a request's wait: index + 1, or 0. */
static uint32_t object_of_request(struct fold *f, uint8_t state, uint64_t id, uint32_t user, uint32_t kernel)
{
	struct object o = { .kind = OBJECT_GOROUTINE };

	if (!state || state == '?')
		return 0;
	if (state != OFFCPU_REQUEST_PARKED)
		return object_of(f, id, user, kernel);
	o.name = id < f->park_names_cnt ? f->park_names[id] : NULL;
	return o.name && *o.name ? profile_object(f->profile, &o) + 1 : 0;
}

struct request_part fold_request_part(struct fold *f, const struct offcpu_request_part_key *key,
				      const struct offcpu_request_part *part)
{
	struct request_part r = {
		.func = key->func, .range = key->range, .is_slow = key->flags & OFFCPU_PART_SLOW,
		.requests = part->requests, .wall_ns = part->wall_ns, .on_cpu_ns = part->on_cpu_ns,
		.wait =
			{
				.user = fold_stacks_node(f->stacks, key->ustack, FRAME_USER),
				.kernel = fold_stacks_node(f->stacks, key->kstack, FRAME_KERNEL),
				.state = letter_of_request(key->state), .count = part->waits,
				.blocked_ns = part->blocked_ns, .runnable_ns = part->runnable_ns,
				.preempted_ns = part->preempted_ns,
			},
	};

	fold_find_thread(f, part->tno, &r.wait.thread);
	r.wait.object = object_of_request(f, key->state, key->object, r.wait.user, r.wait.kernel);
	return r;
}

struct span_wait fold_span_wait(struct fold *f, const struct offcpu_request_note *note)
{
	struct span_wait w = {
		.user = fold_stacks_node(f->stacks, note->ustack, FRAME_USER),
		.kernel = fold_stacks_node(f->stacks, note->kstack, FRAME_KERNEL),
		.state = letter_of_request(note->state), .count = note->count, .blocked_ns = note->blocked_ns,
		.runnable_ns = note->runnable_ns, .preempted_ns = note->preempted_ns,
	};

	w.object = object_of_request(f, note->state, note->object, w.user, w.kernel);
	return w;
}

bool fold_find(const struct fold *f, uint64_t id, uint32_t *ret_node)
{
	return fold_stacks_find(f->stacks, id, ret_node);
}

bool fold_find_waker(struct fold *f, uint64_t id, uint32_t *ret_waker)
{
	return fold_wakers_find(f->wakers, id, ret_waker);
}

size_t fold_sum_cnt(const struct fold *f)
{
	return sums_cnt(f->sums) + fold_on_cpu_cnt(f->on_cpu);
}

uint64_t fold_stack_cnt(const struct fold *f)
{
	return fold_stacks_cnt(f->stacks);
}
