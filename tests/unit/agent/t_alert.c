/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "agent/alert.h"
#include "agent/log.h"

#include <string.h>

#include "analyse/reason/reasons.h"

#define MS UINT64_C(1000000)
#define S (1000 * MS)

static struct alert_rule *rule(const char *when)
{
	struct alert_rule *r = alert_rule_new("a");
	g_autoptr(GError) error = NULL;

	alert_rule_parse(r, when, &error);
	g_assert_no_error(error);
	return r;
}

static void test_conditions(void)
{
	static const struct {
		const char *when, *reason;
		enum alert_metric metric;
		double threshold;
		bool is_of_yesterday;
	} good[] = {
		{ "reason=lock share > 30%", "lock", ALERT_SHARE, 30, false },
		{ "  process=a\tservice=b*  reason=disk.sync   p99 > 50ms ", "disk.sync", ALERT_P99, 50e6, false },
		{ "reason=any max > 1.5s", NULL, ALERT_MAX, 1.5e9, false },
		{ "reason=any threads > .5", NULL, ALERT_THREADS, 0.5, false },
		{ "reason=cpu waits > 1000", "cpu", ALERT_WAITS, 1000, false },
		{ "reason=lock threads > 2x yesterday", "lock", ALERT_THREADS, 2, true },
		{ "process=nginx storms > 10", NULL, ALERT_STORMS, 10, false },
		{ "request=checkout p99 > 50ms", NULL, ALERT_P99, 50e6, false },
		{ "request=checkout rate < 100", NULL, ALERT_RATE, 100, false },
		{ "request=checkout p99 > 2x yesterday", NULL, ALERT_P99, 2, true },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
		struct alert_rule *r = rule(good[i].when);

		g_assert_cmpstr(r->reason, ==, good[i].reason);
		g_assert_cmpint(r->metric, ==, good[i].metric);
		g_assert_cmpfloat(r->threshold, ==, good[i].threshold);
		g_assert_cmpint(r->is_of_yesterday, ==, good[i].is_of_yesterday);
		alert_rule_free(r);
	}
}

static void test_refused(void)
{
	static const struct {
		const char *when, *says;
	} bad[] = {
		{ "", "is not such as reason=lock share > 30%" },
		{ "share > 30%", "is not such as" },
		{ "reason=lock share > ", "is not such as" },
		{ "reason=lock share < 30%", "is not such as" },
		{ "reason=lok share > 30%", "there is no reason 'lok'; there are" },
		{ "reason=on_cpu share > 30%", "there is no reason 'on_cpu'" },
		{ "reason= share > 30%", "'reason=' has nothing behind it" },
		{ "reason=lock reason=disk share > 30%", "'reason=disk' is one too many" },
		{ "reason=lock part > 30%", "'part' is none of share," },
		{ "reason=lock share > 30", "'30' is not a number above 0 and %" },
		{ "reason=lock share > -1%", "'-1%' is not a number above 0 and %" },
		{ "reason=lock share > 0x1%", "'0x1%' is not" },
		{ "reason=lock threads > nan", "'nan' is not" },
		{ "reason=lock threads > 1e99", "'1e99' is not" },
		{ "reason=lock p99 > 10", "duration" },
		{ "reason=lock p99 > 0ms", "'0ms' is not above 0" },
		{ "reason=lock share > 2x yesterday", "of yesterday only the threads" },
		{ "process=a reason=lock threads > 2x yesterday", "of yesterday only the threads" },
		{ "reason=lock threads > 2 yesterday", "is not such as 2x yesterday" },
		{ "reason=lock threads > 2x today", "'today' stands behind the threshold" },
		{ "reason=lock storms > 10", "storms have no reason" },
		{ "reason=any rate > 10", "rate is of requests" },
		{ "request=a share > 10%", "of a request there are p50, p90, p99, max and rate" },
		{ "request=a process=b p99 > 1ms", "a request has no process" },
		{ "request=a p99 = 1ms", "is not such as request=checkout p99 > 50ms" },
		{ "request=a p99", "is not such as request=checkout p99 > 50ms" },
		{ "request=a p99 > 50", "duration" },
		{ "request=a p99 > 2 yesterday", "is not such as 2x yesterday" },
		{ "a b c d e f g h i", "is longer than a condition can be" },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(bad); i++) {
		struct alert_rule *r = alert_rule_new("a");
		g_autoptr(GError) error = NULL;

		g_assert_false(alert_rule_parse(r, bad[i].when, &error));
		g_assert_nonnull(error);
		if (!strstr(error->message, bad[i].says))
			g_error("'%s' says: %s", bad[i].when, error->message);
		alert_rule_free(r);
	}
}

