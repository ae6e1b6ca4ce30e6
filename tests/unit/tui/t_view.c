/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "tui/view.h"

#include <string.h>

#include "../fixture.h"

struct fixture {
	struct profile *profile;
	struct interval interval;
	struct view *view;
};

static void set_up(struct fixture *f, gconstpointer data)
{
	f->profile = fixture_new();
	f->interval.profile = f->profile;
	f->interval.explanation = explanation_new(f->profile, NULL);
	f->interval.reasons = f->interval.explanation->findings->reasons;
	f->view = view_new();
	view_show(f->view, &f->interval);
}

static void tear_down(struct fixture *f, gconstpointer data)
{
	view_free(f->view);
	explanation_free(f->interval.explanation);
	profile_free(f->profile);
}

static void press(struct fixture *f, const char *keys)
{
	for (; *keys; keys++)
		g_assert_cmpint(view_key(f->view, (uint32_t)*keys), ==, VIEW_PAINT);
}

/* The screen as it is read, without styles. */
static char *screen(struct fixture *f)
{
	g_autoptr(GPtrArray) lines = view_paint(f->view);
	GString *text = g_string_new(NULL);

	g_assert_cmpuint(lines->len, <=, f->view->rows);
	for (guint i = 0; i < lines->len; i++) {
		unsigned columns = 0;

		for (const char *c = lines->pdata[i]; *c; c = g_utf8_next_char(c)) {
			if ((unsigned char)*c < 32)
				continue;
			g_string_append_unichar(text, g_utf8_get_char(c));
			columns++;
		}
		g_assert_cmpuint(columns, <=, f->view->columns);
		g_string_append_c(text, '\n');
	}
	return g_string_free(text, FALSE);
}

static void assert_shows(struct fixture *f, const char *text, bool wanted)
{
	g_autofree char *all = screen(f);

	if (!strstr(all, text) == wanted)
		g_test_message("%s", all);
	g_assert_cmpint(strstr(all, text) != NULL, ==, wanted);
}

static const char *selected(struct fixture *f)
{
	return view_row_at(f->view, f->view->selected)->name;
}

static void test_nothing_yet(struct fixture *f, gconstpointer data)
{
	view_show(f->view, NULL);
	assert_shows(f, "first interval", true);
	for (uint32_t key = 1; key < 128; key++)
		if (key != 'q' && key != 'Q' && key != 'w')
			view_key(f->view, key);
	for (uint32_t key = VIEW_KEY_UP; key < VIEW_KEY_F0 + 10; key++)
		view_key(f->view, key);
	g_assert_cmpint(view_key(f->view, 'w'), !=, VIEW_QUIT);
	free(screen(f));
}

static void test_rows(struct fixture *f, gconstpointer data)
{
	assert_shows(f, "PID PROCESS", true);
	assert_shows(f, "server", true);
	assert_shows(f, "whole system, 5 threads, 1.00 s, exact", true);
	press(f, "2");
	assert_shows(f, "TID THREAD", true);
	g_assert_cmpuint(f->view->order->len, ==, 5);
	press(f, "3");
	assert_shows(f, "REASON", true);
	press(f, "4");
	assert_shows(f, "OBJECT", true);
	press(f, "5");
	assert_shows(f, "STACK", true);
	press(f, "v");
	assert_shows(f, "ROUTE", true);
	press(f, "v");
	assert_shows(f, "PID PROCESS", true);
	g_assert_cmpint(view_key(f->view, VIEW_KEY_TAB), ==, VIEW_PAINT);
	assert_shows(f, "TID THREAD", true);
}

static void test_moving(struct fixture *f, gconstpointer data)
{
	press(f, "2");
	g_assert_cmpuint(f->view->selected, ==, 0);
	press(f, "jj");
	view_key(f->view, VIEW_KEY_DOWN);
	g_assert_cmpuint(f->view->selected, ==, 3);
	press(f, "k");
	g_assert_cmpuint(f->view->selected, ==, 2);
	press(f, "G");
	g_assert_cmpuint(f->view->selected, ==, 4);
	press(f, "jj");
	g_assert_cmpuint(f->view->selected, ==, 4);
	press(f, "g");
	view_key(f->view, VIEW_KEY_UP);
	g_assert_cmpuint(f->view->selected, ==, 0);
	/* no more rows than fit, and the selected one among them */
	f->view->rows = 7;
	press(f, "G");
	g_autofree char *all = screen(f);

	g_assert_cmpuint(f->view->first, ==, 3);
	view_key(f->view, VIEW_KEY_PAGE_UP);
	g_assert_cmpuint(f->view->selected, ==, 3);
	view_key(f->view, VIEW_KEY_PAGE_DOWN);
	g_assert_cmpuint(f->view->selected, ==, 4);
}

