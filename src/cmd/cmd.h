/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <glib.h>
#include <stdbool.h>

#include "base/refuse.h"

/* The commands: the only code that prints or chooses the exit status. */

/* offcpu(1), "Exit status". */
enum exit_status {
	EXIT_OK = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_NOT_PERMITTED = 3,
	EXIT_LOSSES = 4,
	EXIT_DIFFERENT = 10,	/* `diff`: a --fail-if is true */
};

struct command {
	const char *name;
	const char *args;	/* "FILE [-o OUT]" */
	const char *summary;	/* one line */
	int (*run)(int argc, char **argv);	/* argv[0] is the command's name; returns the exit status */
};

/* One sentence on stderr: "offcpu NAME: message". */
void cmd_error(const char *command, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* The same as an expression: an exit status, or false. */
#define cmd_failed(...) ({ cmd_error(__VA_ARGS__); EXIT_FAILED; })
#define cmd_wrong(...) ({ cmd_error(__VA_ARGS__); EXIT_USAGE; })
#define cmd_refuse(...) ({ cmd_error(__VA_ARGS__); false; })

/* Sets *error about an option's value; false. */
#define cmd_bad(error, ...) refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, __VA_ARGS__)

/* Error for an unexpected argument; returns the exit status.  If it is a recording, suggests how to read it. */
int cmd_unexpected(const char *command, const char *argument);

/*
 * Parses a command's options.  -h/--help prints help to stdout, with `description` (examples, introduction) above the
 * options.  Returns true to continue; false if done, with *ret_status set.  Afterwards argv holds argv[0] and the
 * positional arguments.  Everything after the first "--" stays positional, the "--" itself is removed.
 */
bool cmd_parse(const char *command, const char *args, const char *description, GOptionEntry *entries,
	       int *argc, char ***argv, int *ret_status);

/* Writes all of `text` to `path`, or to stdout if it is NULL or "-", see below. */
bool cmd_write_output(const char *path, const char *text, gsize len, GError **error);

/* Whether both paths lead to the same file, also through links. */
bool cmd_is_same_file(const char *a, const char *b);

/* False on error: the name's extension is another picture format's.  We write SVG or HTML. */
bool cmd_may_draw(const char *path, GError **error);
/* Whether the extension is that of a web page. */
bool cmd_is_html(const char *path);

/* Colour and width of the terminal on stdout; obeys NO_COLOR. */
bool cmd_stdout_has_colour(void);
unsigned cmd_stdout_width(void);	/* 80 if stdout is no terminal */

int cmd_record(int argc, char **argv);
int cmd_top(int argc, char **argv);
int cmd_trace(int argc, char **argv);
int cmd_report(int argc, char **argv);
int cmd_export(int argc, char **argv);
int cmd_view(int argc, char **argv);
int cmd_serve(int argc, char **argv);
int cmd_agent(int argc, char **argv);
int cmd_flame(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_whatif(int argc, char **argv);
int cmd_hist(int argc, char **argv);
int cmd_request(int argc, char **argv);
int cmd_events(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_sample(int argc, char **argv);
int cmd_io(int argc, char **argv);
int cmd_tasks(int argc, char **argv);
int cmd_mcp(int argc, char **argv);
int cmd_push(int argc, char **argv);

/* For commands that run until told to stop, and then print: signals only request that. */

/* From now on SIGINT, SIGTERM and SIGHUP only set the returned flag. */
const volatile int *stop_catch(void);
/* Signals end the process again. */
void stop_release(void);

/*
 * By default GLib aborts if it gets no memory.  From here on the process prints an error instead and exits with
 * EXIT_FAILED.  In threads that called spare_stack_use() this also works on stack overflow.
 */
void no_room_tell(void);

/* Wraps a command's help to at most `width` columns; the last column's text continues in that column. */
char *help_text_wrap(const char *text, unsigned width);

/*
 * Output written in parts to `path`, or to stdout if that is NULL or "-".  A file is replaced atomically and keeps its
 * mode.  What is not a regular file (a link, a device, a FIFO) is written to in place, as a shell does.
 */
struct output;

/* NULL on error. */
struct output *output_begin(const char *path, GError **error);
bool output_put(struct output *o, const void *bytes, gsize len, GError **error);
/* Frees o and puts the file in place.  False on error; an earlier file is then unchanged. */
bool output_end(struct output *o, GError **error);
/* Frees o without making a file; NULL is fine. */
void output_drop(struct output *o);

#endif
