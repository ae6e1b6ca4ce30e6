/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_CMD_H
#define CMD_CMD_H

#include <glib.h>
#include <stdbool.h>

#include "base/refuse.h"

/* The commands: the only code that prints or decides the exit status. */

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
/* The same, as a value: an exit status, or false. */
#define cmd_failed(...) ({ cmd_error(__VA_ARGS__); EXIT_FAILED; })
#define cmd_wrong(...) ({ cmd_error(__VA_ARGS__); EXIT_USAGE; })
#define cmd_refuse(...) ({ cmd_error(__VA_ARGS__); false; })

/* False, with a sentence about an option's value. */
#define cmd_bad(error, ...) refuse(error, G_OPTION_ERROR, G_OPTION_ERROR_BAD_VALUE, __VA_ARGS__)

/* What stands where nothing may: an error, and its exit status.  A recording there is meant to be read. */
int cmd_unexpected(const char *command, const char *argument);

/*
 * Parses the options of a command; prints help to stdout for -h/--help, with `description`
 * (examples, leading the text) above the options.  Returns true to go on, false when done
 * with *ret_status set.  Afterwards argv holds the positional arguments only (argv[0] kept).
 * Everything after the first "--" is left alone as positional, the "--" itself removed.
 */
bool cmd_parse(const char *command, const char *args, const char *description, GOptionEntry *entries,
	       int *argc, char ***argv, int *ret_status);

/* All of `text` to `path`, or to stdout for NULL or "-", see below. */
bool cmd_write_output(const char *path, const char *text, gsize len, GError **error);

/* By any spelling of the paths, and through links. */
bool cmd_is_same_file(const char *a, const char *b);

/* False, with a sentence, where a picture's name ends in another format's: what is drawn is SVG or a page. */
bool cmd_may_draw(const char *path, GError **error);
/* Does its ending ask for a web page? */
bool cmd_is_html(const char *path);

/* Colour and width of the terminal on stdout, NO_COLOR obeyed. */
bool cmd_stdout_has_colour(void);
unsigned cmd_stdout_width(void);	/* 80 when it is no terminal */

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

/* Of commands that go on until they are told to end, and then print: a signal asks them to. */

/* From now on SIGINT, SIGTERM and SIGHUP only set what this gives. */
const volatile int *stop_catch(void);
/* They end the process again. */
void stop_release(void);

/*
 * Where the system gives no memory, GLib aborts.  From here on the process says so in one sentence instead, and ends
 * with EXIT_FAILED.  Threads that call spare_stack_use() are held to it, too, however they run out.
 */
void no_room_tell(void);

/*
 * A command's help with lines of at most `width` columns: what a line's last column is too narrow for goes on below it,
 * in that column.
 */
char *help_text_wrap(const char *text, unsigned width);

/*
 * What a command writes, part by part: to `path`, or to stdout for NULL or "-".  A file appears whole or not at all,
 * and one that was there keeps its mode; what is no plain file (a link, a device, a FIFO) is written into, as by a
 * shell.
 */
struct output;

/* NULL with a sentence. */
struct output *output_begin(const char *path, GError **error);
bool output_put(struct output *o, const void *bytes, gsize len, GError **error);
/* Frees o; from now on the file is there.  False with a sentence, and the one before is as it was. */
bool output_end(struct output *o, GError **error);
/* In place of output_end(): there is no file; NULL is fine. */
void output_drop(struct output *o);

#endif
