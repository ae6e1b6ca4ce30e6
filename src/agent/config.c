/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/config.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "agent/alert.h"
#include "base/parse.h"
#include "features/requests/agent_rule.h"
#include "push/http.h"

#define SECOND_NS UINT64_C(1000000000)
#define HOUR_NS (3600 * SECOND_NS)
#define DAY_NS (24 * HOUR_NS)
#define LIST_MAX 64
#define ALERTS_MAX 32
#define RECORD_MAX_NS (300 * SECOND_NS)
#define ALERT_GROUP "alert "
#define REQUEST_GROUP "request "

G_DEFINE_QUARK(offcpu-agent-config-error, agent_config_error)

bool config_wrong(GError **error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_propagate_error(error, g_error_new_valist(AGENT_CONFIG_ERROR, 0, format, args));
	va_end(args);
	return false;
}

enum value_kind { VALUE_SPAN, VALUE_SIZE, VALUE_PERCENT, VALUE_YES_NO, VALUE_NUMBER, VALUE_TEXT, VALUE_LIST };

/* A key of a section; where its value is stored, and its bounds in the stored unit. */
struct row {
	const char *group, *key;
	enum value_kind kind;
	size_t at;
	uint64_t min, max;
};

#define IN_CONFIG(member) offsetof(struct agent_config, member)
static const struct row rows[] = {
	{ "agent", "window", VALUE_SPAN, IN_CONFIG(window_ns), SECOND_NS, HOUR_NS },
	{ "agent", "budget", VALUE_PERCENT, IN_CONFIG(budget_ppm), 100, 1000000 },
	{ "agent", "memory", VALUE_SIZE, IN_CONFIG(memory_bytes), 32 << 20, UINT64_C(64) << 30 },
	{ "agent", "host", VALUE_TEXT, IN_CONFIG(host), 0, 0 },
	{ "store", "dir", VALUE_TEXT, IN_CONFIG(dir), 0, 0 },
	{ "store", "max-size", VALUE_SIZE, IN_CONFIG(max_bytes), 1 << 20, UINT64_C(1) << 50 },
	{ "store", "incidents", VALUE_SIZE, IN_CONFIG(incidents_bytes), 1 << 20, UINT64_C(1) << 50 },
	{ "store", "keep-windows", VALUE_SPAN, IN_CONFIG(keep_windows_ns), HOUR_NS, 400 * DAY_NS },
	{ "store", "keep-minutes", VALUE_SPAN, IN_CONFIG(keep_minutes_ns), DAY_NS, 4000 * DAY_NS },
	{ "store", "keep-hours", VALUE_SPAN, IN_CONFIG(keep_hours_ns), DAY_NS, 40000 * DAY_NS },
	{ "push", "pyroscope", VALUE_TEXT, IN_CONFIG(push_urls[PUSH_PYROSCOPE]), 0, 0 },
	{ "push", "clickhouse", VALUE_TEXT, IN_CONFIG(push_urls[PUSH_CLICKHOUSE]), 0, 0 },
	{ "push", "otlp", VALUE_TEXT, IN_CONFIG(push_urls[PUSH_OTLP]), 0, 0 },
	{ "push", "parca", VALUE_TEXT, IN_CONFIG(push_urls[PUSH_PARCA]), 0, 0 },
	{ "push", "one-host-in", VALUE_NUMBER, IN_CONFIG(push_one_host_in), 1, 100000 },
	{ "push", "windows", VALUE_TEXT, IN_CONFIG(push_windows), 0, 0 },
	{ "push", "database", VALUE_TEXT, IN_CONFIG(push_database), 0, 0 },
	{ "push", "tenant", VALUE_TEXT, IN_CONFIG(push_tenant), 0, 0 },
	{ "push", "credentials", VALUE_TEXT, IN_CONFIG(push_credentials), 0, 0 },
	{ "push", "ca", VALUE_TEXT, IN_CONFIG(push_ca), 0, 0 },
	{ "push", "spool", VALUE_TEXT, IN_CONFIG(push_spool), 0, 0 },
	{ "push", "spool-size", VALUE_SIZE, IN_CONFIG(push_spool_bytes), 1 << 20, UINT64_C(1) << 40 },
	{ "push", "spool-age", VALUE_SPAN, IN_CONFIG(push_spool_age_ns), 60 * SECOND_NS, 30 * DAY_NS },
	{ "metrics", "listen", VALUE_TEXT, IN_CONFIG(metrics_listen), 0, 0 },
	{ "record", "objects", VALUE_YES_NO, IN_CONFIG(objects), 0, 0 },
	{ "record", "locks", VALUE_YES_NO, IN_CONFIG(locks), 0, 0 },
	{ "record", "wakers", VALUE_YES_NO, IN_CONFIG(wakers), 0, 0 },
	{ "record", "chains", VALUE_YES_NO, IN_CONFIG(chains), 0, 0 },
	{ "record", "runq-blame", VALUE_YES_NO, IN_CONFIG(runq_blame), 0, 0 },
	{ "record", "storms", VALUE_YES_NO, IN_CONFIG(storms), 0, 0 },
	{ "record", "services", VALUE_YES_NO, IN_CONFIG(services), 0, 0 },
	{ "record", "tasks", VALUE_YES_NO, IN_CONFIG(tasks), 0, 0 },
	{ "record", "kernel-threads", VALUE_YES_NO, IN_CONFIG(kernel_threads), 0, 0 },
	{ "record", "fold-short-lived", VALUE_YES_NO, IN_CONFIG(fold_short_lived), 0, 0 },
	{ "record", "cpu-samples", VALUE_NUMBER, IN_CONFIG(on_cpu_hz), 0, 1000 },
	{ "record", "comm", VALUE_TEXT, IN_CONFIG(comm), 0, 0 },
	{ "record", "cgroups", VALUE_LIST, IN_CONFIG(cgroups), 0, 0 },
	{ "record", "exclude", VALUE_LIST, IN_CONFIG(exclude), 0, 0 },
};

