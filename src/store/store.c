/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* The writer of a history. */
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/each.h"
#include "base/order.h"
#include "features/wakers/history.h"
#include "store/blob.h"
#include "store/file.h"
#include "store/pack.h"
#include "store/short_lived.h"

static const char *name_of(void *ctx, uint64_t number)
{
	const GPtrArray *names = ctx;

	return number <= names->len ? g_ptr_array_index(names, number - 1) : NULL;
}

static void add_group(void *ctx, const struct cell_group *g)
{
	cells_add_group(ctx, g);
}

static void add_cells(struct store_file *f, uint64_t seq, const GPtrArray *names, struct cells **cells)
{
	size_t bytes = 0;
	g_autofree uint8_t *packed = *cells ? store_file_cells(f, seq, &bytes, NULL) : NULL;

	if (!packed || !cells_decode(packed, bytes, names, NULL, add_group, *cells))
		g_clear_pointer(cells, cells_free);
}

static void add_requests(struct store_file *f, uint64_t seq, const GPtrArray *names, struct request_cells **requests)
{
	size_t bytes = 0;
	g_autofree uint8_t *packed = store_file_requests(f, seq, &bytes, NULL);

	if (packed && !*requests)
		*requests = request_cells_new();
	if (packed)
		request_cells_add_bytes(*requests, packed, bytes, names);
}

bool small_rows_add(struct small_rows *sums, struct store_file *f, const struct store_row *row, const GPtrArray *names)
{
	add_cells(f, row->seq, names, &sums->cells);
	add_requests(f, row->seq, names, &sums->requests);
	return line_sums_add_bytes(sums->line, row->line, row->line_bytes, name_of, (void *)(uintptr_t)names);
}

void small_rows_free(struct small_rows *sums)
{
	line_sums_free(sums->line);
	cells_free(sums->cells);
	request_cells_free(sums->requests);
}

#define DIR_MODE 0750
#define LOCK_MODE 0640
#define MAX_BYTES_DEFAULT (UINT64_C(512) << 20)
#define WINDOW_HOURS_DEFAULT 24
#define MINUTE_DAYS_DEFAULT 35
/* Older minutes are kept only while there is room: they are deleted before any window. */
#define MINUTE_DAYS_SURE 14
#define HOUR_DAYS_DEFAULT 400
#define NS_AN_HOUR (UINT64_C(3600) * 1000 * 1000 * 1000)
/* A file larger than this fraction of max_bytes is continued in a new part, so that old parts can be deleted. */
#define PARTS_OF_ALL 8
/*
 * So is a file whose dictionary, which is kept in memory, has more rows: on a host that keeps starting new programs
 * most of it is outdated.
 */
#define DICT_ROWS_KEPT 64000
/* Clocks are compared anew at each window: a smaller difference is drift, not a jump. */
#define JUMP_NS (UINT64_C(1) * 1000 * 1000 * 1000)
/* A clock that is far ahead expires nothing until it has been so for that many windows. */
#define BELIEVED_AFTER 360

struct store {
	char *dir;
	int lock;
	uint64_t max_bytes;
	bool keep_ended;
	unsigned preempted_stacks;
	uint64_t keep_ns[TIER_CNT];
	uint64_t seq;		/* of the last window */
	struct store_file *files[TIER_CNT];
	/* struct store_row of each tier, without lines, not yet summed up in the next tier */
	GArray *pending[TIER_HOUR];
	uint64_t now_ns, ahead_cnt;	/* see BELIEVED_AFTER */
	GQueue warnings;	/* char * */
};

static bool lock_folder(struct store *s, GError **error)
{
	g_autofree char *path = g_build_filename(s->dir, "lock", NULL);

	if (g_mkdir_with_parents(s->dir, DIR_MODE) != 0)
		return store_fail(error, STORE_ERROR_FILE, "cannot make '%s': %s", s->dir, g_strerror(errno));
	s->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, LOCK_MODE);
	if (s->lock < 0)
		return store_fail(error, STORE_ERROR_FILE, "cannot write in '%s': %s", s->dir, g_strerror(errno));
	if (flock(s->lock, LOCK_EX | LOCK_NB) != 0)
		return store_fail(error, STORE_ERROR_BUSY, "another process writes the history in '%s'", s->dir);
	return true;
}

