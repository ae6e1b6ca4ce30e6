/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "render/answer/answer.h"

#include <inttypes.h>
#include <string.h>

#include "base/json_read.h"
#include "base/refuse.h"

#define ID_DIGITS 10
#define COMMAND_MAX 400	/* bytes: a longer command would fill most of a small answer */
#define NAMES_ARE_DATA "names of threads, functions and files were chosen by the recorded programs"
#define NEXT_BYTES 100	/* size of "next" with its numbers, without the id */

struct piece {
	guint section;
	unsigned rank;
	char *text, *in_short;	/* JSON; in_short NULL: no short form */
	const char *chosen;	/* text or in_short; NULL: left out */
};

/* A member of the answer, from its pieces. */
struct section {
	const char *key;
	bool is_list, is_cut;	/* is_cut: an item was left out, so later ones are too */
	size_t bytes;		/* of the chosen pieces */
	guint chosen_cnt, left_cnt;
};

struct answer {
	const struct answer_options *options;
	GArray *sections, *pieces;
	struct piece open;	/* the piece being written */
	bool is_short;
	GString *text, *object;
	struct json json, of_object;
};

CLEARS(piece_clear, struct piece, piece, g_free(piece->text); g_free(piece->in_short))

struct answer *answer_new(const char *of, const struct answer_options *options)
{
	struct answer *a = g_new0(struct answer, 1);

	a->options = options;
	a->sections = g_array_new(FALSE, TRUE, sizeof(struct section));
	a->pieces = g_array_new(FALSE, TRUE, sizeof(struct piece));
	g_array_set_clear_func(a->pieces, piece_clear);
	a->text = g_string_new(NULL);
	a->object = g_string_new(NULL);
	json_string(answer_member(a, "schema"), ANSWER_SCHEMA);
	answer_end(a, 0);
	json_string(answer_member(a, "of"), of);
	answer_end(a, 0);
	if (options->id) {
		json_string(answer_member(a, "id"), options->id);
		answer_end(a, 0);
	}
	return a;
}

FREES(answer_free, struct answer, a, g_array_unref(a->sections); g_array_unref(a->pieces); g_string_free(a->text, TRUE);
      g_string_free(a->object, TRUE))

static struct section *section_at(const struct answer *a, guint at)
{
	return &g_array_index(a->sections, struct section, at);
}

static struct piece *piece_at(const struct answer *a, guint at)
{
	return &g_array_index(a->pieces, struct piece, at);
}

static guint section_of(struct answer *a, const char *key, bool is_list)
{
	const struct section section = { .key = key, .is_list = is_list };

	for (guint i = 0; i < a->sections->len; i++)
		if (strcmp(section_at(a, i)->key, key) == 0)
			return i;
	g_array_append_val(a->sections, section);
	return a->sections->len - 1;
}

bool answer_has(const struct answer *a, const char *key)
{
	for (guint i = 0; i < a->sections->len; i++)
		if (strcmp(section_at(a, i)->key, key) == 0)
			return true;
	return false;
}

/* Strings are shorter in small answers, so that several fit. */
static size_t name_max(const struct answer *a)
{
	return MIN(ANSWER_NAME_MAX, a->options->max_bytes / 8);
}

static struct json *begin_piece(struct answer *a)
{
	g_string_truncate(a->text, 0);
	json_init(&a->json, a->text);
	a->json.string_max = name_max(a);
	return &a->json;
}

struct json *answer_member(struct answer *a, const char *key)
{
	a->open = (struct piece){ .section = section_of(a, key, false) };
	a->is_short = false;
	return begin_piece(a);
}

struct json *answer_item(struct answer *a, const char *key)
{
	a->open = (struct piece){ .section = section_of(a, key, true) };
	a->is_short = false;
	return begin_piece(a);
}

struct json *answer_in_short(struct answer *a)
{
	a->is_short = true;
	return begin_piece(a);
}

void answer_end(struct answer *a, unsigned rank)
{
	char *text = g_strndup(a->text->str, a->text->len);

	if (a->is_short) {
		piece_at(a, a->pieces->len - 1)->in_short = text;
		return;
	}
	a->open.text = text;
	a->open.rank = rank;
	g_array_append_val(a->pieces, a->open);
}