static void test_sorting(struct fixture *f, gconstpointer data)
{
	press(f, "2N");
	g_assert_cmpuint(view_row_at(f->view, 0)->pid, ==, 2);
	press(f, "I");
	g_assert_cmpuint(view_row_at(f->view, 0)->pid, ==, 200);
	press(f, "P");
	g_assert_cmpuint(view_row_at(f->view, 0)->tid, ==, 101);
	g_assert_cmpuint(view_row_at(f->view, 0)->on_cpu_ns, ==, 200000000);
	press(f, "P");
	g_assert_cmpuint(view_row_at(f->view, 4)->tid, ==, 101);
	press(f, "T");
	for (int i = 0; i < SORT_COUNT; i++) {
		press(f, ">");
		for (guint k = 0; k < f->view->order->len; k++)
			g_assert_nonnull(view_row_at(f->view, k));
	}
	g_assert_cmpint(f->view->sort, ==, SORT_MATTERS);
	press(f, "<");
	g_assert_cmpint(f->view->sort, ==, SORT_NAME);
	g_assert_cmpstr(view_row_at(f->view, 0)->name, <, view_row_at(f->view, 4)->name);
}

static void test_filter_and_search(struct fixture *f, gconstpointer data)
{
	press(f, "2\\");
	press(f, "worX");
	assert_shows(f, "only rows with: worX_", true);
	view_key(f->view, VIEW_KEY_BACK);
	view_key(f->view, VIEW_KEY_ENTER);
	g_assert_cmpuint(f->view->order->len, ==, 3);
	assert_shows(f, "only with \"wor\"", true);
	press(f, "/");
	press(f, "KWO");
	view_key(f->view, VIEW_KEY_ENTER);
	g_assert_cmpstr(selected(f), ==, "kwork");
	press(f, "/");
	press(f, "worker");
	view_key(f->view, VIEW_KEY_ENTER);
	g_assert_cmpstr(selected(f), ==, "worker");
	guint first = f->view->selected;

	press(f, "n");
	g_assert_cmpuint(f->view->selected, !=, first);
	press(f, "p");
	g_assert_cmpuint(f->view->selected, ==, first);
	press(f, "/");
	press(f, "nobody");
	view_key(f->view, VIEW_KEY_ENTER);
	assert_shows(f, "nothing found", true);
	press(f, "&");
	view_key(f->view, VIEW_KEY_ESCAPE);
	g_assert_cmpuint(f->view->order->len, ==, 3);
	press(f, "K");
	g_assert_cmpuint(f->view->order->len, ==, 2);
}

static void test_waker(struct fixture *f, gconstpointer data)
{
	press(f, "W");
	assert_shows(f, "W is for a stack with a waker", true);
	fixture_add_wakers(f->profile);
	press(f, "5");
	for (guint i = 0; i < f->view->order->len && !view_main_waker(f->view); i++)
		press(f, "j");
	const struct waker *waker = view_main_waker(f->view);

	g_assert_nonnull(waker);
	view_key(f->view, VIEW_KEY_ENTER);
	f->view->rows = 60;
	g_autofree char *says = g_strdup_printf("woken by %s", waker->irq ? waker->irq : waker->comm);

	assert_shows(f, says, true);
	press(f, "W");
	if (waker->irq)
		assert_shows(f, "an interrupt woke it", true);
	else
		g_assert_cmpuint(f->view->scope.tid, ==, waker->tid);
}

static void test_since_start(struct fixture *f, gconstpointer data)
{
	g_assert_cmpint(view_key(f->view, 'a'), ==, VIEW_SWITCH);
	assert_shows(f, "[since the start]", true);
	g_assert_cmpint(view_key(f->view, 'a'), ==, VIEW_SWITCH);
	assert_shows(f, "[since the start]", false);
}

static void test_drilling_down(struct fixture *f, gconstpointer data)
{
	press(f, "/");
	press(f, "server");
	view_key(f->view, VIEW_KEY_ENTER);
	view_key(f->view, VIEW_KEY_ENTER);
	assert_shows(f, "by stack of server", true);
	g_assert_cmpuint(f->view->order->len, ==, 4);
	view_key(f->view, VIEW_KEY_ENTER);
	assert_shows(f, "kernel:", true);
	press(f, "j");
	g_assert_cmpuint(f->view->detail_first, ==, 1);
	view_key(f->view, VIEW_KEY_ESCAPE);
	assert_shows(f, "by stack of server", true);
	view_key(f->view, VIEW_KEY_ESCAPE);
	assert_shows(f, "PID PROCESS", true);
	g_assert_cmpstr(selected(f), ==, "server");
	view_key(f->view, VIEW_KEY_ESCAPE);
	assert_shows(f, "PID PROCESS", true);
	for (const char *by = "2346"; *by; by++) {
		view_key(f->view, (uint32_t)*by);
		guint cnt = f->view->order->len;

		for (guint i = 0; i < cnt; i++) {
			f->view->selected = i;
			view_key(f->view, VIEW_KEY_ENTER);
			g_assert_cmpint(f->view->by, ==, ACTIVITY_BY_STACK);
			g_assert_cmpuint(f->view->order->len, >=, 1);
			view_key(f->view, VIEW_KEY_BACK);
		}
	}
}

