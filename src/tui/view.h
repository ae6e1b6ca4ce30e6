/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TUI_VIEW_H
#define TUI_VIEW_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "analyse/activity.h"
#include "explain/explain.h"

/*
 * The screen of `offcpu top` as data: which rows of the last interval it shows in which order, what is selected, what
 * keys do, and the lines that come of it.  It knows no terminal: screen.c draws the lines and reads the keys.
 */

/* One interval: the profile of a window, and what its waits were for; reasons are those of the explanation. */
struct interval {
	const struct profile *profile;
	struct reasons *reasons;
	struct explanation *explanation;
};

enum view_sort {
	SORT_MATTERS = 0,	/* time off CPU that was not idle */
	SORT_ON_CPU,
	SORT_BLOCKED,
	SORT_QUEUE,
	SORT_IDLE,
	SORT_WAITS,
	SORT_MEDIAN,
	SORT_P99,
	SORT_THREADS,
	SORT_PID,
	SORT_NAME,
	SORT_COUNT
};

/* Keys: characters as themselves, others from here on. */
enum view_key {
	VIEW_KEY_UP = 0x110000,
	VIEW_KEY_DOWN,
	VIEW_KEY_PAGE_UP,
	VIEW_KEY_PAGE_DOWN,
	VIEW_KEY_HOME,
	VIEW_KEY_END,
	VIEW_KEY_ENTER,
	VIEW_KEY_BACK,
	VIEW_KEY_ESCAPE,
	VIEW_KEY_TAB,
	VIEW_KEY_REDRAW,
	VIEW_KEY_F0	/* F1 is the next one */
};

enum view_action {
	VIEW_NOTHING,
	VIEW_PAINT,		/* something has changed */
	VIEW_REDRAW,		/* the terminal may show what we did not write */
	VIEW_WRITE,		/* a recording of the interval on the screen */
	VIEW_SWITCH,		/* is_since_start is another: show that interval */
	VIEW_QUIT
};

enum view_prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_SEARCH };

/* What a drill-down goes back to. */
struct view_level {
	enum activity_by by;
	struct activity_scope scope;
	struct activity_key selected;
	char *title;		/* of the row that was opened; not escaped */
};

struct view {
	/* set by who owns it */
	unsigned rows, columns;
	bool is_plain;		/* no terminal: no bars, no selection, all columns */
	bool has_utf8;
	const char *target;	/* whom is traced, "" for all; not escaped */

	enum activity_by by;
	enum view_sort sort;
	bool is_since_start;	/* what is shown is the sum of all intervals up to now */
	bool is_reversed, is_frozen, has_help, is_following, hides_kernel, hides_idle;
	struct activity_scope scope;
	GArray *levels;		/* struct view_level: those above */
	const struct interval *shown;
	struct activity *activity;	/* NULL: none yet */
	GArray *order;		/* uint32_t: its rows as they stand on the screen */
	guint selected, first;	/* places in `order` */
	struct activity_key selected_key;
	bool has_detail;	/* the selected stack, in full */
	guint detail_first, detail_lines;	/* how far it is scrolled; how long it is */
	enum view_prompt prompt;
	GString *typed, *filter, *search;
	char *message;		/* on the last line, until the next key */
	struct view_base *base;	/* NULL: none */
};

struct view *view_new(void);
void view_free(struct view *v);

/* A new interval; it stays as long as the view shows it.  NULL: the one that is shown goes. */
void view_show(struct view *v, const struct interval *interval);
enum view_action view_key(struct view *v, uint32_t key);
void view_say(struct view *v, const char *message);

/* An interval that others are compared with. */

struct view_base;
/* The row as it was then, with *ret_length_ns; NULL: there was none. */
const struct activity_row *view_base_row(const struct view_base *b, const struct activity_key *key);
uint64_t view_base_length_ns(const struct view_base *b);

/* order.c */

/* Sorts and filters the rows anew, and finds the selected one again. */
void view_order(struct view *v);
const struct activity_row *view_row_at(const struct view *v, guint place);
/* Selects the next row, from `from` on, whose name has what was searched for.  False: there is none. */
bool view_find(struct view *v, bool backwards, bool from_here);
const char *view_sort_name(enum view_sort sort);

/* paint.c */

/* Bytes in a line that change the style of what follows; no name has them, for names are escaped. */
enum view_style {
	STYLE_PLAIN = 1,
	STYLE_BOLD,
	STYLE_DIM,
	STYLE_ON_CPU,
	STYLE_BLOCKED,
	STYLE_QUEUE,
	STYLE_IDLE,
	STYLE_SELECTED
};

/* The lines of the screen, each a char *, at most `rows` unless is_plain.  Free with g_ptr_array_unref(). */
GPtrArray *view_paint(struct view *v);
/* How many rows of the table fit. */
guint view_table_rows(const struct view *v);

/* detail.c: wakers of the stack are those of a recording with them. */

/* Who ended most of the selected stack's sleeps, by the time of these; NULL: it is not known. */
const struct waker *view_main_waker(const struct view *v);

/* What the interval has to say, in at most so many lines. */
void view_paint_headlines(const struct view *v, GPtrArray *lines, guint most);
/* The selected row in full, appended as lines; and the help sheet. */
void view_paint_detail(const struct view *v, GPtrArray *lines);
void view_paint_help(const struct view *v, GPtrArray *lines);
/* Appends the line, styles and all, cut or filled to so many columns. */
void view_add_line(const struct view *v, GPtrArray *lines, const char *text);

/* The terminal: lines as view_paint() makes them, and keys as view_key() takes them.  There is one at most. */

/* Takes the terminal on stdin and stdout.  False with a sentence: it cannot, and is as it was. */
bool screen_begin(GError **error);
/* Gives it back as it was; nothing where that was done.  So does any signal that ends the program, but SIGKILL. */
void screen_end(void);

void screen_size(unsigned *ret_rows, unsigned *ret_columns);
bool screen_has_utf8(void);
/*
 * Where Ctrl-Z was pressed: gives the terminal back and stops the program until it is continued.  True: so draw all
 * anew.
 */
bool screen_stop_if_asked(void);
/* anew: as if nothing was on the screen. */
void screen_draw(const GPtrArray *lines, bool anew);
/* The next key that was pressed; 0: none.  *ret_is_resized: the size is another. */
uint32_t screen_key(bool *ret_is_resized);

#endif