static uint32_t add_thread(struct profile *p, const char *process, const char *service)
{
	const struct thread t = { .pid = p->threads->len + 1, .tid = p->threads->len + 1, .comm = profile_string(p, process),
				  .process = profile_string(p, process), .service = profile_string(p, service), .to_ns = 10 * S };

	return profile_add_thread(p, &t);
}

static uint32_t stack(struct profile *p, const char *function, enum frame_kind kind)
{
	const struct frame f = { .name = function, .module = kind == FRAME_KERNEL ? "[kernel]" : "/bin/a", .kind = (uint8_t)kind };

	return profile_node(p, 0, profile_frame(p, &f));
}

static void add_wait(struct profile *p, uint32_t thread, const char *function, char state, uint64_t count, uint64_t blocked_ns, uint64_t queue_ns)
{
	struct wait w = { .thread = thread, .kernel = stack(p, function, FRAME_KERNEL), .user = stack(p, "work", FRAME_USER), .state = (uint8_t)state,
			  .count = count, .blocked_ns = blocked_ns, .preempted_ns = queue_ns, .max_ns = (blocked_ns + queue_ns) / count };

	w.hist[profile_hist_slot(w.max_ns)] = (uint32_t)count;
	profile_add_wait(p, &w);
}

/* 10 s: a database that waits for disk 4 s and for a CPU 1 s, a shop that waits for the disk 1 s and for a CPU 4 s. */
static struct profile *window_new(void)
{
	struct profile *p = profile_new();
	uint32_t db = add_thread(p, "db", "postgres.service"), shop = add_thread(p, "shop", NULL);

	p->info.duration_ns = 10 * S;
	add_wait(p, db, "vfs_fsync_range", 'D', 400, 4 * S, 0);
	add_wait(p, db, "schedule", 'R', 100, 0, 1 * S);
	add_wait(p, shop, "vfs_fsync_range", 'D', 10, 1 * S, 0);
	add_wait(p, shop, "schedule", 'R', 100, 0, 4 * S);
	return p;
}

/* 400 requests of 1 ms and 100 of 100 ms in 10 s, and none of another name. */
static void test_requests(void)
{
	static const struct {
		const char *when;
		bool is_known;
		double low, high;
	} all[] = {
		{ "request=a p50 > 1ms", true, 0.94e6, 1.07e6 },   { "request=a p99 > 1ms", true, 94e6, 107e6 },
		{ "request=a max > 1ms", true, 100e6, 100e6 },	   { "request=a rate < 100", true, 50, 50 },
		{ "request=b p99 > 1ms", false, 0, 0 },		   { "request=b rate < 100", true, 0, 0 },
		{ "request=another rate < 100", false, 0, 0 },
	};
	struct profile *p = profile_new();
	struct request_row a = { .name = "a", .file = "" }, b = { .name = "b", .file = "" };

	p->info.duration_ns = 10 * S;
	a.sum.hist[offcpu_request_slot(1 * MS, 19)] = 400;
	a.sum.hist[offcpu_request_slot(100 * MS, 26)] = 100;
	a.sum.all.count = 500;
	a.sum.max_ns = 100 * MS;
	g_array_append_val(p->requests, a);
	g_array_append_val(p->requests, b);
	for (size_t i = 0; i < G_N_ELEMENTS(all); i++) {
		struct alert_rule *r = rule(all[i].when);
		struct alert_value v = alert_value(r, p, NULL);

		g_assert_cmpint(v.is_known, ==, all[i].is_known);
		g_assert_cmpfloat(v.value, >=, all[i].low);
		g_assert_cmpfloat(v.value, <=, all[i].high);
		alert_rule_free(r);
	}
	profile_free(p);
}

