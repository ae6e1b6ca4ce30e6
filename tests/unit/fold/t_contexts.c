/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
/* Records of trace contexts become frames, and traces find their rows. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/trace_attributes.h"
#include "base/wire.h"
#include "features/traces/fold.h"
#include "profile/profile.h"

static void put_list(GString *to, const char *key, const char *const *items)
{
	g_autoptr(GString) list = g_string_new(NULL), value = g_string_new(NULL), pair = g_string_new(NULL);

	for (; *items; items++) {
		g_autoptr(GString) item = g_string_new(NULL);

		wire_bytes(item, 1, *items, strlen(*items));
		wire_bytes(list, 1, item->str, item->len);
	}
	wire_bytes(value, 5, list->str, list->len);
	wire_bytes(pair, 1, key, strlen(key));
	wire_bytes(pair, 2, value->str, value->len);
	wire_bytes(to, 2, pair->str, pair->len);
}

struct published {
	char signature[8];
	uint32_t version, payload_bytes;
	uint64_t published_at_ns, payload;
};

static GString *payload;

/* This process says what the numbers of its attributes are, as an SDK does. */
static struct published *publish(const char *const *keys)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	struct published *head;

	g_assert_cmpint(ftruncate(fd, 4096), ==, 0);
	head = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	g_assert_true(head != MAP_FAILED);
	close(fd);
	payload = g_string_new(NULL);
	put_list(payload, "threadlocal.attribute_key_map", keys);
	head->version = 2;
	head->payload_bytes = (uint32_t)payload->len;
	head->payload = (uintptr_t)payload->str;
	head->published_at_ns = 1;
	memcpy(head->signature, "OTEL_CTX", 8);
	return head;
}

/* A record at that shift, with `bytes` of attributes. */
static struct offcpu_rec_context record_of(unsigned shift, const char *attributes, uint16_t bytes)
{
	struct offcpu_rec_context rec = { .type = OFFCPU_REC_CONTEXT, .shift = shift, .pid = (uint32_t)getpid(),
					  .proc_start_ns = 1 };
	uint8_t *at = (uint8_t *)rec.word + shift;

	at[OFFCPU_CONTEXT_VALID_AT] = 1;
	memcpy(at + OFFCPU_CONTEXT_SIZE_AT, &bytes, sizeof(bytes));
	memcpy(at + OFFCPU_CONTEXT_HEAD_BYTES, attributes, MIN(bytes, OFFCPU_CONTEXT_BYTES));
	return rec;
}

static char *route_of(struct profile *p, const uint32_t *frames, unsigned cnt)
{
	g_autoptr(GString) s = g_string_new(NULL);
	uint32_t node = 0;

	for (unsigned i = 0; i < cnt; i++)
		node = profile_node(p, node, frames[i]);
	context_append_route(p, node, s);
	return g_string_free(g_steal_pointer(&s), FALSE);
}

static void assert_route(const char *attributes, uint16_t bytes, const char *expected, uint64_t losses)
{
	struct profile *p = profile_new();
	struct fold_contexts *c = fold_contexts_new(p, "/proc");
	uint32_t frames[FOLD_CONTEXT_FRAMES];

	for (unsigned shift = 0; shift < 8; shift += 2) {
		struct offcpu_rec_context rec = record_of(shift, attributes, bytes);
		g_autofree char *route = NULL;

		g_assert_true(fold_contexts_is_sound(&rec, sizeof(rec)));
		route = route_of(p, frames, fold_contexts_frames(c, &rec, frames));
		g_assert_cmpstr(route, ==, expected);
	}
	const struct profile_loss *lost = profile_find_loss(p, "trace_attribute");

	g_assert_cmpuint(lost ? lost->count : 0, ==, 4 * losses);
	fold_contexts_free(c);
	profile_free(p);
}

static void assert_frames(const char *attributes, uint16_t bytes, const char *expected)
{
	struct profile *p = profile_new();
	struct fold_contexts *c = fold_contexts_new(p, "/proc");
	struct offcpu_rec_context rec = record_of(0, attributes, bytes);
	uint32_t frames[FOLD_CONTEXT_FRAMES];
	unsigned cnt = fold_contexts_frames(c, &rec, frames);
	g_autoptr(GString) s = g_string_new(NULL);

	for (unsigned i = 0; i < cnt; i++)
		g_string_append_printf(s, "%s%s", i ? " " : "", profile_get_frame(p, frames[i])->name);
	g_assert_cmpstr(s->str, ==, expected);
	fold_contexts_free(c);
	profile_free(p);
}

