/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_EXPORTER_SERVER_H
#define AGENT_EXPORTER_SERVER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Sent with the file of a text. */
struct exporter_text {
	uint64_t bytes;
	uint64_t still_after_ns;	/* without another text for this long the agent counts as hanging */
};

/*
 * The process that answers GET /metrics on a listening socket, by libmicrohttpd, with the last text that it received
 * (parser_send(): struct exporter_text and a file), and GET /healthz with that text's age: 200, or 503 if the agent
 * hangs. It has given up everything else (base/opener/confine.h), and ends when the other end of `texts` is closed.
 * is_loopback: Host must name this machine, so that no page in a browser can read it through its own name (DNS
 * rebinding).
 */
_Noreturn void exporter_serve(int listening, int texts, bool is_loopback, uint64_t still_after_ns);


#endif
