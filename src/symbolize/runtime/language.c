/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/language.h"

#include <string.h>

#include "base/hash.h"
#include "runtimes/python/find.h"
#include "symbolize/process/maps.h"
#include "symbolize/runtime/variables.h"


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

	return runtime == RUNTIME_PYTHON || runtime == RUNTIME_RUBY || runtime == RUNTIME_PHP ||
	       runtime == RUNTIME_PERL;
}

bool language_find(const char *proc_dir, uint32_t pid, struct offcpu_language *ret, struct language_early *ret_early)
{
	static enum language_state (*const looks[])(const char *, uint32_t, const GArray *,
						    struct offcpu_language *) = { ruby_look, php_look, perl_look };
	g_autofree char *text = living_maps(proc_dir, pid, MAPS_TEXT_MAX);
	g_autoptr(GArray) lines = text ? maps_parse(text) : NULL;
	struct python_look python = python_look(proc_dir, pid, lines, ret);

	*ret_early = (struct language_early){ .is_early = python.state == LANGUAGE_NOT_READY, .python_key_at = python.key_at };
	if (python.state == LANGUAGE_READABLE)
		return true;
	for (size_t i = 0; i < G_N_ELEMENTS(looks); i++) {
		enum language_state state = looks[i](proc_dir, pid, lines, ret);

		if (state == LANGUAGE_READABLE)
			return true;
		ret_early->is_early |= state == LANGUAGE_NOT_READY;
		if (state != LANGUAGE_NONE)
			ret_early->python_key_at = 0;
	}
	return false;
}
