/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "../unit/symbolize/tokio_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Tasks in our own memory, of which the bytes change words: one for the place, eight for the word, or one of them for the task it points to. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autoptr(GArray) tasks = g_array_new(FALSE, FALSE, sizeof(struct tokio_task));
	g_autofree char *text = g_strndup((const char *)data, size);
	struct tokio_program program;
	bool is_cut;

	g_free(tokio_future_name(text));
	tokio_image_make(&program);
	for (; size >= 9; data += 9, size -= 9) {
		uint64_t word;

		memcpy(&word, data + 1, sizeof(word));
		tokio_image[data[0] % TOKIO_IMAGE_WORDS] = word >> 8 ? word : tokio_image_task((unsigned)word % TOKIO_TASK_CNT);
	}
	for (unsigned i = 0; i < 2; i++) {
		tokio_program_read(&program, tasks, &is_cut);
		if (tasks->len > TOKIO_TASKS_MAX)
			abort();
	}
	tokio_image_free(&program);
	return 0;
}
