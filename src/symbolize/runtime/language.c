/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/language.h"

#include <string.h>

#include "base/hash.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/python_find.h"
#include "symbolize/runtime/variables.h"

#define MAPS_TEXT_MAX (64 << 20)

unsigned language_key_hash(const void *key)
{
	const struct language_key *k = key;

	return hash_end(hash_more(k->space, k->code));
}

int language_key_equal(const void *a, const void *b)
{
	return !memcmp(a, b, sizeof(struct language_key));
}

bool language_is_of_file(const char *path)
{
	enum runtime runtime = runtime_of_file(path);

	return runtime == RUNTIME_PYTHON || runtime == RUNTIME_RUBY || runtime == RUNTIME_PHP;
}

bool language_find(const char *proc_dir, uint32_t pid, struct offcpu_language *ret, struct language_early *ret_early)
{
	g_autofree char *text = living_maps(proc_dir, pid, MAPS_TEXT_MAX);
	g_autoptr(GArray) lines = text ? maps_parse(text) : NULL;
	struct python_look python = python_look(proc_dir, pid, lines, ret);
	enum ruby_state ruby = python.state == PYTHON_READABLE ? RUBY_NONE : ruby_look(proc_dir, pid, lines, ret);

	*ret_early = (struct language_early){
		.is_early = python.state == PYTHON_NOT_READY || ruby == RUBY_NOT_READY,
		.python_key_at = ruby == RUBY_NONE ? python.key_at : 0,
	};
	return python.state == PYTHON_READABLE || ruby == RUBY_READABLE ||
	       php_look(proc_dir, pid, lines, ret) == PHP_READABLE;
}
