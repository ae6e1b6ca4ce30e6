/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "base/version.h"

static const char *version = OFFCPU_VERSION;

const char *version_text(void)
{
	return version;
}

void version_set(const char *text)
{
	version = text;
}
