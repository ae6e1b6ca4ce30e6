/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "io/counts.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "attach/maps.h"
#include "base/clock.h"
#include "base/version.h"

void only_configure(const struct only_parts *parts, const struct io_only *only)
{
	*parts->by_process = only->pids != NULL;
	*parts->by_cgroup = only->cgroups != NULL;
	bpf_program__set_autoload(parts->fork, only->pids && only->follow);
	bpf_program__set_autoload(parts->free, only->pids != NULL);
	if (!only->pids)
		bpf_map__set_max_entries(parts->tgids, 1);
}

bool only_fill(const struct only_parts *parts, const struct io_only *only, GError **error)
{
	return map_fill(parts->tgids, only->pids, error) && map_fill(parts->cgroups, only->cgroups, error);
}

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

uint64_t io_count(const struct bpf_map *map, uint32_t what)
{
	int cpus = libbpf_num_possible_cpus();
	g_autofree uint64_t *each = g_new0(uint64_t, (size_t)MAX(cpus, 1));
	uint64_t sum = 0;

	if (bpf_map_lookup_elem(bpf_map__fd(map), &what, each))
		return 0;
	for (int i = 0; i < cpus; i++)
		sum += each[i];
	return sum;
}

void io_add_losses(struct profile *p, const struct bpf_map *map, const struct io_loss *losses, gsize cnt)
{
	for (gsize i = 0; i < cnt; i++) {
		uint64_t lost = io_count(map, losses[i].what);

		if (lost)
			profile_add_loss(p, losses[i].reason, losses[i].help, lost, 0);
	}
}