void answer_text(struct answer *a, const char *key, const char *text)
{
	a->json.string_max = MIN(ANSWER_TEXT_MAX, a->options->max_bytes / 3);
	json_member_string(&a->json, key, text);
	a->json.string_max = name_max(a);
}

void answer_member_text(struct answer *a, const char *key, const char *text, unsigned rank)
{
	struct json *j = answer_member(a, key);

	j->string_max = MIN(ANSWER_TEXT_MAX, a->options->max_bytes / 3);
	json_string(j, text);
	answer_end(a, rank);
}

struct json *answer_members(struct answer *a)
{
	g_string_truncate(a->object, 0);
	json_init(&a->of_object, a->object);
	a->of_object.string_max = ANSWER_NAME_MAX;
	return &a->of_object;
}

void answer_members_end(struct answer *a, unsigned rank)
{
	struct json_reader r = json_reader_of(a->object->str, a->object->len);
	g_autoptr(GString) key = g_string_new(NULL);
	const char *value;
	bool first = true;
	gsize len;

	json_enter(&r, '{');
	while (json_next_member(&r, &first, key) && json_read_raw(&r, &value, &len)) {
		if (answer_has(a, key->str))
			continue;
		json_raw(answer_member(a, g_intern_string(key->str)), value, len);
		answer_end(a, rank);
	}
}

void answer_left_out(struct answer *a, const char *key, guint cnt)
{
	if (cnt)
		section_at(a, section_of(a, key, true))->left_cnt += cnt;
}

static void write_pairs(struct answer *a, const char *key, const char *const *pairs, const char *name, unsigned rank)
{
	for (; pairs && *pairs; pairs += 2) {
		struct json *j = answer_item(a, key);

		json_object_begin(j);
		answer_text(a, name, pairs[0]);
		json_member_string(j, "shows", pairs[1]);
		json_object_end(j);
		answer_end(a, rank);
	}
}

static bool has_command(const struct answer *a)
{
	return a->options->command && strlen(a->options->command) <= COMMAND_MAX;
}

void answer_leads(struct answer *a, unsigned rank, unsigned rank_more)
{
	g_autofree char *deeper = has_command(a) ? g_strconcat(a->options->command, " --id ID", NULL) : NULL;

	if (a->options->command)
		answer_member_text(a, "deeper", deeper ? deeper : "the same command with --id ID", rank);
	answer_member_text(a, "note", NAMES_ARE_DATA, rank);
	write_pairs(a, "more", has_command(a) ? a->options->more : NULL, "command", rank_more);
	write_pairs(a, "not_recorded", a->options->not_recorded, "record_with", rank_more);
}

static size_t digits(guint n)
{
	return n < 10 ? 1 : 1 + digits(n / 10);
}

/* Upper bound of the answer's length as chosen so far, with "left_out" and "next". */
static size_t length_max(const struct answer *a)
{
	size_t sum = strlen("{}\n") + (a->options->id ? NEXT_BYTES + strlen(a->options->id) : 0), left_out = 0;

	for (guint i = 0; i < a->sections->len; i++) {
		const struct section *s = section_at(a, i);

		if (s->chosen_cnt)
			sum += strlen(s->key) + strlen("\"\":[],") + s->bytes + s->chosen_cnt - 1;
		if (s->left_cnt)
			left_out += strlen(s->key) + strlen("\"\":,") + digits(s->left_cnt);
	}
	return sum + (left_out ? left_out + strlen("\"left_out\":{}") : 0);
}

/* Chooses this text for the piece if it fits. */
static bool choose_text(struct answer *a, struct piece *piece, const char *text)
{
	struct section *s = section_at(a, piece->section);
	const struct section before = *s;

	s->bytes += strlen(text);
	s->chosen_cnt++;
	s->left_cnt--;
	if (length_max(a) <= a->options->max_bytes) {
		piece->chosen = text;
		return true;
	}
	*s = before;
	return false;
}

static bool choose_piece(struct answer *a, struct piece *piece)
{
	return choose_text(a, piece, piece->text) || (piece->in_short && choose_text(a, piece, piece->in_short));
}

static int compare_ranks(gconstpointer va, gconstpointer vb)
{
	const struct piece *a = *(const struct piece *const *)va, *b = *(const struct piece *const *)vb;

	if (a->rank != b->rank)
		return a->rank < b->rank ? -1 : 1;
	return a < b ? -1 : a > b;	/* pieces of one array keep their order */
}

