/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/keeper.h"

#include "store/store.h"

#define HOUR_NS UINT64_C(3600000000000)

struct keeper {
	struct store *store;
	char *dir;
	log_fn log;
	struct keeper_counts counts;
	/* since the last window that the store accepted */
	uint64_t lost_cnt, lost_from_ns, lost_to_ns;
};

static void pass_warnings_on(struct keeper *k)
{
	for (char *text; (text = store_take_warning(k->store)); g_free(text))
		log_say(k->log, LOG_LEVEL_WARNING, "%s", text);
}

struct keeper *keeper_new(const struct agent_config *config, log_fn log, GError **error)
{
	const struct store_options options = {
		.dir = config->dir, .max_bytes = config->max_bytes, .keep_ended = !config->fold_short_lived,
		.preempted_stacks = config->fold_short_lived ? STORE_PREEMPTED_STACKS : 0,
		.window_hours = (uint32_t)(config->keep_windows_ns / HOUR_NS),
		.minute_days = (uint32_t)(config->keep_minutes_ns / (24 * HOUR_NS)),
		.hour_days = (uint32_t)(config->keep_hours_ns / (24 * HOUR_NS)),
	};
	struct store *store = store_open(&options, error);
	struct keeper *k;

	if (!store)
		return NULL;
	k = g_new0(struct keeper, 1);
	k->store = store;
	k->dir = g_strdup(config->dir);
	k->log = log;
	pass_warnings_on(k);
	return k;
}

void keeper_free(struct keeper *k)
{
	if (!k)
		return;
	if (k->lost_cnt)
		log_say(k->log, LOG_LEVEL_WARNING, "%s: the last %" G_GUINT64_FORMAT " windows are lost", k->dir,
			k->lost_cnt);
	store_close(k->store);
	g_free(k->dir);
	g_free(k);
}

static bool mark_gap(struct keeper *k, uint64_t from_ns, uint64_t to_ns, const char *why)
{
	g_autoptr(GError) error = NULL;

	if (to_ns <= from_ns || store_add_gap(k->store, from_ns, to_ns, why, &error))
		return true;
	log_say(k->log, LOG_LEVEL_WARNING, "a gap (%s) could not be marked: %s", why, error->message);
	return false;
}

void keeper_gap(struct keeper *k, uint64_t from_unix_ns, uint64_t to_unix_ns, const char *why)
{
	if (k->lost_cnt)
		k->lost_to_ns = MAX(k->lost_to_ns, to_unix_ns);	/* one gap, once the store can be written again */
	else
		mark_gap(k, from_unix_ns, to_unix_ns, why);
}

void keeper_begin(struct keeper *k, uint64_t start_unix_ns)
{
	struct store_extent extent = { 0 };

	if (!store_extent(k->dir, &extent, NULL) || !extent.windows)
		return;
	if (extent.to_unix_ns > start_unix_ns)
		log_say(k->log, LOG_LEVEL_WARNING,
			"%s: its last window ends %.1f s from now: the clock was set back since", k->dir,
			(double)(extent.to_unix_ns - start_unix_ns) / 1e9);
	else
		mark_gap(k, extent.to_unix_ns, start_unix_ns, "the agent was not running");
}

static void note_lost(struct keeper *k, const struct profile *window, const char *why)
{
	if (!k->lost_cnt) {
		k->lost_from_ns = window->info.start_unix_ns;
		log_say(k->log, LOG_LEVEL_ERROR, "%s: windows are lost from now on: %s", k->dir, why);
	}
	k->lost_cnt++;
	k->counts.lost++;
	k->lost_to_ns = window->info.start_unix_ns + window->info.duration_ns;
}

static void end_loss(struct keeper *k)
{
	if (!mark_gap(k, k->lost_from_ns, k->lost_to_ns, "windows could not be stored"))
		return;
	log_say(k->log, LOG_LEVEL_NOTICE, "%s: windows are stored again; %" G_GUINT64_FORMAT " were lost, %.0f s",
		k->dir, k->lost_cnt, (double)(k->lost_to_ns - k->lost_from_ns) / 1e9);
	k->lost_cnt = 0;
}

void keeper_add(struct keeper *k, const struct profile *window, const struct reasons *reasons)
{
	g_autoptr(GError) error = NULL;

	bool is_stored = store_add(k->store, window, reasons, &error);

	pass_warnings_on(k);
	if (!is_stored) {
		note_lost(k, window, error->message);
		return;
	}
	k->counts.stored++;
	if (k->lost_cnt)
		end_loss(k);
}

struct keeper_counts keeper_counts(const struct keeper *k)
{
	return k->counts;
}
