/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* What engines answer to a push: the first byte tells how long the lines of the head are, the others are the body. */
#include <stdlib.h>

#include "push/series.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define GRPC_STATUS_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t head_bytes = size ? MIN(data[0], size - 1) : 0;
	g_autofree char *head = g_strndup(size ? (const char *)data + 1 : "", head_bytes);
	const uint8_t *body = size ? data + 1 + head_bytes : data;
	size_t body_bytes = size ? size - 1 - head_bytes : 0;
	g_autofree char *parca = NULL, *otlp = NULL;
	long status = parca_status(body, body_bytes, head, &parca);

	if (status < -1 || status > GRPC_STATUS_MAX)
		abort();
	g_free(otlp_words(body, body_bytes));
	otlp_rejected(body, body_bytes, &otlp);
	return 0;
}
