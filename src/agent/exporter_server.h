/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef AGENT_EXPORTER_SERVER_H
#define AGENT_EXPORTER_SERVER_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* What comes with the file of a text. */
struct exporter_text {
	uint64_t bytes;
	uint64_t still_after_ns;	/* without another one for so long the agent stands still */
};

/*
 * The process that answers GET /metrics on a socket that listens, by libmicrohttpd, with the last text that it was
 * sent (parser_send(): struct exporter_text and a file), and GET /healthz with how old that is: 200, or 503 where it
 * stands still.  It has given up everything else (base/opener/confine.h), and ends as the other
 * end of `texts` is closed. is_loopback: other names than this machine's in Host are refused, so that no page of the
 * browser's reads it by a name of its own.
 */
_Noreturn void exporter_serve(int listening, int texts, bool is_loopback, uint64_t still_after_ns);


#endif
