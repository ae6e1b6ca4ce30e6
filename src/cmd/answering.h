/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_ANSWERING_H
#define CMD_ANSWERING_H

#include <glib.h>

#include "render/answer/answer.h"

/* --json=summary, --max-bytes, --id and --cursor of commands with answers of bounded size. */
struct answer_args {
	char *form, *max_bytes, *id, *cursor;	/* option values */
	char *command, *plain;	/* command line without --id and --cursor; command line without all of these options */
	struct answer_options options;	/* parsed values; borrows from the members above */
};

/* For commands that run once: ids cannot be asked for later. */
#define ANSWER_SIZE_ENTRIES(args) \
	{ "json-as", 0, G_OPTION_FLAG_HIDDEN, G_OPTION_ARG_STRING, &(args).form, "", NULL }, \
	{ "max-bytes", 0, 0, G_OPTION_ARG_STRING, &(args).max_bytes, \
	  "Bytes of --json=summary at most, 1024 to 1 MiB (8192)", "N" }
#define ANSWER_ENTRIES(args) \
	ANSWER_SIZE_ENTRIES(args), \
	{ "id", 0, 0, G_OPTION_ARG_STRING, &(args).id, \
	  "What --json=summary gives that id, in full and in as many bytes", "ID" }, \
	{ "cursor", 0, 0, G_OPTION_ARG_STRING, &(args).cursor, "The rest of --id, as \"next\" says", "N" }

/*
 * Call it before options are parsed.  GLib would take a FILE after --json for its value, so --json=FORM becomes an
 * option of its own.  Keeps the command line for "deeper".
 */
void answer_args_note(struct answer_args *a, int argc, char **argv);
bool answer_is_asked(const struct answer_args *a);
/* Parses the values; false on error.  is_json: --json was given, too. */
bool answer_args_understand(struct answer_args *a, bool is_json, GError **error);
void answer_args_clear(struct answer_args *a);
/* Prints a one-line object from our own writers, unchanged or as an answer of bounded size if asked for. */
void answer_print(const char *of, const GString *object, const struct answer_args *a);

#endif
