/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/order.h"
#include "features/io/record_part.h"

#include <stdlib.h>
#include <string.h>

#include "base/each.h"
#include "base/hash.h"

#define FILES_MAX 20000	/* distinct paths; walking a file system would add millions */
#define ROWS_MAX 200000
#define BAR_BITS 3	/* bits of a duration below the highest one */
#define UNIT_NS 100
#define SLOW_NS 10000000	/* operations this slow are always listed */

struct row_key {
	const char *op, *path;	/* owned by the profile */
	uint32_t thread, user, kernel, pad;
};

struct file_rows {
	struct profile *profile;
	GHashTable *threads;	/* "pid tid comm" -> thread + 1 */
	GHashTable *paths;	/* path -> the profile's text */
	GHashTable *index;	/* struct row_key -> row + 1 */
	GHashTable *file_index;	/* struct row_key without a thread -> file + 1 */
	GArray *rows, *files;
	struct file_sum all;
	struct file_counts counts;
};

HASH_BYTES(key, struct row_key)

struct file_rows *file_rows_new(struct profile *p)
{
	struct file_rows *r = g_new0(struct file_rows, 1);

	r->profile = p;
	r->threads = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	r->paths = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	r->index = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
	r->file_index = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
	r->rows = g_array_new(FALSE, TRUE, sizeof(struct file_row));
	r->files = g_array_new(FALSE, TRUE, sizeof(struct file_by_file));
	return r;
}

FREES(file_rows_free, struct file_rows, r, g_hash_table_destroy(r->threads); g_hash_table_destroy(r->paths);
      g_hash_table_destroy(r->index); g_hash_table_destroy(r->file_index); g_array_unref(r->rows);
      g_array_unref(r->files))

unsigned file_bar(uint64_t ns)
{
	uint64_t units = ns / UNIT_NS;
	unsigned high, bar;

	if (units < 1 << BAR_BITS)
		return (unsigned)units;
	high = 63 - (unsigned)__builtin_clzll(units);
	bar = ((high - BAR_BITS + 1) << BAR_BITS) + (unsigned)(units >> (high - BAR_BITS) & ((1 << BAR_BITS) - 1));
	return MIN(bar, FILE_BARS - 1);
}

uint64_t file_bar_ns(unsigned bar)
{
	unsigned shift = bar >> BAR_BITS, low = bar & ((1 << BAR_BITS) - 1);

	if (!shift)
		return bar * UNIT_NS + UNIT_NS / 2;
	return ((uint64_t)((1 << BAR_BITS) + low) * 2 + 1) * UNIT_NS << (shift - 1) >> 1;
}

ORDER_NUMBERS(compare_ns, uint64_t)

uint64_t file_percentile_ns(const struct file_by_file *f, double share)
{
	uint64_t wanted = (uint64_t)((double)f->sum.count * share), seen = 0;

	if (f->sum.count && f->sum.count <= FILE_EXACT) {
		uint64_t sorted[FILE_EXACT];

		memcpy(sorted, f->first_ns, sizeof(sorted));
		qsort(sorted, f->sum.count, sizeof(sorted[0]), compare_ns);
		return sorted[MIN(wanted, f->sum.count - 1)];
	}
	for (unsigned i = 0; i < FILE_BARS; i++) {
		seen += f->bar[i];
		if (seen > wanted)
			return MIN(file_bar_ns(i), f->sum.max_ns);
	}
	return f->sum.max_ns;
}

static uint32_t thread_of(struct file_rows *r, const struct file_op *op)
{
	g_autofree char *key = g_strdup_printf("%u %u %s", op->pid, op->tid, op->comm);
	guint known = GPOINTER_TO_UINT(g_hash_table_lookup(r->threads, key));

	if (known)
		return known - 1;
	const struct thread t = {
		.pid = op->pid, .tid = op->tid, .comm = profile_string(r->profile, op->comm),
		.process = profile_string(r->profile, op->process),
	};
	uint32_t id = profile_add_thread(r->profile, &t);

	g_hash_table_insert(r->threads, g_steal_pointer(&key), GUINT_TO_POINTER(id + 1));
	return id;
}

static const char *path_of(struct file_rows *r, const char *path, uint64_t latency_ns)
{
	guint max = latency_ns >= SLOW_NS ? 2 * FILES_MAX : FILES_MAX;
	const char *known = g_hash_table_lookup(r->paths, path);

	if (known)
		return known;
	if (g_hash_table_size(r->paths) >= max || r->rows->len >= ROWS_MAX) {
		r->counts.unlisted++;
		path = "[other files]";
		known = g_hash_table_lookup(r->paths, path);
		if (known)
			return known;
	}
	known = profile_string(r->profile, path);
	g_hash_table_insert(r->paths, g_strdup(path), (gpointer)known);
	return known;
}

static void add_op(struct file_sum *s, const struct file_op *op)
{
	s->count++;
	s->bytes += op->bytes;
	s->errors += op->error != 0;
	s->all_ns += op->latency_ns;
	s->async_ns += op->is_async ? op->latency_ns : 0;
	ADD_MEMBERS(s, op, blocked_ns, runq_ns, disk_ns, requests);
	s->max_ns = MAX(s->max_ns, op->latency_ns);
	s->hist[profile_hist_slot(op->latency_ns)]++;
}