static const struct {
	const char *text;
	uint64_t ns;
} spans[] = { { "s", SECOND_NS }, { "m", 60 * SECOND_NS }, { "min", 60 * SECOND_NS }, { "h", HOUR_NS }, { "d", DAY_NS } };
static const char *const sizes[] = { "K", "M", "G", "T" };

struct agent_config *agent_config_new(void)
{
	struct agent_config *c = g_new(struct agent_config, 1);

	*c = (struct agent_config){
		.window_ns = 10 * SECOND_NS,
		.budget_ppm = 10000,
		.memory_bytes = UINT64_C(256) << 20,
		.dir = g_strdup("/var/lib/offcpu"),
		.max_bytes = UINT64_C(512) << 20,
		.keep_windows_ns = 24 * HOUR_NS,
		.keep_minutes_ns = 35 * DAY_NS,
		.keep_hours_ns = 400 * DAY_NS,
		.incidents_bytes = UINT64_C(2) << 30,
		.push_spool = g_strdup("/var/lib/offcpu/spool"),
		.push_spool_bytes = UINT64_C(256) << 20,
		.push_spool_age_ns = DAY_NS,
		.push_one_host_in = 1,
		.push_windows = g_strdup(AGENT_PUSH_ALL),
		.objects = true,
		.locks = true,
		.wakers = true,
		.runq_blame = true,
		.services = true,
		.kernel_threads = true,
		.fold_short_lived = true,
		.on_cpu_hz = 19,
		.requests = g_ptr_array_new_with_free_func((GDestroyNotify)request_rule_free),
		.alerts = g_ptr_array_new_with_free_func((GDestroyNotify)alert_rule_free),
	};
	return c;
}

