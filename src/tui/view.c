/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "tui/view.h"

#include <string.h>

struct view_base {
	GHashTable *rows;	/* struct activity_key -> struct activity_row, which holds it */
	uint64_t length_ns;
};

static struct view_base *view_base_new(const struct activity *a, uint64_t length_ns)
{
	struct view_base *b = g_new0(struct view_base, 1);

	b->rows = g_hash_table_new_full(activity_key_hash, activity_key_equal, NULL, g_free);
	b->length_ns = length_ns;
	for (guint i = 0; i < a->rows->len; i++) {
		struct activity_row *row = g_memdup2(&g_array_index(a->rows, struct activity_row, i), sizeof(*row));

		row->name = NULL;	/* owned by the activity, which may be freed first */
		g_hash_table_insert(b->rows, &row->key, row);
	}
	return b;
}

static FREES(view_base_free, struct view_base, b, g_hash_table_destroy(b->rows))

const struct activity_row *view_base_row(const struct view_base *b, const struct activity_key *key)
{
	return g_hash_table_lookup(b->rows, key);
}

uint64_t view_base_length_ns(const struct view_base *b)
{
	return b->length_ns;
}

static void free_level(gpointer data)
{
	g_free(((struct view_level *)data)->title);
}

struct view *view_new(void)
{
	struct view *v = g_new0(struct view, 1);

	v->rows = 24;
	v->columns = 80;
	v->target = "";
	v->order = g_array_new(FALSE, FALSE, sizeof(uint32_t));
	v->levels = g_array_new(FALSE, FALSE, sizeof(struct view_level));
	g_array_set_clear_func(v->levels, free_level);
	v->typed = g_string_new(NULL);
	v->filter = g_string_new(NULL);
	v->search = g_string_new(NULL);
	return v;
}

FREES(view_free, struct view, v, activity_free(v->activity); view_base_free(v->base); g_array_unref(v->order);
      g_array_unref(v->levels); g_string_free(v->typed, TRUE); g_string_free(v->filter, TRUE); g_string_free(v->search,
      TRUE); g_free(v->message))

void view_say(struct view *v, const char *message)
{
	g_free(v->message);
	v->message = g_strdup(message);
}

static void compute(struct view *v)
{
	activity_free(v->activity);
	v->activity = v->shown ? activity_new(v->shown->profile, v->shown->reasons, v->by, &v->scope) : NULL;
	view_order(v);
}

void view_show(struct view *v, const struct interval *interval)
{
	v->shown = interval;
	compute(v);
}

/* The view has other rows, so the old baseline is dropped. */
static void change_rows(struct view *v, enum activity_by by)
{
	v->by = by;
	g_clear_pointer(&v->base, view_base_free);
	v->is_following = v->has_detail = false;
	v->selected = v->first = 0;
	g_string_truncate(v->filter, 0);
	compute(v);
}

static void go_back(struct view *v)
{
	if (v->has_detail) {
		v->has_detail = false;
		return;
	}
	if (!v->levels->len)
		return;
	struct view_level *level = &g_array_index(v->levels, struct view_level, v->levels->len - 1);

	v->scope = level->scope;
	change_rows(v, level->by);
	v->selected_key = level->selected;
	g_array_set_size(v->levels, v->levels->len - 1);
	for (guint i = 0; i < v->order->len; i++)
		if (memcmp(&view_row_at(v, i)->key, &v->selected_key, sizeof(v->selected_key)) == 0)
			v->selected = i;
}

/* Opens the stacks of the selected row, or the frames of a stack. */
static void open_row(struct view *v)
{
	const struct activity_row *r = view_row_at(v, v->selected);
	struct view_level level = { .by = v->by, .scope = v->scope };

	if (!r)
		return;
	if (v->by == ACTIVITY_BY_STACK) {
		v->has_detail = true;
		v->selected_key = r->key;
		v->detail_first = 0;
		return;
	}
	level.selected = r->key;
	level.title = g_strdup(r->name);
	switch (v->by) {
	case ACTIVITY_BY_THREAD: v->scope.tid = r->tid; v->scope.pid = r->pid; break;
	case ACTIVITY_BY_REASON: v->scope.reason = (uint32_t)r->key.word[0] + 1; break;
	case ACTIVITY_BY_OBJECT: v->scope.object = (uint32_t)r->key.word[0] + 1; break;
	case ACTIVITY_BY_ROUTE: v->scope.route = r->key.word[0]; break;
	default: v->scope.pid = r->pid; break;
	}
	g_array_append_val(v->levels, level);
	change_rows(v, ACTIVITY_BY_STACK);
}