static const struct store_name *last_of(const GArray *names, enum store_tier tier, int64_t day)
{
	const struct store_name *last = NULL;

	EACH_ROW(i, const struct store_name, name, names)
		if (name->tier == tier && name->day == day)
			last = name;
	return last;
}

/* Renames a file that is not ours, so that the store can continue. */
static void put_aside(struct store *s, const struct store_name *name, const GError *why)
{
	g_autofree char *path = store_path(s->dir, name);
	g_autofree char *aside = g_strconcat(path, ".damaged", NULL);

	if (rename(path, aside))
		return;
	store_file_unlink(path);
	g_queue_push_tail(&s->warnings, g_strdup_printf("'%s' was put aside as '%s': %s", path, aside, why->message));
}

char *store_take_warning(struct store *s)
{
	return g_queue_pop_head(&s->warnings);
}

static struct store_file *create(struct store *s, const struct store_name *name, GError **error)
{
	g_autoptr(GError) why = NULL;
	struct store_file *f = store_file_create(s->dir, name, &why);

	if (!f && g_error_matches(why, STORE_ERROR, STORE_ERROR_DAMAGED)) {
		put_aside(s, name, why);
		g_clear_error(&why);
		f = store_file_create(s->dir, name, &why);
	}
	if (!f)
		g_propagate_error(error, g_steal_pointer(&why));
	return f;
}

static void close_file(struct store *s, enum store_tier tier)
{
	g_clear_pointer(&s->files[tier], store_file_close);
}

/* The file for a window of that day. */
static struct store_file *file_for(struct store *s, enum store_tier tier, int64_t day, GError **error)
{
	if (s->files[tier] && store_file_name(s->files[tier])->day != day)
		close_file(s, tier);
	if (!s->files[tier]) {
		g_autoptr(GArray) names = store_list(s->dir, error);
		const struct store_name *last = names ? last_of(names, tier, day) : NULL;
		const struct store_name name = { .day = day, .tier = tier, .part = last ? last->part : 0 };

		s->files[tier] = names ? create(s, &name, error) : NULL;
	}
	if (!s->files[tier])
		return NULL;
	struct store_name next = *store_file_name(s->files[tier]);
	g_autofree char *path = store_path(s->dir, &next);

	bool is_full = store_file_bytes(path) > s->max_bytes / PARTS_OF_ALL ||
		       store_file_dict_rows(s->files[tier]) > DICT_ROWS_KEPT;

	if (is_full && next.part < 9999) {
		close_file(s, tier);
		next.part++;
		s->files[tier] = create(s, &next, error);
	}
	return s->files[tier];
}

static bool is_of(const struct store_file *f, const struct store_name *name)
{
	return f && store_name_compare(store_file_name(f), name) == 0;
}

/* The writer's own file, or *reader, which is opened for that file. */
static struct store_file *reader_of(struct store *s, const struct store_name *name, struct store_file **reader,
				    GError **error)
{
	bool is_missing = false;

	if (is_of(s->files[name->tier], name))
		return s->files[name->tier];
	if (is_of(*reader, name))
		return *reader;
	store_file_close(*reader);
	*reader = store_file_open(s->dir, name, &is_missing, error);
	if (!*reader && is_missing)
		store_fail(error, STORE_ERROR_EMPTY, "a file of the history in '%s' is gone", s->dir);
	return *reader;
}

/* ---- sums ---- */

/* Whether b follows a, so that one row can be the sum of both. */
static bool is_next(const struct store_row *a, const struct store_row *b, uint64_t step_ns)
{
	uint64_t end_ns = store_row_end_ns(a),
		 off_ns = end_ns > b->start_unix_ns ? end_ns - b->start_unix_ns : b->start_unix_ns - end_ns;

	return a->start_ns + a->duration_ns == b->start_ns && a->last_seq + 1 == b->seq && off_ns < JUMP_NS &&
	       a->start_unix_ns / step_ns == b->start_unix_ns / step_ns;
}

/* How many of the first rows make one sum; 0: more may come. */
static guint run_of(const GArray *pending, uint64_t step_ns)
{
	EACH_ROW(i, const struct store_row, row, pending) {
		if (store_row_end_ns(row) / step_ns != row->start_unix_ns / step_ns)
			return i + 1;
		if (i + 1 < pending->len && !is_next(row, row + 1, step_ns))
			return i + 1;
	}
	return 0;
}

/* Adds up rows of a tier for the next one. */
struct summing {
	struct store_file *reader;	/* kept open for the next row */
	struct merger *m;
	struct small_rows sums;
};

