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
 * What processes belong to.  Best is what a process calls itself (OTEL_SERVICE_NAME, or service.name of
 * OTEL_RESOURCE_ATTRIBUTES in its environment, or what OpenTelemetry's SDK publishes in its memory, for which it is
 * looked at three times); else its control group tells: a pod or a container, by the name that its runtime keeps
 * (see below), or a unit.  Everything that is read is some user's to write, so it is bounded.  A process that
 * is gone by then is known by the id of its group, if that is still there.
 */

#define SERVICE_NAME_MAX 128	/* bytes; longer ones are cut */
#define SERVICES_A_WINDOW 500	/* processes that are looked at; the others' turn comes with the next window */

/*
 * "mariadb.service", "pod:checkout-5d9", "container:0123456789ab", "cgroup:/batch/job": of a path below the root.
 * NULL: it tells nothing.
 */
char *service_of_cgroup(const char *path, const char *host_name);
/* The 64 digits of the innermost container of such a path; NULL: it is none. */
char *service_container_id(const char *path);
/* The user whose group such a path is, of "user-1000.slice", or 0. */
uint32_t service_uid_of_cgroup(const char *path);
/*
 * Of variables that end with a NUL each.  NULL: there is none.  *ret_host_name: HOSTNAME in a pod, or NULL; both are
 * the caller's.
 */
char *service_of_environ(const char *bytes, gsize len_bytes, char **ret_host_name);
/*
 * The path in the text of a /proc/PID/cgroup: of version 2, or of systemd's own hierarchy where that is the root.
 * NULL: none.
 */
char *service_cgroup_path(const char *text);

struct fold_services;
/* proc_dir: "/proc", but for tests. */
struct fold_services *fold_services_new(struct profile *profile, const char *proc_dir);
void fold_services_free(struct fold_services *s);	/* NULL is fine */
/* The profile's string, or NULL.  cgroup_id: 0: not known.  has_ended: its memory is gone, and its environment with it. */
const char *fold_services_name(struct fold_services *s, uint32_t pid, uint64_t proc_start_ns, const char *process,
			       uint64_t cgroup_id, bool has_ended);
/* Processes that were not asked for since the last call are forgotten. */
void fold_services_next_window(struct fold_services *s);
/* Keeps what it knows. */
void fold_services_keep(struct fold_services *s, struct profile_compact *c);

/*
 * Control groups by what people call them: a unit ("nginx.service", "nginx"), a container or a pod ("web", "shop/web",
 * "container:web", "pod:shop/checkout"), or the first digits of a container's id.  A path of a group is told from a name
 * by the caller.
 */

/*
 * Absolute paths of all groups of that name (char *, free with the array), none below another of them: replicas and
 * user services have the same.  Empty: none; *ret_alike: "a, b" of names that may be meant, or NULL; free with g_free().
 * mount: of the version 2 hierarchy; proc_dir: "/proc", but for tests.
 */
GPtrArray *service_groups_find(const char *proc_dir, const char *mount, const char *name, char **ret_alike);

/*
 * What a container is called, out of the files that its runtime keeps of it: Docker's, containerd's (Kubernetes, k3s,
 * nerdctl), CRI-O's and Podman's, and those of users' own Docker and Podman.  No runtime is asked.  Files are root's or
 * the user's, names in them are whoever began the container's, so they are parsed by a process without rights where
 * there is one (base/opener/parser.h).
 */

#define CONTAINER_ID_DIGITS 64

/*
 * id: 64 digits.  uid: the user's whose container it may be, or 0.  Replicas have one name: "container:shop/web" of Compose, "container:shop_web" of Swarm,
 * "container:web", "pod:shop/checkout" and "pod:shop/checkout/proxy" (namespace, workload, container).  NULL: no file
 * tells.  Free with g_free().
 */
char *container_service(const char *proc_dir, const char *id, uint32_t uid);

/* "checkout" of checkout-6d4cf56db6-x7k2p and fluentd-x7k2p; others stay as they are.  In place. */
void container_workload(char *pod);
/* The home of a user by the text of /etc/passwd, or NULL.  Free with g_free(). */
char *container_home(const char *passwd, uint32_t uid);
/* Of the text of such a file. */
char *container_decode(const char *text, size_t len_bytes, const char *id);
/* For parser_start(): the question is the id, the answer what container_decode() gives. */
bool container_parse(int fd, const void *id, size_t id_bytes, GByteArray *into);

#endif