static void set_baseline(struct view *v)
{
	if (v->base) {
		g_clear_pointer(&v->base, view_base_free);
		view_say(v, "no baseline any more");
	} else if (v->activity) {
		v->base = view_base_new(v->activity, v->shown->profile->info.duration_ns);
		view_say(v, "baseline: what follows is shown as a difference to this interval; d ends that");
	}
}

static void move_to(struct view *v, gint64 place)
{
	if (v->has_detail) {
		v->detail_first = (guint)CLAMP((gint64)v->detail_first + place - v->selected, 0,
					       MAX((gint64)v->detail_lines - 1, 0));
		return;
	}
	v->selected = (guint)CLAMP(place, 0, MAX((gint64)v->order->len - 1, 0));
	if (v->order->len)
		v->selected_key = view_row_at(v, v->selected)->key;
}

static bool move_key(struct view *v, uint32_t key)
{
	guint page = MAX(view_table_rows(v), 2) - 1;

	switch (key) {
	case VIEW_KEY_UP: case 'k': move_to(v, (gint64)v->selected - 1); return true;
	case VIEW_KEY_DOWN: case 'j': move_to(v, (gint64)v->selected + 1); return true;
	case VIEW_KEY_PAGE_UP: case 'b': case 'B' - '@': move_to(v, (gint64)v->selected - page); return true;
	case VIEW_KEY_PAGE_DOWN: case 'f': case 'F' - '@': move_to(v, (gint64)v->selected + page); return true;
	case VIEW_KEY_HOME: case 'g': move_to(v, 0); return true;
	case VIEW_KEY_END: case 'G': move_to(v, G_MAXINT32); return true;
	default: return false;
	}
}

static void search_on(struct view *v, bool backwards)
{
	if (v->search->len && !view_find(v, backwards, false))
		view_say(v, "nothing found");
}

static void prompt_for(struct view *v, enum view_prompt prompt)
{
	v->prompt = prompt;
	g_string_assign(v->typed, prompt == PROMPT_FILTER ? v->filter->str : "");
}

static void end_prompt(struct view *v)
{
	g_string_assign(v->prompt == PROMPT_FILTER ? v->filter : v->search, v->typed->str);
	if (v->prompt == PROMPT_FILTER)
		view_order(v);
	else if (v->search->len && !view_find(v, false, true))
		view_say(v, "nothing found");
	v->prompt = PROMPT_NONE;
}

#define TYPED_MAX_BYTES 200

static void prompt_key(struct view *v, uint32_t key)
{
	char *end = v->typed->str + v->typed->len;

	if (key == VIEW_KEY_ENTER)
		end_prompt(v);
	else if (key == VIEW_KEY_ESCAPE)
		v->prompt = PROMPT_NONE;
	else if (key == VIEW_KEY_BACK && v->typed->len)
		g_string_truncate(v->typed, (gsize)(g_utf8_find_prev_char(v->typed->str, end) - v->typed->str));
	else if (key < VIEW_KEY_UP && g_unichar_isprint(key) && v->typed->len < TYPED_MAX_BYTES)
		g_string_append_unichar(v->typed, key);
}

static void sort_by(struct view *v, enum view_sort sort)
{
	v->is_reversed = v->sort == sort && !v->is_reversed;
	v->sort = sort;
	v->selected = v->is_following ? v->selected : 0;
	view_order(v);
}

/* htop's sort keys, and the two that move between columns. */
static bool sort_key(struct view *v, uint32_t key)
{
	switch (key) {
	case '<': case ',': v->is_reversed = false; v->sort = (v->sort + SORT_COUNT - 1) % SORT_COUNT; break;
	case '>': case '.': case VIEW_KEY_F0 + 6: v->is_reversed = false; v->sort = (v->sort + 1) % SORT_COUNT; break;
	case 'I': v->is_reversed = !v->is_reversed; break;
	case 'P': sort_by(v, SORT_ON_CPU); return true;
	case 'T': sort_by(v, SORT_MATTERS); return true;
	case 'N': sort_by(v, SORT_PID); return true;
	default: return false;
	}
	view_order(v);
	return true;
}