void agent_config_free(struct agent_config *c)
{
	if (!c)
		return;
	g_free(c->dir);
	g_free(c->comm);
	for (int i = 0; i < PUSH_ENGINES; i++)
		g_free(c->push_urls[i]);
	g_free(c->host);
	g_free(c->push_windows);
	g_free(c->push_database);
	g_free(c->push_tenant);
	g_free(c->push_credentials);
	g_free(c->push_ca);
	g_free(c->push_spool);
	g_free(c->metrics_listen);
	g_strfreev(c->cgroups);
	g_strfreev(c->exclude);
	g_ptr_array_unref(c->requests);
	g_ptr_array_unref(c->alerts);
	g_free(c);
}

/* A whole number and the text after it. */
static bool number_of(const char *text, uint64_t *ret, const char **ret_unit)
{
	char *end;

	if (!g_ascii_isdigit(*text))
		return false;
	errno = 0;
	*ret = g_ascii_strtoull(text, &end, 10);
	while (*end == ' ')
		end++;
	*ret_unit = end;
	return !errno;
}

static bool span_of(const char *text, uint64_t *ret_ns)
{
	const char *unit;
	uint64_t number;

	if (!number_of(text, &number, &unit))
		return false;
	for (size_t i = 0; i < G_N_ELEMENTS(spans); i++)
		if (strcmp(unit, spans[i].text) == 0 && number <= UINT64_MAX / spans[i].ns) {
			*ret_ns = number * spans[i].ns;
			return true;
		}
	return false;
}

static bool size_of(const char *text, uint64_t *ret_bytes)
{
	const char *unit;
	uint64_t number;

	if (!number_of(text, &number, &unit))
		return false;
	for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++)
		if (g_ascii_strncasecmp(unit, sizes[i], 1) == 0 &&
		    (!unit[1] || strcmp(unit + 1, "iB") == 0 || strcmp(unit + 1, "B") == 0) &&
		    number < UINT64_MAX >> 10 * (i + 1)) {
			*ret_bytes = number << 10 * (i + 1);
			return true;
		}
	return false;
}

/* In parts per million; "off": 0. */
static bool percent_of(const char *text, uint64_t *ret_ppm)
{
	char *end = NULL;
	double percent = g_ascii_isdigit(text[0]) || text[0] == '.' ? g_ascii_strtod(text, &end) : -1;

	if (strcmp(text, "off") == 0) {
		*ret_ppm = 0;
		return true;
	}
	if (!(percent > 0 && percent <= 100) || (*end && strcmp(end, "%") != 0))
		return false;
	*ret_ppm = (uint64_t)(percent * 1e4 + 0.5);
	return true;
}

static bool yes_no_of(const char *text, uint64_t *ret)
{
	static const char *const yes[] = { "yes", "true", "on", "1", NULL }, *const no[] = { "no", "false", "off", "0",
											  NULL };

	*ret = g_strv_contains(yes, text);
	return *ret || g_strv_contains(no, text);
}

static const char *const wanted[] = {
	[VALUE_SPAN] = "a time such as 10s, 15m, 24h or 14d",
	[VALUE_SIZE] = "a size such as 512M or 2G, or off",
	[VALUE_PERCENT] = "a percentage above 0 and up to 100, or off",
	[VALUE_YES_NO] = "yes or no",
	[VALUE_NUMBER] = "a whole number",
	[VALUE_TEXT] = "a text",
	[VALUE_LIST] = "a list, split by ;",
};

/* Parses numbers of any kind; *ret_wrong: the error. */
static bool value_of(const struct row *row, const char *text, uint64_t *ret, char **ret_wrong)
{
	const char *unit = "";
	bool is_off = ((row->kind == VALUE_PERCENT || (row->kind == VALUE_SIZE && strcmp(row->key, "memory") == 0)) &&
		       strcmp(text, "off") == 0) ||
		      (strcmp(row->key, "incidents") == 0 && strcmp(text, "0") == 0);
	bool is_well = false;

	*ret = 0;
	switch (row->kind) {
	case VALUE_SPAN: is_well = span_of(text, ret); break;
	case VALUE_SIZE: is_well = is_off || size_of(text, ret); break;
	case VALUE_PERCENT: is_well = percent_of(text, ret); break;
	case VALUE_YES_NO: is_well = yes_no_of(text, ret); break;
	case VALUE_NUMBER: is_well = number_of(text, ret, &unit) && !*unit; break;
	default: break;
	}
	if (!is_well)
		*ret_wrong = g_strdup_printf("'%s' is not %s", text, wanted[row->kind]);
	else if (row->max && !is_off && (*ret < row->min || *ret > row->max))
		*ret_wrong = g_strdup_printf("'%s' is too %s", text, *ret < row->min ? "little" : "much");
	return !*ret_wrong;
}

