/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "tokio_image.h"

#include <string.h>
#include <unistd.h>

#define END_WORDS 8	/* of a task: where its end begins; its neighbours are a word behind that */

uint64_t tokio_image[TOKIO_IMAGE_WORDS];

static uint64_t address(unsigned word)
{
	return (uint64_t)(uintptr_t)(tokio_image + word);
}

uint64_t tokio_image_task(unsigned number)
{
	return address(TOKIO_TASK + number * TOKIO_TASK_WORDS);
}

static void put_task(unsigned number, uint64_t state, uint64_t owner, uint64_t before, uint64_t after)
{
	const uint64_t words[] = { state, 0, address(TOKIO_TABLE), owner };
	uint64_t *task = tokio_image + TOKIO_TASK + number * TOKIO_TASK_WORDS;

	memcpy(task, words, sizeof(words));
	task[END_WORDS] = 5;
	task[END_WORDS + 1] = before;
	task[END_WORDS + 2] = after;
}

void tokio_image_make(struct tokio_program *p)
{
	static struct tokio_kind kind;
	const struct tokio_place place = { address(TOKIO_RUNTIME), TOKIO_TASK * sizeof(uint64_t) };

	memset(tokio_image, 0, sizeof(tokio_image));
	put_task(0, 0x80, 1, 0, tokio_image_task(1));
	put_task(1, 0x81, 1, tokio_image_task(0), tokio_image_task(2));
	put_task(2, 0x80, 1, tokio_image_task(1), 0);
	put_task(3, 0x84, 2, 0, 0);
	tokio_image[TOKIO_ENDS] = tokio_image_task(0);
	tokio_image[TOKIO_ENDS + 1] = tokio_image_task(2);
	tokio_image[TOKIO_OTHER_ENDS] = tokio_image[TOKIO_OTHER_ENDS + 1] = tokio_image_task(3);
	kind = (struct tokio_kind){ .table = address(TOKIO_TABLE), .end_at = END_WORDS * 8, .scheduler_at = 32 };
	*p = (struct tokio_program){ .pid = (uint32_t)getpid(), .kinds_from = kind.table, .kinds_to = kind.table + 1 };
	p->kinds = g_hash_table_new(g_int64_hash, g_int64_equal);
	g_hash_table_insert(p->kinds, &kind.table, &kind);
	p->places = g_array_new(FALSE, FALSE, sizeof(place));
	g_array_append_val(p->places, place);
}

void tokio_image_free(struct tokio_program *p)
{
	tokio_program_close(p);
}
