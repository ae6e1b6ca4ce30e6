/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_SERVICES_H
#define FOLD_SERVICES_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/profile.h"
#include "profile/profile_map.h"

/*
 * The service of a process. The best source is the name that the process gives itself: OTEL_SERVICE_NAME or
 * service.name of OTEL_RESOURCE_ATTRIBUTES in its environment, or what OpenTelemetry's SDK publishes in its memory,
 * which is tried three times. Next is its control group: a pod or container, by the name that its runtime keeps (see
 * below), or a systemd unit. All of this is written by users, so reading is bounded. A process that has ended is
 * known by the id of its group, if that still exists.
 */

#define SERVICE_NAME_MAX 128	/* bytes; longer names are cut */
#define SERVICES_A_WINDOW 500	/* processes read per window; others are read in the next one */

/*
 * "mariadb.service", "pod:checkout-5d9", "container:0123456789ab", "cgroup:/batch/job", from a path below the root.
 * NULL: none.
 */
char *service_of_cgroup(const char *path, const char *host_name);
/* The 64 digits of the innermost container in the path. NULL: none. */
char *service_container_id(const char *path);
/* The user of a path with "user-1000.slice", or 0. */
uint32_t service_uid_of_cgroup(const char *path);
/* From NUL-terminated variables. NULL: none. *ret_host_name: HOSTNAME in a pod, or NULL. The caller owns both. */
char *service_of_environ(const char *bytes, gsize len_bytes, char **ret_host_name);
/* The path in a /proc/PID/cgroup: of version 2, or of systemd's own hierarchy if that is the root. NULL: none. */
char *service_cgroup_path(const char *text);

struct fold_services;
/* proc_dir: "/proc" except in tests. */
struct fold_services *fold_services_new(struct profile *profile, const char *proc_dir);
void fold_services_free(struct fold_services *s);	/* NULL is fine */
/* The profile's string, or NULL. cgroup_id: 0: unknown. has_ended: its memory and environment are gone. */
const char *fold_services_name(struct fold_services *s, uint32_t pid, uint64_t proc_start_ns, const char *process,
			       uint64_t cgroup_id, bool has_ended);
/* Frees processes that were not looked up since the last call. */
void fold_services_next_window(struct fold_services *s);
/* Maps strings that are still used. */
void fold_services_keep(struct fold_services *s, struct profile_compact *c);

/*
 * Control groups by their common names: a unit ("nginx.service", "nginx"), a container or pod ("web", "shop/web",
 * "container:web", "pod:shop/checkout"), or the first digits of a container id. The caller handles paths.
 */

/*
 * Absolute paths of all groups with this name (char *, freed with the array), none below another: replicas and user
 * services share names. Empty: none; *ret_alike: similar names "a, b", or NULL, for g_free(). mount: of the version 2
 * hierarchy; proc_dir: "/proc" except in tests.
 */
GPtrArray *service_groups_find(const char *proc_dir, const char *mount, const char *name, char **ret_alike);

/*
 * The name of a container, from files of its runtime: Docker, containerd (Kubernetes, k3s, nerdctl), CRI-O and
 * Podman, also rootless Docker and Podman. No runtime is called. The files belong to root or the user, but names in
 * them come from whoever started the container. So they are parsed by a process without rights, if there is one
 * (base/opener/parser.h).
 */

#define CONTAINER_ID_DIGITS 64

/*
 * id: 64 digits. uid: the possible owner of the container, or 0. Replicas share a name: "container:shop/web" of
 * Compose, "container:shop_web" of Swarm, "container:web", "pod:shop/checkout" and "pod:shop/checkout/proxy"
 * (namespace, workload, container). NULL: no file has it. Free with g_free().
 */
char *container_service(const char *proc_dir, const char *id, uint32_t uid);

/* Shortens checkout-6d4cf56db6-x7k2p to "checkout", fluentd-x7k2p to "fluentd", in place. Other names stay. */
void container_workload(char *pod);
/* The home directory of a user in the text of /etc/passwd, or NULL. Free with g_free(). */
char *container_home(const char *passwd, uint32_t uid);
/* The name from the text of a runtime's file. */
char *container_decode(const char *text, size_t len_bytes, const char *id);
/* For parser_start(): the question is the id, the answer that of container_decode(). */
bool container_parse(int fd, const void *id, size_t id_bytes, GByteArray *into);

#endif