static const char *const keys[] = { "enduser.id", "http.request.method", "http.route", "rpc.method", "rpc.service",
				    "datadog.trace_endpoint", NULL };

/* Of labels keys are numbers of the names that are asked for, whatever the process says of itself. */
static void test_labels(void)
{
	const char *names[OFFCPU_LABEL_NAMES], *route = NULL;
	char *asked[] = { "tenant", "http.route", NULL };
	struct profile *p = profile_new();
	uint32_t frames[FOLD_CONTEXT_FRAMES];
	unsigned cnt, tenant = 0, http = 0;

	trace_attributes_want(asked);
	cnt = trace_attributes_wanted(OFFCPU_LABEL_NAME_BYTES - 1, names, G_N_ELEMENTS(names));
	for (unsigned i = 0; i < cnt; i++) {
		g_assert_true(!i || strlen(names[i - 1]) <= strlen(names[i]));
		tenant = strcmp(names[i], "tenant") == 0 ? i + 1 : tenant;
		g_assert_false(http && strcmp(names[i], "http.route") == 0);
		http = strcmp(names[i], "http.route") == 0 ? i + 1 : http;
	}
	g_assert_false(trace_attribute_is_wanted(TRACE_LABEL_SPAN) || trace_attribute_is_wanted(TRACE_LABEL_TRACE));
	g_assert_cmpuint(trace_attributes_wanted(4, names, G_N_ELEMENTS(names)), ==, 0);
	g_assert_cmpuint(trace_attributes_wanted(63, names, 3), ==, 3);
	struct fold_contexts *c = fold_contexts_new(p, "/proc");
	const char attributes[] = { (char)tenant, 1, 'x', (char)http, 2, '/', 'a', 0, 1, 'n', (char)OFFCPU_LABEL_NAMES, 1, 'n' };
	struct offcpu_rec_context rec = record_of(0, attributes, sizeof(attributes));

	rec.is_labels = 1;
	g_assert_cmpuint(fold_contexts_frames(c, &rec, frames), ==, 2);
	route = profile_get_frame(p, frames[0])->name;
	g_assert_cmpstr(route, ==, "/a");
	g_assert_cmpstr(profile_get_frame(p, frames[1])->module, ==, "[tenant]");
	g_assert_cmpuint(profile_find_loss(p, "trace_attribute")->count, ==, 2);
	fold_contexts_free(c);
	profile_free(p);
	trace_attributes_want(NULL);
}

static void test_routes(void)
{
	struct published *head = publish(keys);

	assert_route("\0\4me-7\1\4POST\2\2/a", 16, "POST /a", 0);
	assert_route("\2\2/a\1\3GET", 9, "GET /a", 0);	/* in any order */
	assert_route("\2\2/a\2\2/b", 8, "/b", 0);	/* the last counts */
	assert_route("\1\3GET", 5, "", 0);		/* a method is no route */
	assert_route("\3\4Find\4\4Shop", 12, "Shop/Find", 0);
	assert_route("\5\2/e", 4, "/e", 0);
	assert_route("\2\2/a\x4d\1x", 7, "/a", 1);	/* a number that is not explained */
	assert_route("\2\2/a\1\377x", 7, "/a", 0);	/* the second is longer than the record */
	assert_route("\2\4/a\0b", 6, "/a", 0);		/* a text ends where it ends */
	assert_route("\2\2/\377", 4, "/\357\277\275", 0);
	assert_route("", 0, "", 0);
	assert_frames("\0\4me-7\2\2/a", 10, "/a");
	trace_attributes_want((char *[]){ (char *)"enduser.id", NULL });	/* whoever asks for it gets it */
	assert_frames("\0\4me-7\2\2/a", 10, "/a me-7");
	trace_attributes_want(NULL);
	munmap(head, 4096);
	g_string_free(payload, TRUE);
}