/* Chooses pieces by rank. */
static void choose_by_rank(struct answer *a)
{
	g_autoptr(GPtrArray) order = g_ptr_array_new();

	for (guint i = 0; i < a->pieces->len; i++) {
		section_at(a, piece_at(a, i)->section)->left_cnt++;
		g_ptr_array_add(order, piece_at(a, i));
	}
	g_ptr_array_sort(order, compare_ranks);
	EACH_POINTER(i, struct piece, piece, order) {
		struct section *s = section_at(a, piece->section);

		if (!(s->is_list && s->is_cut) && !choose_piece(a, piece))
			s->is_cut = true;
	}
}

/*
 * Chooses as many pieces from the cursor on as fit.  Returns the start of the next page; 0: this is the last one.  A
 * piece that does not fit on an empty page is skipped, so that every page makes progress.
 */
static guint choose_page(struct answer *a)
{
	guint at = 0, next = 0, taken = 0;

	for (guint i = 0; i < a->pieces->len; i++) {
		struct piece *piece = piece_at(a, i);

		struct section *s = section_at(a, piece->section);

		if (piece->rank && (at++ < a->options->cursor || next))
			continue;
		s->left_cnt++;
		if (choose_piece(a, piece)) {
			taken += piece->rank != 0;
		} else if (taken) {
			s->left_cnt--;
			next = at - 1;
		}
	}
	return next;
}

static guint paged_cnt(const struct answer *a)
{
	guint cnt = 0;

	for (guint i = 0; i < a->pieces->len; i++)
		cnt += piece_at(a, i)->rank != 0;
	return cnt;
}

static void write_section(struct json *j, const struct answer *a, guint at)
{
	const struct section *s = section_at(a, at);

	if (!s->chosen_cnt)
		return;
	json_key(j, s->key);
	if (s->is_list)
		json_array_begin(j);
	for (guint i = 0; i < a->pieces->len; i++) {
		const struct piece *piece = piece_at(a, i);

		if (piece->section == at && piece->chosen)
			json_raw(j, piece->chosen, strlen(piece->chosen));
	}
	if (s->is_list)
		json_array_end(j);
}

static void write_left_out(struct json *j, const struct answer *a)
{
	bool is_any = false;

	for (guint i = 0; i < a->sections->len; i++) {
		const struct section *s = section_at(a, i);

		if (!s->left_cnt)
			continue;
		if (!is_any) {
			json_member_object(j, "left_out");
		}
		is_any = true;
		json_member_uint(j, s->key, s->left_cnt);
	}
	if (is_any)
		json_object_end(j);
}

bool answer_write(GString *out, struct answer *a, GError **error)
{
	const guint paged = paged_cnt(a);
	const size_t from = out->len;
	guint next = 0;
	struct json j;

	if (a->options->cursor && a->options->cursor >= paged)
		return refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE,
			      "--cursor %" PRIu64 ": the answer to --id %s ends before that", a->options->cursor,
			      a->options->id);
	if (a->options->id)
		next = choose_page(a);
	else
		choose_by_rank(a);
	json_begin(&j, out);
	for (guint i = 0; i < a->sections->len; i++)
		write_section(&j, a, i);
	write_left_out(&j, a);
	if (next) {
		g_autofree char *words = g_strdup_printf("--id %s --cursor %u", a->options->id, next);

		JSON_MEMBER(&j, "next", "options", words, "cursor", next, "pieces", paged - next);
	}
	json_end(&j);
	g_assert(out->len - from <= a->options->max_bytes);
	return true;
}

char *answer_id(GHashTable *taken, const char *kind, const char *const *parts, unsigned parts_cnt)
{
	for (unsigned n = 1;; n++) {
		g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
		g_autofree char *number = g_strdup_printf("%u", n);

		/* includes the terminator: "a", "bc" must differ from "ab", "c" */
		for (unsigned i = 0; i < parts_cnt; i++)
			g_checksum_update(sum, (const guchar *)(parts[i] ? parts[i] : ""),
					  (gssize)(parts[i] ? strlen(parts[i]) : 0) + 1);
		g_checksum_update(sum, (const guchar *)number, -1);
		g_autofree char *id = g_strdup_printf("%s-%.*s", kind, ID_DIGITS, g_checksum_get_string(sum));
		if (!g_hash_table_contains(taken, id))
			return g_steal_pointer(&id);
	}
}