static bool toggle_key(struct view *v, uint32_t key)
{
	switch (key) {
	case ' ':
		v->is_frozen = !v->is_frozen;
		return true;
	case 'K':
		v->hides_kernel = !v->hides_kernel;
		break;
	case 'i':
		v->hides_idle = !v->hides_idle;
		break;
	case 'F':
		v->is_following = !v->is_following;
		view_say(v,
			 v->is_following ? "the selected row is followed; F ends that" : "no row is followed any more");
		return true;
	case 'd':
		set_baseline(v);
		return true;
	default: return false;
	}
	view_order(v);
	return true;
}

static bool prompt_begins(struct view *v, uint32_t key)
{
	switch (key) {
	case '/': case VIEW_KEY_F0 + 3: prompt_for(v, PROMPT_SEARCH); return true;
	case '\\': case '&': case VIEW_KEY_F0 + 4: prompt_for(v, PROMPT_FILTER); return true;
	case 'n': search_on(v, false); return true;
	case 'p': search_on(v, true); return true;
	default: return false;
	}
}

static enum view_action leave_help(struct view *v, uint32_t key)
{
	v->has_help = false;
	return key == 'Q' ? VIEW_QUIT : VIEW_PAINT;
}

/* Opens the stacks of the thread that ended the sleeps of the selected stack. */
static void open_waker(struct view *v)
{
	const struct waker *waker = v->by == ACTIVITY_BY_STACK ? view_main_waker(v) : NULL;
	struct view_level level = { .by = v->by, .scope = v->scope, .selected = v->selected_key };

	if (!waker || waker->irq) {
		view_say(v, waker ? "an interrupt woke it, which waits for nothing"
				  : "W is for a stack with a waker: see --wakers, 5 and Enter");
		return;
	}
	level.title = g_strdup(waker->comm);
	g_array_append_val(v->levels, level);
	v->scope = (struct activity_scope){ .pid = waker->pid, .tid = waker->tid };
	change_rows(v, ACTIVITY_BY_STACK);
	if (!v->order->len)
		view_say(v, "the waker was not traced, or did not wait; Esc goes back");
}

static enum view_action switch_time(struct view *v)
{
	if (!v->shown)
		return VIEW_NOTHING;
	v->is_since_start = !v->is_since_start;
	view_say(v, v->is_since_start ? "all since the start; a goes back to the last interval" : "the last interval");
	return VIEW_SWITCH;
}

static enum view_action other_key(struct view *v, uint32_t key)
{
	switch (key) {
	case 'q': case 'Q': case VIEW_KEY_F0 + 10: return VIEW_QUIT;
	case '?': case 'h': case VIEW_KEY_F0 + 1: v->has_help = true; return VIEW_PAINT;
	case 'a': return switch_time(v);
	case 'W': open_waker(v); return VIEW_PAINT;
	case 'w': return v->shown ? VIEW_WRITE : VIEW_NOTHING;
	case VIEW_KEY_REDRAW: case 'L' - '@': return VIEW_REDRAW;
	case VIEW_KEY_ENTER: open_row(v); return VIEW_PAINT;
	case VIEW_KEY_ESCAPE: case VIEW_KEY_BACK: go_back(v); return VIEW_PAINT;
	case VIEW_KEY_TAB: case 'v': g_array_set_size(v->levels, 0); v->scope = (struct activity_scope){ 0 };
		change_rows(v, (v->by + 1) % ACTIVITY_BY_COUNT); return VIEW_PAINT;
	default: break;
	}
	if (key < '1' || key >= '1' + ACTIVITY_BY_COUNT)
		return VIEW_NOTHING;
	g_array_set_size(v->levels, 0);
	v->scope = (struct activity_scope){ 0 };
	change_rows(v, (enum activity_by)(key - '1'));
	return VIEW_PAINT;
}

enum view_action view_key(struct view *v, uint32_t key)
{
	g_clear_pointer(&v->message, g_free);
	if (v->prompt != PROMPT_NONE && key != VIEW_KEY_REDRAW) {
		prompt_key(v, key);
		return VIEW_PAINT;
	}
	if (v->has_help && key != VIEW_KEY_REDRAW)
		return leave_help(v, key);
	if (move_key(v, key) || sort_key(v, key) || toggle_key(v, key) || prompt_begins(v, key))
		return VIEW_PAINT;
	return other_key(v, key);
}
