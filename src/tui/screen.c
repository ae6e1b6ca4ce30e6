/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */

#define NCURSES_WIDECHAR 1
#include <curses.h>
#include <fcntl.h>
#include <langinfo.h>
#include <signal.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/refuse.h"
#include "tui/view.h"

/* There is one screen a process, so state is static. */
static SCREEN *screen;
static bool has_colour;
/* Read by signal handlers: the terminal's settings before us, and the bytes that restore it. */
static struct termios before;
static char goodbye[128];
static volatile sig_atomic_t is_taken;
static volatile sig_atomic_t is_stop_asked;

static const int fatal[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGQUIT, SIGSYS };

/*
 * Signals that ask the program to end, handled in the main loop. A terminal that still blocks our output this long
 * after the signal is given up.
 */
#define WRITE_GRACE_S 1
static const int ends[] = { SIGTERM, SIGHUP, SIGINT };
static volatile sig_atomic_t is_end_asked;

static void give_back(void)
{
	int flags = fcntl(STDOUT_FILENO, F_GETFL);

	if (!is_taken)
		return;
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
	/* the terminal may accept no output */
	fcntl(STDOUT_FILENO, F_SETFL, flags | O_NONBLOCK);
	if (write(STDOUT_FILENO, goodbye, strlen(goodbye)) < 0)
		is_taken = 0;
	fcntl(STDOUT_FILENO, F_SETFL, flags);
}

static void on_fatal(int sig)
{
	give_back();
	signal(sig, SIG_DFL);
	raise(sig);
}

static void on_end_asked(int sig)
{
	is_end_asked = sig;
	alarm(WRITE_GRACE_S);
}

/* Any thread may run this handler, so the signal goes to the process. */
static void on_grace_over(int sig)
{
	give_back();
	signal(is_end_asked, SIG_DFL);
	kill(getpid(), is_end_asked);
}

static void on_stop_asked(int sig)
{
	is_stop_asked = 1;
}

static bool is_ignored(int sig)
{
	struct sigaction old;

	return sigaction(sig, NULL, &old) == 0 && old.sa_handler == SIG_IGN;
}

static void add_capability(const char *name)
{
	const char *text = tigetstr(name);

	if (text && text != (char *)-1)
		g_strlcat(goodbye, text, sizeof(goodbye));
}

static void begin_colours(void)
{
	static const short colours[][2] = { { STYLE_ON_CPU, COLOR_GREEN },
					    { STYLE_BLOCKED, COLOR_RED },
					    { STYLE_QUEUE, COLOR_YELLOW },
					    { STYLE_IDLE, COLOR_BLUE } };
	const char *no_colour = g_getenv("NO_COLOR");

	has_colour = !(no_colour && *no_colour) && has_colors();
	if (!has_colour)
		return;
	start_color();
	use_default_colors();
	for (gsize i = 0; i < G_N_ELEMENTS(colours); i++)
		init_pair(colours[i][0], colours[i][1], -1);
}

bool screen_begin(GError **error)
{
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return refuse(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
			"needs a terminal; --batch prints without one");
	tcgetattr(STDIN_FILENO, &before);
	/*
	 * Set before curses starts: where curses installs its own SIGTSTP handler, it ignores Ctrl-Z while it writes.
	 */
	is_stop_asked = 0;
	signal(SIGTSTP, on_stop_asked);
	screen = newterm(NULL, stdout, stdin);
	if (!screen) {
		signal(SIGTSTP, SIG_DFL);
		g_set_error(error, G_FILE_ERROR, G_FILE_ERROR_FAILED,
			    "this terminal (TERM=%s) is not known; --batch prints without it",
			    g_getenv("TERM") ? g_getenv("TERM") : "");
		return false;
	}
	goodbye[0] = 0;
	add_capability("sgr0");
	add_capability("cnorm");
	add_capability("rmcup");
	add_capability("rmkx");
	is_taken = 1;
	for (gsize i = 0; i < G_N_ELEMENTS(fatal); i++)
		signal(fatal[i], on_fatal);
	for (gsize i = 0; i < G_N_ELEMENTS(ends); i++)
		if (!is_ignored(ends[i]))
			signal(ends[i], on_end_asked);
	signal(SIGALRM, on_grace_over);
	begin_colours();
	cbreak();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	set_escdelay(25);
	curs_set(0);
	return true;
}

void screen_end(void)
{
	if (!screen)
		return;
	endwin();
	is_taken = 0;
	for (gsize i = 0; i < G_N_ELEMENTS(fatal); i++)
		signal(fatal[i], SIG_DFL);
	for (gsize i = 0; i < G_N_ELEMENTS(ends); i++)
		if (!is_ignored(ends[i]))
			signal(ends[i], SIG_DFL);
	signal(SIGTSTP, SIG_DFL);
	delscreen(screen);
	screen = NULL;
}

