/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef FOLD_TARGET_TEXT_H
#define FOLD_TARGET_TEXT_H

#include <stdbool.h>
#include <stdint.h>

#include <glib.h>

#include "abi/target_abi.h"

/* How what was waited for is called.  Bytes as recorded: the renderer escapes.  Results are the caller's. */

/* enum object_kind of a descriptor; link: as /proc has it, or NULL. */
uint8_t target_kind(const struct offcpu_rec_target *rec, const char *link);

/* link, or what the kernel told where that is NULL. */
char *target_path(const struct offcpu_rec_target *rec, const char *link);

/* What for, as rules have it: "connect", "send", "uring READ"; "". */
const char *target_operation(const struct offcpu_rec_target *rec);

/*
 * "10.0.0.5:5432" of who connects, ":5432 from 10.0.0.9" of the other one, "*:80 listening"; "/run/x.sock".
 * A port that the kernel chose is left out: it tells one connection from another, but says nothing.
 */
char *target_socket(const struct offcpu_rec_target *rec, bool is_server);

const char *target_protocol(const struct offcpu_rec_target *rec);	/* "tcp", "unix"; "" */

/* " (postgres)", " from writer and 2 more". */
void target_append_peer(GString *s, const struct offcpu_rec_target *rec, uint8_t kind, const char *peer,
			unsigned others);

#endif
