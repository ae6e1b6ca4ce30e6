/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "profile/profile.h"
#include "store/blob.h"
#include "store/line.h"
#include "store/file.h"
#include "store/store.h"

static bool add_row(struct request_line *l, struct store_file *f, const struct store_row *row, GError **error)
{
	g_autoptr(GError) why = NULL;
	size_t bytes = 0;
	g_autofree uint8_t *packed = store_file_requests(f, row->seq, &bytes, &why);
	const GPtrArray *names = packed ? store_file_names(f, &why) : NULL;
	struct request_cells *cells;
	bool ok;

	if (why) {
		g_propagate_error(error, g_steal_pointer(&why));
		return false;
	}
	if (!packed)
		return true;
	cells = request_cells_new();
	ok = request_cells_add_bytes(cells, packed, bytes, names);
	if (ok)
		request_line_add(l, row->start_unix_ns, row->duration_ns, cells);
	request_cells_free(cells);
	return ok || store_fail(error, STORE_ERROR_DAMAGED,
				"the history is damaged: the requests of a window cannot be read");
}

struct request_line *request_line_read(const char *dir, uint64_t from_unix_ns, uint64_t to_unix_ns, uint64_t step_ns,
				       GError **error)
{
	uint64_t steps = step_ns && from_unix_ns < to_unix_ns ? (to_unix_ns - from_unix_ns + step_ns - 1) / step_ns : 0;
	struct store_choice *c;
	struct request_line *l;
	bool ok = true;

	if (!steps || steps > REQUEST_STEPS_MAX || to_unix_ns > PROFILE_NS_MAX || step_ns > PROFILE_NS_MAX) {
		store_fail(error, STORE_ERROR_TOO_MUCH, "a time line of requests has from 1 to %d steps",
			   REQUEST_STEPS_MAX);
		return NULL;
	}
	c = store_choose(dir ? dir : STORE_DIR_DEFAULT, from_unix_ns, to_unix_ns, step_ns, false, error);
	if (!c)
		return NULL;
	l = request_line_new(from_unix_ns, step_ns, (uint32_t)steps);
	for (guint i = 0; ok && i < c->rows->len; i++) {
		const struct store_row *row = &g_array_index(c->rows, struct store_row, i);

		ok = add_row(l, store_choice_file(c, row), row, error);
	}
	store_choice_free(c);
	request_line_sort(l);
	if (ok)
		return l;
	request_line_free(l);
	return NULL;
}

#define VERSION 1

#define SUM_NUMBERS(X) X(all.count) X(all.wall_ns) X(all.on_cpu_ns) X(all.blocked_ns) X(all.runnable_ns) \
		X(all.preempted_ns) X(max_ns)

/* The non-zero numbers, each with the distance from the previous one. */
static void put_sparse(GByteArray *into, const uint64_t *numbers, unsigned cnt)
{
	unsigned some = 0, next = 0;

	for (unsigned i = 0; i < cnt; i++)
		some += numbers[i] != 0;
	blob_put(into, some);
	for (unsigned i = 0; i < cnt; i++) {
		if (!numbers[i])
			continue;
		blob_put(into, i - next);
		blob_put(into, numbers[i]);
		next = i + 1;
	}
}

static void add_sparse(struct cursor *c, uint64_t *numbers, unsigned cnt)
{
	unsigned at = 0;

	for (uint32_t some = blob_get_cnt(c, cnt); some && !c->bad; some--) {
		at += blob_get_id(c, cnt - at);
		uint64_t value = blob_get(c, PROFILE_NS_MAX);

		if (c->bad)
			return;
		numbers[at] = profile_sum(numbers[at], value);
		at++;
		c->bad = c->bad || (at == cnt && some > 1);
	}
}