static bool list_of(const char *text, char ***ret, char **ret_wrong)
{
	g_auto(GStrv) words = g_strsplit(text, ";", LIST_MAX + 1);
	guint cnt = 0;

	for (char **w = words; *w; w++)
		if (*g_strstrip(*w))
			cnt++;
	if (g_strv_length(words) > LIST_MAX) {
		*ret_wrong = g_strdup_printf("a list of more than %d", LIST_MAX);
		return false;
	}
	g_strfreev(*ret);
	*ret = cnt ? g_new0(char *, cnt + 1) : NULL;
	for (char **w = words, **to = *ret; *w; w++)
		if (**w)
			*to++ = g_strdup(*w);
	return true;
}

static bool take_value(struct agent_config *into, const struct row *row, const char *text, char **ret_wrong)
{
	void *at = (char *)into + row->at;
	uint64_t number;

	if (row->kind == VALUE_LIST)
		return list_of(text, at, ret_wrong);
	if (row->kind == VALUE_TEXT) {
		g_free(*(char **)at);
		*(char **)at = *text ? g_strdup(text) : NULL;
		return true;
	}
	if (!value_of(row, text, &number, ret_wrong))
		return false;
	if (row->kind == VALUE_SPAN || row->kind == VALUE_SIZE)
		*(uint64_t *)at = number;
	else
		*(uint32_t *)at = (uint32_t)number;
	return true;
}

/* State of the line by line parser. */
struct place {
	const char *path;
	unsigned line;
	struct agent_config *config;
	char *group;
	GHashTable *seen;	/* "group key" */
};

static bool wrong(const struct place *at, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);
static bool wrong(const struct place *at, GError **error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	g_propagate_prefixed_error(error, g_error_new_valist(AGENT_CONFIG_ERROR, 0, format, args), "%s, line %u: ",
				   at->path, at->line);
	va_end(args);
	return false;
}

/* "[alert NAME]" */
static bool begin_alert(struct place *at, GError **error)
{
	GPtrArray *alerts = at->config->alerts;
	const char *name = g_strchug(at->group + strlen(ALERT_GROUP));

	if (!*name || strlen(name) > ALERT_NAME_MAX_BYTES)
		return wrong(at, error, "an alert's name has 1 to %d bytes", ALERT_NAME_MAX_BYTES);
	if (!g_hash_table_add(at->seen, g_strdup(at->group)))
		return wrong(at, error, "[alert %s] stands there twice", name);
	for (guint i = 0; i < alerts->len; i++)
		if (strcmp(((const struct alert_rule *)alerts->pdata[i])->name, name) == 0)
			g_ptr_array_remove_index(alerts, i--);	/* an alert of an earlier file */
	if (alerts->len == ALERTS_MAX)
		return wrong(at, error, "there are more than %d alerts", ALERTS_MAX);
	g_ptr_array_add(alerts, alert_rule_new(name));
	return true;
}

/* "10m before, 5m after", or one of the two. */
static bool keep_of(const char *text, uint64_t *ret_before_ns, uint64_t *ret_after_ns)
{
	g_auto(GStrv) parts = g_strsplit(text, ",", 3);
	bool has_before = false, has_after = false;

	*ret_before_ns = *ret_after_ns = 0;
	for (char **part = parts; *part; part++) {
		char *word = strrchr(g_strstrip(*part), ' ');
		bool is_before = word && strcmp(word + 1, "before") == 0, *has = is_before ? &has_before : &has_after;
		uint64_t *ns = is_before ? ret_before_ns : ret_after_ns;

		if (!word || *has || (!is_before && strcmp(word + 1, "after") != 0))
			return false;
		*word = '\0';
		if (!span_of(g_strchomp(*part), ns) || *ns > DAY_NS)
			return false;
		*has = true;
	}
	return *ret_before_ns + *ret_after_ns > 0;
}

