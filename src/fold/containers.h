/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_CONTAINERS_H
#define FOLD_CONTAINERS_H

#include <glib.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * What a container is called, out of the files that its runtime keeps of it: Docker's, containerd's (Kubernetes, k3s,
 * nerdctl), CRI-O's and Podman's, and those of users' own Docker and Podman.  No runtime is asked.  Files are root's or
 * the user's, names in them are whoever began the container's, so they are parsed by a process without rights where
 * there is one (base/parser.h).
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