static bool add_row(struct store *s, const struct store_row *row, struct summing *sum, GError **error)
{
	g_autoptr(GArray) rows = store_rows_new();
	struct store_file *f = reader_of(s, &row->in, &sum->reader, error);
	bool ok = f && store_file_load(f, row->seq, sum->m, error) &&
		  store_file_rows(f, 0, 0, row->seq - 1, true, rows, error);
	const GPtrArray *names = ok ? store_file_names(f, error) : NULL;

	return names && rows->len && small_rows_add(&sum->sums, f, &g_array_index(rows, struct store_row, 0), names);
}

static bool add_rows(struct store *s, struct store_file *f, const struct store_row *row, const struct profile *p,
		     const struct small_rows *sums, GError **error)
{
	if (!s->preempted_stacks)
		return store_file_add(f, row, p, sums->line, sums->cells, sums->requests, error);
	struct profile *coarse = merge_coarse(p, s->preempted_stacks, error);

	if (coarse) {
		digits_round(coarse);
		stories_coarse(coarse);
	}
	bool ok = coarse && store_file_add(f, row, coarse, sums->line, sums->cells, sums->requests, error);

	profile_free(coarse);
	return ok;
}

/* Folds short-lived threads: with a row for each, sums would be as large as all windows together. */
static bool write_sum(struct store *s, enum store_tier tier, const struct store_row *row, struct profile *p,
		      const struct small_rows *sums, GError **error)
{
	const struct short_lived_options options = { .may_fold = !s->keep_ended };
	struct profile *folded = short_lived_fold(p, &options);
	struct store_file *f = file_for(s, tier, store_day_of(row->start_unix_ns), error);
	bool ok = f && add_rows(s, f, row, folded ? folded : p, sums, error);

	profile_free_rows(folded);
	if (!ok)
		close_file(s, tier);
	return ok;
}

/* Sums up the first `cnt` rows of a tier.  False: try again later.  Unreadable rows are left out. */
static bool sum_up(struct store *s, enum store_tier from, guint cnt)
{
	const struct store_row *first = &g_array_index(s->pending[from], struct store_row, 0), *last = first + cnt - 1;
	struct store_row row = { .seq = first->seq, .last_seq = last->last_seq, .start_unix_ns = first->start_unix_ns,
				 .start_ns = first->start_ns };
	struct summing sum = { .m = merge_new(), .sums = { line_sums_new(), cells_new(), NULL } };
	bool ok = true;

	for (guint i = 0; i < cnt && ok; i++)
		ok = add_row(s, first + i, &sum, NULL);
	struct profile *p = merge_end(sum.m);

	store_file_close(sum.reader);
	if (ok && p) {
		enum store_tier tier = from + 1;

		row.duration_ns = p->info.duration_ns;
		ok = write_sum(s, tier, &row, p, &sum.sums, NULL);
		if (ok && tier < TIER_HOUR) {
			row.in = *store_file_name(s->files[tier]);
			g_array_append_val(s->pending[tier], row);
		}
	} else {
		ok = true;	/* its file is damaged or gone: skip it */
	}
	profile_free(p);
	small_rows_free(&sum.sums);
	return ok;
}

static void sum_up_all(struct store *s)
{
	for (int tier = TIER_WINDOW; tier < TIER_HOUR; tier++) {
		guint cnt;

		while ((cnt = run_of(s->pending[tier], tier_step_ns((enum store_tier)(tier + 1))))) {
			if (!sum_up(s, (enum store_tier)tier, cnt))
				return;
			g_array_remove_range(s->pending[tier], 0, cnt);
		}
	}
}

/* ---- expiry ---- */

static void note_time(struct store *s, uint64_t unix_ns)
{
	if (s->now_ns && unix_ns > s->now_ns + NS_AN_HOUR && ++s->ahead_cnt < BELIEVED_AFTER)
		return;
	s->ahead_cnt = 0;
	s->now_ns = unix_ns;
}

static bool is_open(const struct store *s, const struct store_name *name)
{
	return is_of(s->files[name->tier], name);
}

static bool is_spare(const struct store *s, const struct store_name *name)
{
	return name->tier == TIER_MINUTE &&
	       ((uint64_t)MAX(name->day, 0) + 1 + MINUTE_DAYS_SURE) * STORE_NS_A_DAY < s->now_ns;
}

