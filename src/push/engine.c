/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "push/engine.h"

#define HOUR_S 3600
#define OTLP_PATH "/v1development/profiles"
#define OTLP_METRICS_PATH "/v1/metrics"

/* Accepted, though perhaps only in part.  What it rejected would be rejected again. */
static enum target_outcome otlp_verdict(const struct http_answer *a, char **ret_words)
{
	return otlp_rejected(a->text->data, a->text->len, ret_words) ? TARGET_REFUSED : TARGET_TAKEN;
}

/* gRPC codes (google.rpc.Code) that mean "nothing was taken" or "will never be taken". */
static enum target_outcome parca_verdict(const struct http_answer *a, char **ret_words)
{
	enum {
		OK = 0,
		INVALID_ARGUMENT = 3,
		NOT_FOUND = 5,
		PERMISSION_DENIED = 7,
		RESOURCE_EXHAUSTED = 8,
		UNIMPLEMENTED = 12,
		UNAVAILABLE = 14,
		UNAUTHENTICATED = 16
	};

	switch (parca_status(a->text->data, a->text->len, a->grpc->str, ret_words)) {
	case OK: return TARGET_TAKEN;
	case INVALID_ARGUMENT: return TARGET_REFUSED;
	case NOT_FOUND:
	case PERMISSION_DENIED:
	case RESOURCE_EXHAUSTED:
	case UNIMPLEMENTED:
	case UNAVAILABLE:
	case UNAUTHENTICATED: return TARGET_LATER;
	default: return TARGET_UNSURE;
	}
}

const struct engine engines[PUSH_ENGINES] = {
	[PUSH_PYROSCOPE] =
		{
			.name = "pyroscope",
			.title = "Pyroscope",
			.alive_path = "/ready",
			.age_max_s = HOUR_S - 600,
			.series = &pyroscope_series,
			.path = "/push.v1.PusherService/Push",
			.content_type = "application/proto",
		},
	[PUSH_CLICKHOUSE] = { .name = "clickhouse", .title = "ClickHouse", .alive_path = "/ping" },
	[PUSH_OTLP] =
		{
			.name = "otlp",
			.title = "OTLP",
			.alive_path = OTLP_PATH,
			.series = &otlp_series,
			.path = OTLP_PATH,
			.content_type = "application/x-protobuf",
			.metrics_path = OTLP_METRICS_PATH,
			.verdict = otlp_verdict,
			.words = otlp_words,
		},
	[PUSH_PARCA] =
		{
			.name = "parca",
			.title = "Parca",
			.alive_path = "/metrics",
			.series = &parca_series,
			.path = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw",
			.content_type = "application/grpc-web+proto",
			.verdict = parca_verdict,
		},
};
