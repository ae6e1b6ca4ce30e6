/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "features/io/record_counts.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/version.h"

void io_recording_info(struct profile *p, const char *what, const char *rows_are, uint64_t start_ns,
		       uint64_t start_unix_ns, uint64_t stop_ns)
{
	struct profile_info *info = &p->info;
	g_autofree char *text = g_strconcat("offcpu io: ", what, NULL);
	struct utsname host;

	uname(&host);
	info->start_unix_ns = start_unix_ns;
	info->start_ns = start_ns;
	info->duration_ns = stop_ns - start_ns;
	info->host = profile_string(p, host.nodename);
	info->kernel = profile_string(p, host.release);
	info->cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	info->version = profile_string(p, version_text());
	info->tracer_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	info->imported = profile_string(p, text);
	info->rows_are = profile_rows_known(rows_are);
	info->unknown = UNKNOWN_STATES | UNKNOWN_ACCOUNTS | UNKNOWN_PARTS;
	info->has_objects = true;
}
