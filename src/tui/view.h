/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef TUI_VIEW_H
#define TUI_VIEW_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "analyse/activity.h"
#include "explain/explain.h"

/*
 * The screen of `offcpu top` as data: rows, their order, the selection, the effect of keys, and the lines to draw. It
 * knows no terminal: screen.c draws the lines and reads the keys.
 */

/* One interval: the profile of a window with the reasons of its waits. `reasons` belongs to the explanation. */
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

/* Characters stand for themselves. Other keys are numbered from here on. */
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
	VIEW_KEY_F0	/* F1 is VIEW_KEY_F0 + 1 */
};

enum view_action {
	VIEW_NOTHING,
	VIEW_PAINT,
	VIEW_REDRAW,		/* other output may be on the terminal */
	VIEW_WRITE,		/* save the interval on the screen as a recording */
	VIEW_SWITCH,		/* is_since_start changed: show that interval */
	VIEW_QUIT
};

enum view_prompt { PROMPT_NONE, PROMPT_FILTER, PROMPT_SEARCH };

/* The state that leaving a drill-down restores. */
struct view_level {
	enum activity_by by;
	struct activity_scope scope;
	struct activity_key selected;
	char *title;		/* of the opened row; not escaped */
};

struct view {
	/* set by the owner */
	unsigned rows, columns;
	bool is_plain;		/* no terminal: no bars, no selection, all columns */
	bool has_utf8;
	const char *target;	/* what is traced, "" for everything; not escaped */

	enum activity_by by;
	enum view_sort sort;
	bool is_since_start;	/* show the sum of all intervals so far */
	bool is_reversed, is_frozen, has_help, is_following, hides_kernel, hides_idle;
	struct activity_scope scope;
	GArray *levels;		/* struct view_level: the enclosing levels */
	const struct interval *shown;
	struct activity *activity;	/* NULL: none yet */
	GArray *order;		/* uint32_t: indexes of its rows in screen order */
	guint selected, first;	/* positions in `order` */
	struct activity_key selected_key;
	bool has_detail;	/* the selected stack is shown in full */
	guint detail_first, detail_lines;	/* scroll position and total lines */
	enum view_prompt prompt;
	GString *typed, *filter, *search;
	char *message;		/* shown on the last line until the next key */
	struct view_base *base;	/* NULL: none */
};

struct view *view_new(void);
void view_free(struct view *v);

/* Shows a new interval, which must stay valid while it is shown. NULL: shows none. */
void view_show(struct view *v, const struct interval *interval);
enum view_action view_key(struct view *v, uint32_t key);
void view_say(struct view *v, const char *message);

/* A baseline that later intervals are compared with. */

struct view_base;
/* The row in the baseline, with the baseline's length in *ret_length_ns. NULL: it was not there. */
const struct activity_row *view_base_row(const struct view_base *b, const struct activity_key *key);
uint64_t view_base_length_ns(const struct view_base *b);

/* order.c */

/* Sorts and filters the rows anew, and keeps the selected row selected. */
void view_order(struct view *v);
const struct activity_row *view_row_at(const struct view *v, guint place);
/* Selects the next row from `from` on whose name matches the search. False: there is none. */
bool view_find(struct view *v, bool backwards, bool from_here);
const char *view_sort_name(enum view_sort sort);

/* paint.c */

/* Bytes in a line that set the style of what follows. Names never contain them, because names are escaped. */
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
/* The number of table rows that fit. */
guint view_table_rows(const struct view *v);

/* detail.c. Wakers are known where the recording has them. */

/* The waker that ended sleeps of the selected stack with the most time. NULL: unknown. */
const struct waker *view_main_waker(const struct view *v);

/* Appends the headlines of the interval, at most `most` lines. */
void view_paint_headlines(const struct view *v, GPtrArray *lines, guint most);
/* Appends the selected row in full, or the help sheet. */
void view_paint_detail(const struct view *v, GPtrArray *lines);
void view_paint_help(const struct view *v, GPtrArray *lines);
/* Appends the line, cut or padded to the view's width. */
void view_add_line(const struct view *v, GPtrArray *lines, const char *text);

/* The terminal, of which there is one at most: draws the lines of view_paint() and reads keys for view_key(). */

/* Takes over the terminal on stdin and stdout. False with an error: the terminal is unchanged. */
bool screen_begin(GError **error);
/* Restores the terminal, once. Any signal that ends the program does so, too, except SIGKILL. */
void screen_end(void);

void screen_size(unsigned *ret_rows, unsigned *ret_columns);
bool screen_has_utf8(void);
/* After Ctrl-Z: restores the terminal and stops the program until it is continued. True: redraw everything. */
bool screen_stop_if_asked(void);
/* anew: redraw everything. */
void screen_draw(const GPtrArray *lines, bool anew);
/* The next key pressed, 0 for none. *ret_is_resized: the terminal has another size. */
uint32_t screen_key(bool *ret_is_resized);

#endif
