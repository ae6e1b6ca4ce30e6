/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_PHP_CODE_H
#define SYMBOLIZE_PHP_CODE_H

#include <glib.h>

#include "symbolize/runtime/language.h"

/*
 * PHP's functions: how a process's frames are found, and what they are called.  A script is compiled anew for each
 * request unless its compiled form is shared, so functions are told by hashes of their names and files too.  What is
 * read is not trusted.
 */
struct php_code;

struct php_code *php_code_new(void);
void php_code_free(struct php_code *p);	/* NULL is fine */
/* False: the process is gone, or another function lies there by now. */
bool php_code_name(struct php_code *p, const struct language_place *place, struct language_frame *ret);

/* What is known of a process as a PHP program. */
enum php_state {
	PHP_NONE,		/* it has no file of an interpreter, or is gone */
	PHP_READABLE,
	/* the interpreter's file cannot be opened, or exports nothing; threaded builds (ZTS) are such */
	PHP_NO_SYMBOLS,
	PHP_OTHER_VERSION,
};
/* lines: of its mappings, as maps_parse() gives them; NULL: it is gone. */
enum php_state php_look(const char *proc_dir, uint32_t pid, const GArray *lines, struct offcpu_language *ret);

#endif