static void test_hostile(void)
{
	struct published *head = publish(keys);
	struct profile *p = profile_new();
	struct fold_contexts *c = fold_contexts_new(p, "/proc");
	struct offcpu_rec_context rec = record_of(0, "", 0);
	uint32_t frames[FOLD_CONTEXT_FRAMES];

	g_assert_false(fold_contexts_is_sound(&rec, sizeof(rec) - 1));
	rec.shift = 8;
	g_assert_false(fold_contexts_is_sound(&rec, sizeof(rec)));
	for (unsigned i = 0; i < 20000; i++) {
		for (size_t k = 0; k < sizeof(rec.word); k++)
			((uint8_t *)rec.word)[k] = (uint8_t)(k % 3 ? g_test_rand_int_range(0, 6) : g_test_rand_int());
		rec.shift = i % 8;
		unsigned cnt = fold_contexts_frames(c, &rec, frames);

		g_assert_cmpuint(cnt, <=, FOLD_CONTEXT_FRAMES);
		for (unsigned k = 0; k < cnt; k++)
			g_assert_true(g_utf8_validate(profile_get_frame(p, frames[k])->name, -1, NULL));
	}
	munmap(head, 4096);
	g_string_free(payload, TRUE);
	fold_contexts_free(c);
	profile_free(p);
}

/* A program that has a route of its own for each request does not have a row for each. */
static void test_no_bound(void)
{
	struct published *head = publish(keys);
	struct profile *p = profile_new();
	struct fold_contexts *c = fold_contexts_new(p, "/proc");
	uint32_t frames[FOLD_CONTEXT_FRAMES];

	for (unsigned i = 0; i < 20000; i++) {
		g_autofree char *attributes = g_strdup_printf("\2\7/%06u", i);
		struct offcpu_rec_context rec = record_of(0, attributes, 9);

		g_assert_cmpuint(fold_contexts_frames(c, &rec, frames), ==, 1);
	}
	g_assert_cmpuint(p->frames->len, <=, FOLD_CONTEXT_VALUES_MAX + 2);
	g_assert_cmpuint(profile_find_loss(p, "trace_routes")->count, ==, 20000 - FOLD_CONTEXT_VALUES_MAX);
	munmap(head, 4096);
	g_string_free(payload, TRUE);
	fold_contexts_free(c);
	profile_free(p);
}

static void test_traces(void)
{
	struct profile *p = profile_new();
	struct fold_traces *t = fold_traces_new();
	struct offcpu_rec_trace rec = { .type = OFFCPU_REC_TRACE, .key = { .tno = 3, .ustack = 5, .state = 'S' },
					.start_ns = 100, .duration_ns = 10, .trace = { 0xab, 1 }, .span = { 0xcd } };
	struct offcpu_wait_key key = rec.key;
	struct wait w = { .state = 'S', .count = 2, .blocked_ns = 30, .max_ns = 20 };
	const struct thread thread = { .comm = "x" };

	w.thread = profile_add_thread(p, &thread);
	uint32_t row = profile_add_wait(p, &w);

	g_assert_false(fold_traces_add(t, &rec, sizeof(rec) - 1));
	g_assert_true(fold_traces_add(t, &rec, sizeof(rec)));
	rec.key.flags = OFFCPU_KEY_SECOND | OFFCPU_KEY_CROSSING;	/* sums are not told apart by these */
	rec.key.slice = 7;
	rec.duration_ns = 20;
	rec.trace[1] = 2;
	g_assert_true(fold_traces_add(t, &rec, sizeof(rec)));
	rec.duration_ns = 15;
	g_assert_true(fold_traces_add(t, &rec, sizeof(rec)));
	fold_traces_tell(t, p, &key, row);
	key.tno = 4;
	fold_traces_tell(t, p, &key, row);
	fold_traces_finish(t, p);
	g_assert_cmpuint(p->traces->len, ==, 1);
	g_assert_cmpstr(profile_trace_of(p, row)->trace, ==, "ab020000000000000000000000000000");
	g_assert_cmpstr(profile_trace_of(p, row)->span, ==, "cd00000000000000");
	g_assert_cmpuint(profile_trace_of(p, row)->ns, ==, 20);
	g_assert_null(profile_trace_of(p, row + 1));
	fold_traces_free(t);
	profile_free(p);
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/contexts/routes", test_routes);
	g_test_add_func("/contexts/labels", test_labels);
	g_test_add_func("/contexts/hostile", test_hostile);
	g_test_add_func("/contexts/no-bound", test_no_bound);
	g_test_add_func("/contexts/traces", test_traces);
	return g_test_run();
}
