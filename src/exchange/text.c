/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Formats shared with `report`, written by render. */
#include "exchange/format.h"
#include "render/json/json.h"
#include "render/text/text.h"

static void flush(void *ctx)
{
	writer_flush(ctx);
}

void write_folded(struct writer *w, const struct profile *p, const struct export_plan *plan)
{
	if (plan->wakers || plan->wakeup)
		folded_wakers_render(writer_text(w), p, plan->selection, &plan->folded,
				     plan->wakeup ? FOLDED_WAKEUP : FOLDED_OFFWAKE, plan->ret_folded);
	else
		folded_render(writer_text(w), p, plan->selection, &plan->folded, plan->ret_folded);
	writer_flush(w);
}

void write_json(struct writer *w, const struct profile *p, const struct export_plan *plan)
{
	json_report_drained(writer_text(w), p, plan->selection, &(struct drain){ flush, w });
	writer_flush(w);
}

void write_csv(struct writer *w, const struct profile *p, const struct export_plan *plan)
{
	csv_waits(writer_text(w), p, plan->selection, &plan->folded, &(struct drain){ flush, w });
	writer_flush(w);
}
