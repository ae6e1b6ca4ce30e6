/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "symbolize/runtime/language.h"

#include <string.h>

#include "base/hash.h"
#include "symbolize/runtime/php_code.h"
#include "symbolize/runtime/python_find.h"
#include "symbolize/runtime/ruby_code.h"
#include "symbolize/runtime/runtime_files.h"

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

bool language_find(const char *proc_dir, uint32_t pid, struct offcpu_language *ret, bool *ret_is_early)
{
	enum python_state python = python_look(proc_dir, pid, ret).state;
	enum ruby_state ruby = python == PYTHON_READABLE ? RUBY_NONE : ruby_look(proc_dir, pid, ret);

	*ret_is_early = python == PYTHON_NOT_READY || ruby == RUBY_NOT_READY;
	return python == PYTHON_READABLE || ruby == RUBY_READABLE || php_look(proc_dir, pid, ret) == PHP_READABLE;
}