/* A key of the current alert. */
static bool take_alert_key(struct place *at, const char *key, const char *value, GError **error)
{
	struct alert_rule *rule = at->config->alerts->pdata[at->config->alerts->len - 1];
	g_autoptr(GError) why = NULL;
	uint32_t windows = 0;
	bool is_known = true;

	if (strcmp(key, "when") == 0) {
		alert_rule_parse(rule, value, &why);
	} else if (strcmp(key, "run") == 0) {
		alert_rule_parse_run(rule, value, &why);
	} else if (strcmp(key, "keep") == 0) {
		if (!keep_of(value, &rule->keep_before_ns, &rule->keep_after_ns))
			return wrong(at, error, "keep: '%s' is not '10m before, 5m after', of 0s to 24h each", value);
	} else if (strcmp(key, "record") == 0) {
		if (!span_of(value, &rule->record_ns) || rule->record_ns < SECOND_NS || rule->record_ns > RECORD_MAX_NS)
			return wrong(at, error, "record: '%s' is not a time from 1s to 5m, such as 30s", value);
	} else if (strcmp(key, "for") == 0) {
		if (parse_u32(value, &windows, &why) && (!windows || windows > ALERT_FOR_MAX))
			return wrong(at, error, "for: '%s' is not a number of windows from 1 to %d", value,
				     ALERT_FOR_MAX);
		rule->for_windows = windows;
	} else {
		is_known = false;
	}
	if (why)
		return wrong(at, error, "%s: %s", key, why->message);
	return is_known || wrong(at, error, "[%s] has no key '%s'; there are when, for, run, keep and record", at->group, key);
}

/* "[request NAME]" */
static bool begin_request(struct place *at, GError **error)
{
	GPtrArray *requests = at->config->requests;
	const char *name = g_strchug(at->group + strlen(REQUEST_GROUP));

	if (!*name || strlen(name) > REQUEST_NAME_MAX_BYTES || strpbrk(name, " \t"))
		return wrong(at, error, "a request's name is a word of 1 to %d bytes", REQUEST_NAME_MAX_BYTES);
	if (!g_hash_table_add(at->seen, g_strdup(at->group)))
		return wrong(at, error, "[request %s] stands there twice", name);
	for (guint i = 0; i < requests->len; i++)
		if (strcmp(((const struct request_rule *)requests->pdata[i])->name, name) == 0)
			g_ptr_array_remove_index(requests, i--);	/* a request of an earlier file */
	if (requests->len == REQUEST_RULES_MAX)
		return wrong(at, error, "there are more than %d requests", REQUEST_RULES_MAX);
	g_ptr_array_add(requests, request_rule_new(name));
	return true;
}

static bool take_request_key(struct place *at, const char *key, const char *value, GError **error)
{
	g_autoptr(GError) why = NULL;

	return request_rule_take(at->config->requests->pdata[at->config->requests->len - 1], key, value, &why) ||
	       wrong(at, error, "%s", why->message);
}

static bool begin_group(struct place *at, char *line, GError **error)
{
	static const char *const groups[] = { "agent", "store", "push", "metrics", "record", NULL };
	gsize len = strlen(line);

	if (len < 3 || line[len - 1] != ']')
		return wrong(at, error, "'%s' is not a group such as [record]", line);
	line[len - 1] = '\0';
	g_free(at->group);
	at->group = g_strdup(g_strstrip(line + 1));
	if (g_str_has_prefix(at->group, ALERT_GROUP))
		return begin_alert(at, error);
	if (g_str_has_prefix(at->group, REQUEST_GROUP))
		return begin_request(at, error);
	if (g_strv_contains(groups, at->group))
		return true;
	return wrong(at, error,
		     "there is no group [%s]; there are [agent], [store], [push], [metrics], [record], [request NAME] and [alert NAME]",
		     at->group);
}