bool screen_stop_if_asked(void)
{
	if (!is_stop_asked)
		return false;
	is_stop_asked = 0;
	endwin();
	is_taken = 0;
	signal(SIGTSTP, SIG_DFL);
	raise(SIGTSTP);
	/* reached once the process is continued */
	signal(SIGTSTP, on_stop_asked);
	is_taken = 1;
	return true;
}

void screen_size(unsigned *ret_rows, unsigned *ret_columns)
{
	*ret_rows = (unsigned)MAX(LINES, 1);
	*ret_columns = (unsigned)MAX(COLS, 1);
}

bool screen_has_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* Colour never carries meaning alone: the bars' characters differ, too. */
static attr_t attributes_of(char style, bool is_selected)
{
	attr_t selected = is_selected ? A_REVERSE : A_NORMAL;

	switch (style) {
	case STYLE_BOLD: return selected | A_BOLD;
	case STYLE_DIM: return selected | A_DIM;
	case STYLE_ON_CPU: case STYLE_BLOCKED: case STYLE_QUEUE: case STYLE_IDLE:
		return selected | (has_colour ? COLOR_PAIR(style) : A_NORMAL);
	default: return selected;
	}
}

static void draw_line(int y, const char *line)
{
	bool is_selected = *line == STYLE_SELECTED;

	move(y, 0);
	attrset(attributes_of(STYLE_PLAIN, is_selected));
	while (*line) {
		size_t cnt = 0;

		if (*line > 0 && *line < 32) {
			attrset(attributes_of(*line, is_selected));
			line++;
			continue;
		}
		while (line[cnt] && (line[cnt] < 0 || line[cnt] >= 32))
			cnt++;
		addnstr(line, (int)cnt);
		line += cnt;
	}
	attrset(attributes_of(STYLE_PLAIN, is_selected));
	if (is_selected)
		for (int x = getcurx(stdscr); x > 0 && x < COLS && getcury(stdscr) == y; x++)
			addch(' ');
	attrset(A_NORMAL);
	if (getcury(stdscr) == y)
		clrtoeol();
}

/* A terminal whose output is stopped (Ctrl-S) blocks this write for good, so end signals work meanwhile. */
static void refresh_or_end(void)
{
	sigset_t of_ends, was;

	sigemptyset(&of_ends);
	for (gsize i = 0; i < G_N_ELEMENTS(ends); i++)
		if (!is_ignored(ends[i]))
			sigaddset(&of_ends, ends[i]);
	pthread_sigmask(SIG_UNBLOCK, &of_ends, &was);
	refresh();
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	if (!is_end_asked)
		return;
	alarm(0);
	kill(getpid(), is_end_asked);
	is_end_asked = 0;
}

void screen_draw(const GPtrArray *lines, bool anew)
{
	if (anew)
		clear();
	for (int y = 0; y < LINES; y++)
		draw_line(y, (guint)y < lines->len ? lines->pdata[y] : "");
	refresh_or_end();
}

static uint32_t own_key(int key)
{
	static const int keys[][2] = {
		{ KEY_UP, VIEW_KEY_UP },           { KEY_DOWN, VIEW_KEY_DOWN },      { KEY_PPAGE, VIEW_KEY_PAGE_UP },
		{ KEY_NPAGE, VIEW_KEY_PAGE_DOWN }, { KEY_HOME, VIEW_KEY_HOME },      { KEY_END, VIEW_KEY_END },
		{ KEY_ENTER, VIEW_KEY_ENTER },     { KEY_BACKSPACE, VIEW_KEY_BACK }, { KEY_LEFT, VIEW_KEY_BACK },
		{ KEY_RIGHT, VIEW_KEY_ENTER },     { KEY_DC, VIEW_KEY_BACK },
	};

	for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
		if (key == keys[i][0])
			return (uint32_t)keys[i][1];
	return key > KEY_F0 && key <= KEY_F(12) ? (uint32_t)(VIEW_KEY_F0 + key - KEY_F0) : 0;
}

static uint32_t own_character(wint_t c)
{
	switch (c) {
	case '\r': case '\n': return VIEW_KEY_ENTER;
	case '\t': return VIEW_KEY_TAB;
	case 27: return VIEW_KEY_ESCAPE;
	case 127: case '\b': return VIEW_KEY_BACK;
	default: return (uint32_t)c;
	}
}

uint32_t screen_key(bool *ret_is_resized)
{
	wint_t key;
	int kind;

	*ret_is_resized = false;
	while ((kind = get_wch(&key)) != ERR) {
		uint32_t own = kind == KEY_CODE_YES ? own_key((int)key) : own_character(key);

		*ret_is_resized |= kind == KEY_CODE_YES && key == KEY_RESIZE;
		if (own || *ret_is_resized)
			return own;
	}
	return 0;
}
