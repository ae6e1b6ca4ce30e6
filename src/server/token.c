/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/refuse.h"
#include "server/readers.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

bool token_make(char ret_token[TOKEN_LEN + 1], GError **error)
{
	unsigned char random[TOKEN_LEN];

	if (TEMP_FAILURE_RETRY(getrandom(random, sizeof(random), 0)) != (ssize_t)sizeof(random))
		return refuse(error, G_FILE_ERROR, (int)g_file_error_from_errno(errno), "no random numbers: %s",
			g_strerror(errno));
	for (unsigned i = 0; i < TOKEN_LEN; i++)
		ret_token[i] = letters[random[i] % 64];
	ret_token[TOKEN_LEN] = '\0';
	return true;
}

bool token_is_valid(const char *token)
{
	gsize len = strlen(token);

	return len >= TOKEN_MIN_LEN && len <= TOKEN_MAX_LEN && strspn(token, letters) == len;
}

bool token_equal(const char *a, gsize len_bytes, const char *token)
{
	gsize len = strlen(token);
	volatile unsigned char differ = len_bytes != len;

	/* Always compares the whole token: timing reveals at most its length. */
	for (gsize i = 0; i < len; i++)
		differ |= (unsigned char)(token[i] ^ (i < len_bytes ? a[i] : 0));
	return !differ;
}