static const struct row *row_of(const struct place *at, const char *key)
{
	for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
		if (strcmp(rows[i].group, at->group) == 0 && strcmp(rows[i].key, key) == 0)
			return &rows[i];
	return NULL;
}

static bool take_key(struct place *at, char *line, GError **error)
{
	char *equals = strchr(line, '=');
	g_autofree char *why = NULL;

	if (!equals)
		return wrong(at, error, "'%s' is not KEY = VALUE", line);
	*equals = '\0';
	const char *key = g_strstrip(line), *value = g_strstrip(equals + 1);

	if (!at->group)
		return wrong(at, error, "'%s' stands before any group such as [record]", key);
	bool is_alert = g_str_has_prefix(at->group, ALERT_GROUP);
	bool is_request = g_str_has_prefix(at->group, REQUEST_GROUP);
	const struct row *row = row_of(at, key);

	if (!row && !is_alert && !is_request)
		return wrong(at, error, "[%s] has no key '%s'", at->group, key);
	if (!g_hash_table_add(at->seen, g_strdup_printf("%s %s", at->group, key)))
		return wrong(at, error, "'%s' stands there twice", key);
	if (is_alert)
		return take_alert_key(at, key, value, error);
	if (is_request)
		return take_request_key(at, key, value, error);
	if (!take_value(at->config, row, value, &why))
		return wrong(at, error, "%s: %s", key, why);
	return true;
}

static bool take_line(struct place *at, char *line, GError **error)
{
	at->line++;
	if (!g_utf8_validate(line, -1, NULL))
		return wrong(at, error, "it is not UTF-8");
	g_strstrip(line);
	if (!*line || *line == '#' || *line == ';')
		return true;
	return *line == '[' ? begin_group(at, line, error) : take_key(at, line, error);
}

static const struct alert_rule *alert_without_condition(const struct agent_config *c)
{
	EACH_POINTER(i, const struct alert_rule, rule, c->alerts)
		if (!rule->when)
			return rule;
	return NULL;
}

/* An invalid address never becomes valid, so it is an error at once. */
static bool check_push(const struct agent_config *c, const char *path, GError **error)
{
	for (int i = 0; i < PUSH_ENGINES; i++) {
		g_autoptr(GError) bad = NULL;

		if (c->push_urls[i])
			g_free(http_check_url(c->push_urls[i], &bad));
		if (!bad)
			continue;
		g_set_error(error, AGENT_CONFIG_ERROR, 0, "%s: [push] %s: %s", path, engines[i].name, bad->message);
		return false;
	}
	static const char *const words[] = { AGENT_PUSH_ALL, AGENT_PUSH_FINDINGS, AGENT_PUSH_ALERTS, NULL };

	if (c->push_windows && g_strv_contains(words, c->push_windows))
		return true;
	g_set_error(error, AGENT_CONFIG_ERROR, 0,
		    "%s: [push] windows: '%s' is none of " AGENT_PUSH_ALL ", " AGENT_PUSH_FINDINGS ", " AGENT_PUSH_ALERTS,
		    path, c->push_windows ? c->push_windows : "");
	return false;
}