static guint find_row(GHashTable *index, const struct row_key *key, guint next, bool *ret_is_new)
{
	guint known = GPOINTER_TO_UINT(g_hash_table_lookup(index, key));

	*ret_is_new = !known;
	if (known)
		return known - 1;
	g_hash_table_insert(index, g_memdup2(key, sizeof(*key)), GUINT_TO_POINTER(next + 1));
	return next;
}

void file_rows_add(struct file_rows *r, const struct file_op *op, uint32_t user, uint32_t kernel)
{
	struct row_key key = { .op = op->op, .path = path_of(r, op->path, op->latency_ns) };
	guint at;
	bool is_new;

	add_op(&r->all, op);
	r->counts.done++;
	r->counts.open_at_end += op->is_open;
	r->counts.begun_before += op->is_before;
	at = find_row(r->file_index, &key, r->files->len, &is_new);
	if (is_new) {
		const struct file_by_file file = { .op = key.op, .path = key.path };

		g_array_append_val(r->files, file);
	}
	struct file_by_file *file = &g_array_index(r->files, struct file_by_file, at);

	if (file->sum.count < FILE_EXACT)
		file->first_ns[file->sum.count] = op->latency_ns;
	add_op(&file->sum, op);
	file->bar[file_bar(op->latency_ns)]++;
	key.thread = thread_of(r, op);
	key.user = user;
	key.kernel = kernel;
	at = find_row(r->index, &key, r->rows->len, &is_new);
	if (is_new) {
		const struct file_row row = { .thread = key.thread,
					      .user = user,
					      .kernel = kernel,
					      .op = key.op,
					      .path = key.path };

		g_array_append_val(r->rows, row);
	}
	add_op(&g_array_index(r->rows, struct file_row, at).sum, op);
}

ORDER(compare_rows, struct file_row, ORDER_HIGH(sum.all_ns))

ORDER(compare_files, struct file_by_file, ORDER_HIGH(sum.all_ns))

static void merge_sums(struct file_sum *into, const struct file_sum *s)
{
	ADD_MEMBERS(into, s, count, bytes, errors, all_ns, async_ns, blocked_ns, runq_ns, disk_ns);
	ADD_MEMBERS(into, s, requests);
	into->max_ns = MAX(into->max_ns, s->max_ns);
	for (unsigned i = 0; i < PROFILE_HIST_SLOTS; i++)
		into->hist[i] += s->hist[i];
}

/* Merges threads of a process with the same name. */
static GArray *merged_rows(struct file_rows *r)
{
	g_autoptr(GHashTable) index = g_hash_table_new_full(key_hash, key_equal, g_free, NULL);
	g_autoptr(GHashTable) first = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	GArray *ret = g_array_new(FALSE, TRUE, sizeof(struct file_row));

	EACH_ROW(i, const struct file_row, row, r->rows) {
		const struct thread *t = profile_thread(r->profile, row->thread);
		g_autofree char *name = g_strdup_printf("%u %s", t->pid, t->comm);
		guint known = GPOINTER_TO_UINT(g_hash_table_lookup(first, name)), at;
		struct row_key key = { .op = row->op, .path = row->path, .user = row->user, .kernel = row->kernel };
		bool is_new;

		if (!known) {
			known = row->thread + 1;
			g_hash_table_insert(first, g_steal_pointer(&name), GUINT_TO_POINTER(known));
		}
		key.thread = known - 1;
		at = find_row(index, &key, ret->len, &is_new);
		if (is_new)
			g_array_append_val(ret, *row);
		else
			merge_sums(&g_array_index(ret, struct file_row, at).sum, &row->sum);
	}
	g_array_sort(ret, compare_rows);
	return ret;
}

void file_rows_result(struct file_rows *r, struct file_result *ret)
{
	g_hash_table_remove_all(r->file_index);	/* sorting changed the order */
	g_array_sort(r->files, compare_files);
	ret->rows = merged_rows(r);
	ret->files = g_array_ref(r->files);
	ret->all = r->all;
	ret->counts = r->counts;
}

void file_rows_to_profile(struct file_rows *r)
{
	EACH_ROW(i, const struct file_row, row, r->rows) {
		const struct object file = { .kind = OBJECT_FILE, .operation = row->op, .name = row->path };
		struct thread *t = &g_array_index(r->profile->threads, struct thread, row->thread);
		struct wait w = {
			.thread = row->thread, .user = row->user, .kernel = row->kernel, .state = '?',
			.count = row->sum.count, .blocked_ns = row->sum.all_ns, .max_ns = row->sum.max_ns,
			.object = profile_object(r->profile, &file) + 1,
		};

		memcpy(w.hist, row->sum.hist, sizeof(w.hist));
		t->blocked_ns += w.blocked_ns;
		t->to_ns = t->blocked_ns;
		profile_add_wait(r->profile, &w);
	}
}