static void expire_files(struct store *s)
{
	g_autoptr(GArray) names = store_list(s->dir, NULL);
	uint64_t all = 0;
	g_autofree uint64_t *bytes = g_new0(uint64_t, names ? names->len + 1 : 1);

	for (guint i = 0; names && i < names->len; i++) {
		const struct store_name *name = &g_array_index(names, struct store_name, i);
		g_autofree char *path = store_path(s->dir, name);
		uint64_t end_ns = ((uint64_t)MAX(name->day, 0) + 1) * STORE_NS_A_DAY;

		if (!is_open(s, name) && end_ns + s->keep_ns[name->tier] < s->now_ns)
			store_file_unlink(path);
		else
			all += bytes[i] = store_file_bytes(path);
	}
	/* finest and oldest first, as listed, but minutes that were kept only because there was room go before */
	for (int pass = 0; pass < 2; pass++)
		for (guint i = 0; names && i < names->len && all > s->max_bytes; i++) {
			const struct store_name *name = &g_array_index(names, struct store_name, i);
			g_autofree char *path = store_path(s->dir, name);

			if (!bytes[i] || is_open(s, name) || (pass == 0 && !is_spare(s, name)))
				continue;
			store_file_unlink(path);
			all -= bytes[i];
			bytes[i] = 0;
		}
}

/* ---- opening ---- */

/*
 * A writer that was killed while it created or converted the file left a transaction.  Rolling it back needs write
 * access.
 */
static void roll_back(struct store *s, const struct store_name *name)
{
	g_autofree char *path = store_path(s->dir, name), *journal = g_strconcat(path, "-journal", NULL);

	if (g_file_test(journal, G_FILE_TEST_EXISTS))
		store_file_close(store_file_create(s->dir, name, NULL));
}

static bool read_last_seq(struct store *s, const struct store_name *name, uint64_t *upper, GError **error)
{
	bool is_missing = false;
	uint64_t last = 0;

	roll_back(s, name);
	struct store_file *f = store_file_open(s->dir, name, &is_missing, error);
	bool ok = f ? store_file_last_seq(f, &last, error) : is_missing;

	s->seq = MAX(s->seq, last);
	if (ok && f && name->tier < TIER_HOUR && last > upper[name->tier + 1])
		ok = store_file_rows(f, 0, 0, upper[name->tier + 1], false, s->pending[name->tier], error);
	upper[name->tier] = MAX(upper[name->tier], last);
	store_file_close(f);
	return ok;
}

ORDER(by_seq, struct store_row, ORDER_LOW(seq))

/*
 * Coarse tiers first: what they cover is summed up already.  Damaged files are put aside when they are next written
 * to.
 */
static bool read_folder(struct store *s, GError **error)
{
	g_autoptr(GArray) names = store_list(s->dir, error);
	uint64_t upper[TIER_CNT] = { 0 };

	for (guint i = names ? names->len : 0; i--;) {
		const struct store_name *name = &g_array_index(names, struct store_name, i);
		g_autoptr(GError) why = NULL;

		if (read_last_seq(s, name, upper, &why))
			continue;
		if (!g_error_matches(why, STORE_ERROR, STORE_ERROR_DAMAGED)) {
			g_propagate_error(error, g_steal_pointer(&why));
			return false;
		}
		put_aside(s, name, why);
	}
	for (int tier = TIER_WINDOW; tier < TIER_HOUR; tier++)
		g_array_sort(s->pending[tier], by_seq);
	return names != NULL;
}

static uint64_t or_default(uint64_t value, uint64_t usual)
{
	return value ? value : usual;
}

struct store *store_open(const struct store_options *options, GError **error)
{
	struct store *s = g_new0(struct store, 1);

	s->dir = g_strdup(options->dir ? options->dir : STORE_DIR_DEFAULT);
	s->lock = -1;
	s->keep_ended = options->keep_ended;
	s->preempted_stacks = options->preempted_stacks;
	s->max_bytes = or_default(options->max_bytes, MAX_BYTES_DEFAULT);
	s->keep_ns[TIER_WINDOW] = or_default(options->window_hours, WINDOW_HOURS_DEFAULT) * NS_AN_HOUR;
	s->keep_ns[TIER_MINUTE] = or_default(options->minute_days, MINUTE_DAYS_DEFAULT) * STORE_NS_A_DAY;
	s->keep_ns[TIER_HOUR] = or_default(options->hour_days, HOUR_DAYS_DEFAULT) * STORE_NS_A_DAY;
	for (int tier = TIER_WINDOW; tier < TIER_HOUR; tier++)
		s->pending[tier] = store_rows_new();
	if (lock_folder(s, error) && read_folder(s, error))
		return s;
	store_close(s);
	return NULL;
}