static bool encode_cell(const struct request_cell *cell, request_cells_number_of number_of, void *ctx,
			GByteArray *into)
{
	g_autoptr(GPtrArray) causes = request_causes_bounded(cell->causes);
	uint64_t name = number_of(ctx, cell->name), hist[OFFCPU_REQUEST_SLOTS];
	bool ok = name != 0;

	blob_put(into, name);
#define X(member) blob_put(into, cell->sum.member);
	SUM_NUMBERS(X)
#undef X
	for (unsigned i = 0; i < OFFCPU_REQUEST_SLOTS; i++)
		hist[i] = cell->sum.hist[i];
	put_sparse(into, hist, OFFCPU_REQUEST_SLOTS);
	put_sparse(into, cell->wall_ns, OFFCPU_REQUEST_RANGES);
	blob_put(into, causes->len);
	EACH_POINTER(i, const struct request_cause_cell, cause, causes) {
		uint64_t reason = number_of(ctx, reason_name(cause->reason));

		ok = ok && reason;
		blob_put(into, reason);
		blob_put(into, number_of(ctx, cause->where));
		put_sparse(into, cause->ns, OFFCPU_REQUEST_RANGES);
	}
	return ok;
}

bool request_cells_encode(struct request_cells *c, request_cells_number_of number_of, void *ctx,
			  GByteArray *into)
{
	guint cnt = MIN(request_cells_list(c)->len, REQUEST_CELLS_MAX);
	bool ok = true;

	blob_put(into, VERSION);
	blob_put(into, request_cells_uncounted(c)->handed);
	blob_put(into, request_cells_uncounted(c)->no_route);
	blob_put(into, request_cells_uncounted(c)->others);
	blob_put(into, cnt);
	for (guint i = 0; i < cnt && ok; i++)
		ok = encode_cell(request_cells_list(c)->pdata[i], number_of, ctx, into);
	return ok;
}

static const char *get_name(struct cursor *c, const GPtrArray *names, bool may_lack)
{
	uint64_t number = cursor_uleb(c);

	if (!number && may_lack)
		return "";
	c->bad = c->bad || !number || number > names->len;
	return c->bad ? "" : g_ptr_array_index(names, number - 1);
}

static void add_cause_bytes(struct request_cell *cell, struct cursor *c, const GPtrArray *names)
{
	const char *reason_text = get_name(c, names, false), *where = get_name(c, names, true);
	enum reason reason;

	if (!reason_parse(reason_text, &reason))	/* an unknown reason of another version */
		reason = REASON_OTHER;
	if (!c->bad)
		add_sparse(c, request_cause_get(cell->causes, reason, where)->ns, OFFCPU_REQUEST_RANGES);
}

static void add_cell_bytes(struct request_cells *cells, struct cursor *c, const GPtrArray *names)
{
	const char *name = get_name(c, names, false);
	struct request_cell *cell = c->bad ? NULL : request_cells_get(cells, name);
	struct offcpu_request_sum sum = { 0 };
	uint64_t hist[OFFCPU_REQUEST_SLOTS] = { 0 };

	if (!cell)
		return;
#define X(member) sum.member = blob_get(c, PROFILE_NS_MAX);
	SUM_NUMBERS(X)
#undef X
	add_sparse(c, hist, OFFCPU_REQUEST_SLOTS);
	for (unsigned i = 0; i < OFFCPU_REQUEST_SLOTS; i++)
		sum.hist[i] = hist[i];
	request_sum_add(&cell->sum, &sum);
	add_sparse(c, cell->wall_ns, OFFCPU_REQUEST_RANGES);
	for (uint32_t cnt = blob_get_cnt(c, REQUEST_CAUSES_MAX + REASON_COUNT); cnt && !c->bad; cnt--)
		add_cause_bytes(cell, c, names);
}

bool request_cells_add_bytes(struct request_cells *cells, const void *bytes, size_t len_bytes, const GPtrArray *names)
{
	struct cursor c = { .at = bytes, .end = (const uint8_t *)bytes + len_bytes };

	struct request_uncounted uncounted;

	if (cursor_uleb(&c) != VERSION)
		return false;
	uncounted.handed = blob_get(&c, PROFILE_NS_MAX);
	uncounted.no_route = blob_get(&c, PROFILE_NS_MAX);
	uncounted.others = blob_get(&c, PROFILE_NS_MAX);
	request_uncounted_add(request_cells_uncounted(cells), &uncounted);
	for (uint32_t cnt = blob_get_cnt(&c, REQUEST_CELLS_MAX); cnt && !c.bad; cnt--)
		add_cell_bytes(cells, &c, names);
	return !c.bad;
}