static bool check_combinations(const struct agent_config *c, const char *path, GError **error)
{
	const struct alert_rule *idle = NULL;
	g_autoptr(GError) bad = NULL;

	if (!c->dir || c->dir[0] != '/')
		g_set_error(error, AGENT_CONFIG_ERROR, 0, "%s: [store] dir: '%s' is not an absolute path", path,
			    c->dir ? c->dir : "");
	else if (!c->push_spool || c->push_spool[0] != '/')
		g_set_error(error, AGENT_CONFIG_ERROR, 0, "%s: [push] spool: '%s' is not an absolute path", path,
			    c->push_spool ? c->push_spool : "");
	else if (c->comm && !parse_name_glob(c->comm, 31, 15, &bad))
		g_set_error(error, AGENT_CONFIG_ERROR, 0, "%s: [record] comm: %s", path, bad->message);
	else if (!request_rules_check(c->requests, c->objects, &bad) ||
		 !alert_rules_check(c->alerts, c->requests, &bad))
		g_set_error(error, AGENT_CONFIG_ERROR, 0, "%s: %s", path, bad->message);
	else if (!(idle = alert_without_condition(c)))
		return check_push(c, path, error);
	if (idle)
		g_set_error(error, AGENT_CONFIG_ERROR, 0, "%s: [alert %s] has no 'when'", path, idle->name);
	return false;
}

bool agent_config_take(struct agent_config *c, const char *text, gsize len_bytes, const char *path, GError **error)
{
	g_autofree char *own = g_strndup(text, len_bytes);
	g_auto(GStrv) lines = g_strsplit(own, "\n", -1);
	struct place at = { .path = path, .config = c };
	bool is_well = strlen(own) == len_bytes;

	if (!is_well)
		g_set_error(error, AGENT_CONFIG_ERROR, 0, "%s: it is no text: it has a byte 0", path);
	at.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	for (char **line = lines; is_well && *line; line++)
		is_well = take_line(&at, *line, error);
	is_well = is_well && check_combinations(c, path, error);
	g_hash_table_unref(at.seen);
	g_free(at.group);
	return is_well;
}

bool agent_config_set(struct agent_config *c, const char *setting, GError **error)
{
	const char *dot = strchr(setting, '.'), *equals = strchr(setting, '=');
	struct place at = { .path = "--set", .config = c };
	g_autofree char *why = NULL, *key = NULL, *value = NULL;
	const struct row *row = NULL;

	if (dot && equals && dot < equals) {
		at.group = g_strndup(setting, (gsize)(dot - setting));
		key = g_strndup(dot + 1, (gsize)(equals - dot - 1));
		value = g_strdup(equals + 1);
		row = row_of(&at, g_strstrip(key));
	}
	if (!row)
		why = g_strdup("no such key; it is GROUP.KEY=VALUE, as store.dir=/srv/offcpu");
	if (!row || !take_value(c, row, g_strstrip(value), &why))
		g_set_error(error, AGENT_CONFIG_ERROR, 0, "--set %s: %s", setting, why);
	g_free(at.group);
	return !why && check_combinations(c, "--set", error);
}

static bool same_list(char **a, char **b)
{
	if (!a || !b)
		return a == b;
	return g_strv_equal((const gchar *const *)a, (const gchar *const *)b);
}

bool agent_config_storms(const struct agent_config *c)
{
	for (guint i = 0; i < c->alerts->len; i++)
		if (((const struct alert_rule *)c->alerts->pdata[i])->metric == ALERT_STORMS)
			return true;
	return c->storms;
}

bool agent_config_chains(const struct agent_config *c)
{
	return c->wakers && (c->chains || c->alerts->len);
}

bool agent_config_records(const struct agent_config *c)
{
	for (guint i = 0; i < c->alerts->len; i++)
		if (((const struct alert_rule *)c->alerts->pdata[i])->record_ns)
			return c->incidents_bytes > 0;
	return false;
}

bool agent_config_records_same(const struct agent_config *a, const struct agent_config *b)
{
	return a->objects == b->objects && a->locks == b->locks && a->wakers == b->wakers &&
	       agent_config_chains(a) == agent_config_chains(b) && a->runq_blame == b->runq_blame &&
	       agent_config_storms(a) == agent_config_storms(b) && a->services == b->services && a->tasks == b->tasks &&
	       a->kernel_threads == b->kernel_threads && a->on_cpu_hz == b->on_cpu_hz &&
	       request_rules_same(a->requests, b->requests) && a->budget_ppm == b->budget_ppm &&
	       g_strcmp0(a->comm, b->comm) == 0 && same_list(a->cgroups, b->cgroups);
}