static bool write_window(struct store *s, struct store_file *f, const struct store_row *row, const struct profile *own,
			 const struct reasons *reasons, GError **error)
{
	struct small_rows sums = { line_sums_new(), cells_new(), request_cells_of(own) };
	struct reasons *made = reasons ? NULL : reasons_new(own, NULL);

	cells_add_profile(sums.cells, own, made ? made : reasons, NULL);
	reasons_free(made);
	line_sums_add_cells(sums.line, sums.cells, false);
	bool ok = add_rows(s, f, row, own, &sums, error);

	small_rows_free(&sums);
	return ok;
}

static bool add_window(struct store *s, const struct profile *window, const struct reasons *reasons, GError **error)
{
	const struct profile_info *info = &window->info;
	struct store_row row = { .seq = s->seq + 1, .last_seq = s->seq + 1, .start_unix_ns = info->start_unix_ns,
				 .duration_ns = info->duration_ns, .start_ns = info->start_ns };
	int64_t day = store_day_of(row.start_unix_ns);
	bool is_other_file = !s->files[TIER_WINDOW] || store_file_name(s->files[TIER_WINDOW])->day != day;

	if (!info->duration_ns || !info->start_unix_ns || info->start_unix_ns > PROFILE_NS_MAX ||
	    info->duration_ns > PROFILE_NS_MAX)
		return store_fail(error, STORE_ERROR_TOO_MUCH, "a window has no time");
	struct store_file *f = file_for(s, TIER_WINDOW, day, error);

	if (!f || !write_window(s, f, &row, window, reasons, error)) {
		close_file(s, TIER_WINDOW);
		return false;
	}
	s->seq++;
	row.in = *store_file_name(f);
	g_array_append_val(s->pending[TIER_WINDOW], row);
	note_time(s, store_row_end_ns(&row));
	guint pending = s->pending[TIER_WINDOW]->len;

	sum_up_all(s);
	for (int tier = TIER_MINUTE; tier < TIER_CNT; tier++)
		if (s->files[tier])
			store_file_rest(s->files[tier]);
	if (is_other_file || s->pending[TIER_WINDOW]->len != pending)
		expire_files(s);
	return true;
}

static bool has_room(const struct store *s, GError **error)
{
	struct statvfs disk;

	if (statvfs(s->dir, &disk) || (uint64_t)disk.f_bavail * disk.f_frsize >= STORE_ROOM_MIN_BYTES)
		return true;
	return store_fail(error, STORE_ERROR_FILE, "cannot write in '%s': the disk is full", s->dir);
}

bool store_add(struct store *s, const struct profile *window, const struct reasons *reasons, GError **error)
{
	if (!has_room(s, error))
		return false;
	if (reasons)
		return add_window(s, window, reasons, error);
	struct profile *own = merge_copy(window, error);
	bool ok = own && add_window(s, own, NULL, error);

	profile_free(own);
	return ok;
}

bool store_add_gap(struct store *s, uint64_t from_unix_ns, uint64_t to_unix_ns, const char *why, GError **error)
{
	const struct store_gap gap = { from_unix_ns, to_unix_ns, (char *)(uintptr_t)why };

	if (from_unix_ns >= to_unix_ns || to_unix_ns > PROFILE_NS_MAX)
		return store_fail(error, STORE_ERROR_TOO_MUCH, "a pause has no time");
	if (!has_room(s, error))
		return false;
	struct store_file *f = file_for(s, TIER_HOUR, store_day_of(from_unix_ns), error);

	if (f && store_file_add_gap(f, &gap, error))
		return true;
	close_file(s, TIER_HOUR);
	return false;
}

FREES(store_close, struct store, s,
      for (int tier = TIER_WINDOW; tier < TIER_CNT; tier++) close_file(s, (enum store_tier)tier);
      for (int tier = TIER_WINDOW; tier < TIER_HOUR; tier++) g_array_unref(s->pending[tier]);
      if (s->lock >= 0) close(s->lock); g_queue_clear_full(&s->warnings, g_free); g_free(s->dir))