static void test_values(void)
{
	static const struct {
		const char *when;
		double from, to;
		const char *process;
	} cases[] = {
		{ "reason=disk share > 1%", 50, 50, "db" },
		{ "reason=disk.sync threads > 1", 0.5, 0.5, "db" },
		{ "reason=disk waits > 1", 41, 41, "db" },
		{ "reason=cpu share > 1%", 50, 50, "shop" },
		{ "reason=cpu.queue threads > 1", 0.5, 0.5, "shop" },
		{ "reason=any share > 1%", 100, 100, NULL },
		{ "process=d? reason=disk share > 1%", 80, 80, "db" },
		{ "process=sh* reason=disk share > 1%", 20, 20, "shop" },
		{ "service=postgres* reason=disk waits > 1", 40, 40, "db" },
		{ "reason=disk max > 1ms", 100e6, 100e6, "db" },
		{ "reason=disk p50 > 1ms", 8e6, 17e6, "db" },
		{ "reason=disk p99 > 1ms", 67e6, 134e6, "db" },
		{ "reason=lock share > 1%", 0, 0, NULL },
	};
	struct profile *p = window_new();
	struct reasons *reasons = reasons_new(p, NULL);

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct alert_rule *r = rule(cases[i].when);
		struct alert_value v = alert_value(r, p, reasons);

		g_assert_true(v.is_known);
		if (v.value < cases[i].from - 1e-9 || v.value > cases[i].to + 1e-9)
			g_error("%s: %g, not %g to %g", cases[i].when, v.value, cases[i].from, cases[i].to);
		if (cases[i].process)
			g_assert_cmpstr(v.process, ==, cases[i].process);
		alert_rule_free(r);
	}
	struct alert_rule *nothing = rule("reason=lock p99 > 1ms");

	g_assert_false(alert_value(nothing, p, reasons).is_known);
	alert_rule_free(nothing);
	reasons_free(reasons);
	profile_free(p);
}

/* "f": fires, "o": is over, ".": stays; for windows in which it holds (1) or not (0). */
static void test_steps(void)
{
	static const struct {
		uint32_t windows;
		const char *holds, *changes;
	} cases[] = {
		{ 1, "0110100", ".f.ofo." },
		{ 3, "1101110011000111", ".....f......o..f" },
		{ 2, "10101101010010", ".....f.....o.." },
	};

	for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
		struct alert_rule r = { .for_windows = cases[i].windows };
		struct alert_state s = { 0 };
		g_autoptr(GString) told = g_string_new(NULL);

		for (const char *h = cases[i].holds; *h; h++)
			g_string_append_c(told, ".fo"[alert_step(&s, &r, *h == '1', told->len + 1)]);
		g_assert_cmpstr(told->str, ==, cases[i].changes);
	}
}

static void test_text(void)
{
	struct alert_rule *share = rule("reason=lock share > 30%"), *yesterday = rule("reason=lock threads > 2x yesterday");
	const struct alert_value v = { .is_known = true, .value = 41.4, .process = "db", .process_percent = 83.2 };
	g_autoptr(GString) s = g_string_new(NULL);

	alert_append_text(s, share, &v, 0);
	g_assert_cmpstr(s->str, ==, "reason=lock share > 30%: it is 41%; 83% of it in db");
	g_string_truncate(s, 0);
	alert_append_text(s, yesterday, &v, 11.2);
	g_assert_cmpstr(s->str, ==, "reason=lock threads > 2x yesterday: it is 41, a day before it was 11; 83% of it in db");
	alert_rule_free(share);
	alert_rule_free(yesterday);
}

static enum log_level said_level;
static char *said;

static void take_line(enum log_level level, const char *text)
{
	g_free(said);
	said_level = level;
	said = g_strdup(text);
}

