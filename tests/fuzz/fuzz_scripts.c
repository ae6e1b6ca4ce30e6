/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <stdlib.h>
#include <unistd.h>

#include "pointers.h"
#include "symbolize/runtime/language.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WORDS 512
static uint64_t memory[WORDS];

static void check(bool is_named, const struct language_frame *f)
{
	if (is_named && (!g_utf8_validate(f->name, -1, NULL) || (f->file && !g_utf8_validate(f->file, -1, NULL)) || f->line > INT32_MAX))
		abort();
}

/* Our own memory made of the bytes: an instruction sequence of Ruby's, or a function of PHP's or Perl's, and all that they lead to. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct language_place place = { .pid = (uint32_t)getpid(), .space = 1, .code = (uint64_t)(uintptr_t)memory };
	struct ruby_code *r = ruby_code_new();
	struct php_code *p = php_code_new();
	struct perl_code *l = perl_code_new();
	struct language_frame f;

	pointers_fill(memory, WORDS, data, size);
	for (uint32_t minor = 0; minor <= 4; minor++)
		for (uint64_t instr = 0; instr < WORDS; instr += 73) {
			place.instr = (uint64_t)(uintptr_t)(memory + instr);
			place.version = OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_RUBY, 3, minor);
			check(ruby_code_name(r, &place, &f), &f);
			place.version = OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_PHP, 8, minor);
			place.hashes = (uint32_t)memory[WORDS - 1];
			check(php_code_name(p, &place, &f), &f);
			place.version = OFFCPU_LANGUAGE_VERSION(OFFCPU_LANGUAGE_PERL, 5, 36 + minor);
			check(perl_code_name(l, &place, &f), &f);
		}
	ruby_code_free(r);
	php_code_free(p);
	perl_code_free(l);
	return 0;
}