static void test_baseline(struct fixture *f, gconstpointer data)
{
	press(f, "d");
	assert_shows(f, "[baseline]", true);
	g_assert_nonnull(f->view->base);
	view_show(f->view, &f->interval);
	view_key(f->view, VIEW_KEY_UP);	/* the message goes */
	g_autoptr(GPtrArray) lines = view_paint(f->view);
	const char *row = lines->pdata[4];

	/* nothing has changed, in none of the columns */
	g_assert_nonnull(strstr(row, "     =     =     =       = "));
	press(f, "d");
	g_assert_null(f->view->base);
}

/* A row that is followed stays selected when others come before it, and with none in its place another interval selects the same place. */
static void test_following(struct fixture *f, gconstpointer data)
{
	press(f, "2P");
	press(f, "F");
	uint32_t tid = view_row_at(f->view, f->view->selected)->tid;

	g_assert_cmpuint(tid, ==, 101);
	press(f, "I");
	g_assert_cmpuint(view_row_at(f->view, f->view->selected)->tid, ==, 101);
	g_assert_cmpuint(f->view->selected, ==, 4);
	press(f, "FI");
	g_assert_cmpuint(f->view->selected, ==, 4);
	press(f, " ");
	g_assert_true(f->view->is_frozen);
	assert_shows(f, "[frozen]", true);
}

static void test_help_and_ends(struct fixture *f, gconstpointer data)
{
	press(f, "?");
	assert_shows(f, "this sheet", true);
	press(f, "x");
	assert_shows(f, "PID PROCESS", true);
	g_assert_cmpint(view_key(f->view, VIEW_KEY_F0 + 1), ==, VIEW_PAINT);
	g_assert_cmpint(view_key(f->view, 'q'), ==, VIEW_PAINT);
	g_assert_cmpint(view_key(f->view, 'w'), ==, VIEW_WRITE);
	g_assert_cmpint(view_key(f->view, 'L' - '@'), ==, VIEW_REDRAW);
	g_assert_cmpint(view_key(f->view, 0x1f600), ==, VIEW_NOTHING);
	g_assert_cmpint(view_key(f->view, 'q'), ==, VIEW_QUIT);
	g_assert_cmpint(view_key(f->view, VIEW_KEY_F0 + 10), ==, VIEW_QUIT);
}

/* What a program is called must not reach the terminal as it is; and what is no ASCII only where that is shown. */
static void test_names_are_escaped(struct fixture *f, gconstpointer data)
{
	struct thread *t = &g_array_index(f->profile->threads, struct thread, 0);

	t->process = t->comm = profile_string(f->profile, "\x1b[2J\x01\xe2\x80\xae" "e\xc3\xa9");
	view_show(f->view, &f->interval);
	press(f, "2");
	g_autoptr(GPtrArray) lines = view_paint(f->view);

	for (guint i = 0; i < lines->len; i++)
		for (const char *c = lines->pdata[i]; *c; c++)
			g_assert_true((unsigned char)*c < 128 && *c != 27 && ((unsigned char)*c >= 32 || *c <= STYLE_SELECTED));
	assert_shows(f, "\\x1b", true);
	f->view->has_utf8 = true;
	assert_shows(f, "█", true);
}

static void test_any_size(struct fixture *f, gconstpointer data)
{
	static const char keys[] = "12345d?x\rj\x1b";

	for (unsigned rows = 1; rows < 30; rows += 3) {
		for (unsigned columns = 1; columns < 140; columns += 7) {
			f->view->rows = rows;
			f->view->columns = columns;
			for (const char *key = keys; *key; key++) {
				view_key(f->view, *key == '\r' ? VIEW_KEY_ENTER : *key == 27 ? VIEW_KEY_ESCAPE : (uint32_t)*key);
				g_free(screen(f));
			}
		}
	}
}

static void test_plain(struct fixture *f, gconstpointer data)
{
	f->view->is_plain = true;
	f->view->columns = f->view->rows = 0;
	g_autoptr(GPtrArray) lines = view_paint(f->view);

	g_assert_cmpuint(lines->len, ==, 3 + 3);
	for (guint i = 0; i < lines->len; i++)
		for (const char *c = lines->pdata[i]; *c; c++)
			g_assert_cmpint((unsigned char)*c, >=, 32);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *path;
		void (*test)(struct fixture *f, gconstpointer data);
	} tests[] = {
		{ "/view/nothing-yet", test_nothing_yet },
		{ "/view/rows", test_rows },
		{ "/view/moving", test_moving },
		{ "/view/sorting", test_sorting },
		{ "/view/filter-and-search", test_filter_and_search },
		{ "/view/waker", test_waker },
		{ "/view/since-start", test_since_start },
		{ "/view/drilling-down", test_drilling_down },
		{ "/view/baseline", test_baseline },
		{ "/view/following", test_following },
		{ "/view/help-and-ends", test_help_and_ends },
		{ "/view/names-are-escaped", test_names_are_escaped },
		{ "/view/any-size", test_any_size },
		{ "/view/plain", test_plain },
	};

	g_test_init(&argc, &argv, NULL);
	for (gsize i = 0; i < G_N_ELEMENTS(tests); i++)
		g_test_add(tests[i].path, struct fixture, NULL, set_up, tests[i].test, tear_down);
	return g_test_run();
}