/* A process is called as it likes; the journal takes a line's priority from how it begins. */
static void test_forged_name(void)
{
	struct alert_rule *r = rule("reason=lock share > 30%");
	const struct alert_value v = { .is_known = true, .value = 41, .process = "x\n<0>forged\xc2\x9b", .process_percent = 83 };
	g_autoptr(GString) s = g_string_new(NULL);

	alert_append_text(s, r, &v, 0);
	g_assert_cmpstr(s->str, ==, "reason=lock share > 30%: it is 41%; 83% of it in x\\x0a<0>forged\\u009b");
	log_say(take_line, LOG_LEVEL_WARNING, "of %s", v.process);
	g_assert_cmpint(said_level, ==, LOG_LEVEL_WARNING);
	g_assert_cmpstr(said, ==, "of x\\x0a<0>forged\\u009b");
	g_clear_pointer(&said, g_free);
	alert_rule_free(r);
}

/* A command learns what it is about, and no secret of the agent's. */
static void test_environment(void)
{
	struct alert_rule *r = rule("reason=lock share > 30%");

	g_setenv("OFFCPU_PUSH_TOKEN", "secret", TRUE);
	g_setenv("TZ", "UTC", TRUE);
	g_auto(GStrv) e = alert_environment(r, true, 41.5, "text");

	g_assert_cmpstr(g_environ_getenv(e, "OFFCPU_ALERT"), ==, r->name);
	g_assert_cmpstr(g_environ_getenv(e, "OFFCPU_STATE"), ==, "firing");
	g_assert_cmpstr(g_environ_getenv(e, "OFFCPU_VALUE"), ==, "41.5");
	g_assert_cmpstr(g_environ_getenv(e, "OFFCPU_TEXT"), ==, "text");
	g_assert_cmpstr(g_environ_getenv(e, "TZ"), ==, "UTC");
	g_assert_nonnull(g_environ_getenv(e, "PATH"));
	for (char **one = e; *one; one++)
		g_assert_false(g_str_has_prefix(*one, "OFFCPU_PUSH") || g_str_has_prefix(*one, "HOME="));
	alert_rule_free(r);
}

/* Events that woke many at once, a second; of a waker by its name. */
static void test_storms(void)
{
	struct profile *p = profile_new();
	struct alert_rule *all = rule("storms > 1"), *one = rule("process=ngin* storms > 1");
	const struct waker nginx = { .pid = 1, .tid = 1, .comm = "nginx" }, timer = { .irq = "timer", .comm = "" };

	p->info.duration_ns = 10 * S;
	g_assert_false(alert_value(all, p, NULL).is_known);
	p->info.has_storms = true;
	g_assert_cmpfloat(alert_value(all, p, NULL).value, ==, 0);
	profile_add_storm(p, &(struct storm){ .waker = profile_waker(p, &nginx), .event_cnt = 30, .woken_cnt = 600, .most_cnt = 20 });
	profile_add_storm(p, &(struct storm){ .waker = profile_waker(p, &timer), .event_cnt = 90, .woken_cnt = 900, .most_cnt = 10 });
	struct alert_value v = alert_value(all, p, NULL);

	g_assert_true(v.is_known);
	g_assert_cmpfloat(v.value, ==, 12);
	g_assert_cmpstr(v.process, ==, "timer");
	g_assert_cmpfloat(v.process_percent, ==, 75);
	v = alert_value(one, p, NULL);
	g_assert_cmpfloat(v.value, ==, 3);
	g_assert_cmpstr(v.process, ==, "nginx");
	alert_rule_free(all);
	alert_rule_free(one);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/alert/conditions", test_conditions);
	g_test_add_func("/alert/environment", test_environment);
	g_test_add_func("/alert/forged-name", test_forged_name);
	g_test_add_func("/alert/storms", test_storms);
	g_test_add_func("/alert/refused", test_refused);
	g_test_add_func("/alert/values", test_values);
	g_test_add_func("/alert/steps", test_steps);
	g_test_add_func("/alert/text", test_text);
	g_test_add_func("/alert/requests", test_requests);
	return g_test_run();
}
