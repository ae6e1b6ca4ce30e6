/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "exchange/format.h"

void write_otlp(struct writer *w, const struct profile *p, const struct export_plan *plan)
{
}
