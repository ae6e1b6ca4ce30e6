/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/processes.h"

#include "attach/error.h"
#include "base/opener/opener.h"
#include "base/opener/parser.h"
#include "base/opener/confine.h"
#include "fold/services.h"
#include "symbolize/process/process_context.h"
#include "symbolize/elf/table.h"
#include "symbolize/jit/perf_map.h"
#include "runtimes/go/answers.h"
#include "symbolize/runtime/variables.h"
#include "unwind/table.h"

/* Only this capability may enable counting of programs' time, and on some kernels taking samples. */
static uint64_t opens_with(const struct agent_config *c)
{
	return privileges_to_open(c->budget_ppm || attach_perf_takes_admin());
}

/* If they cannot be started, as in a restricted container, the agent does the work itself, like other commands. */
void processes_begin(const struct agent_config *c, log_fn log)
{
	static const parser_fn fns[PARSER_JOBS] = {
		[PARSER_SYMBOLS] = elf_table_parse,	  [PARSER_DATA] = data_file_parse,
		[PARSER_SEARCH] = variables_parse,	  [PARSER_CONTAINER] = container_parse,
		[PARSER_CONTEXT] = process_context_parse, [PARSER_JIT] = perf_map_parse_file,
		[PARSER_GO] = go_answers_parse,		  [PARSER_UNWIND] = unwind_table_parse,
	};
	g_autoptr(GError) parser_error = NULL;
	g_autoptr(GError) opener_error = NULL;

	if (!parser_start(fns, &parser_error))
		log_say(log, LOG_LEVEL_WARNING, "%s: they are parsed with the agent's rights", parser_error->message);
	if (!opener_start(opens_with(c), &opener_error))
		log_say(log, LOG_LEVEL_WARNING, "%s: the agent keeps its rights for that", opener_error->message);
}

bool processes_give_up(const struct agent_config *c, log_fn log, GError **error)
{
	bool is_apart = opener_is_apart();
	uint64_t needed = privileges_to_trace() | privileges_to_limits() | (is_apart ? 0 : opens_with(c));

	if (!privileges_drop(needed, error))
		return false;
	opener_settle();
	g_autofree char *held = privileges_text(privileges_now());

	log_say(log, LOG_LEVEL_INFO, "capabilities: %s%s", *held ? held : "none",
		is_apart ? "; a process of its own opens what is other users'" : "");
	return true;
}

bool processes_check(log_fn log, GError **error)
{
	static uint64_t reported;
	struct opener_counts counts = opener_counts();

	for (char *news; (news = opener_news()); g_free(news))
		log_say(log, LOG_LEVEL_WARNING, "%s", news);
	if (counts.replaced > reported)
		log_say(log, LOG_LEVEL_NOTICE,
			"the process that opens what is other users' ended or did not answer: another one took its place "
			"(%" G_GUINT64_FORMAT " so far)", counts.replaced);
	reported = counts.replaced;
	if (!opener_is_lost())
		return true;
	g_set_error_literal(error, ATTACH_ERROR, ATTACH_ERROR_FAILED,
			    "the process that begins those that open what is other users' has ended, or does not answer");
	return false;
}

void processes_end(void)
{
	opener_stop();
	parser_stop();
}
