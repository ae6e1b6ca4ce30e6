/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef SYMBOLIZE_GO_LABELS_H
#define SYMBOLIZE_GO_LABELS_H

#include "symbolize/runtime/go_program.h"

/*
 * What runtime/pprof.Do() has a goroutine labelled with.  A set of labels is never changed, so what is read is right
 * where the goroutine still has that set behind the reading.
 */

#define GO_LABELS_MAX 4
#define GO_LABEL_KEY_MAX 64
#define GO_LABEL_VALUE_MAX 200

struct go_label {
	char key[GO_LABEL_KEY_MAX], value[GO_LABEL_VALUE_MAX];	/* valid UTF-8 */
};
struct go_labels {
	unsigned cnt;
	struct go_label label[GO_LABELS_MAX];	/* by key */
};

/* Where in struct g the pointer to them is, by where its `startpc` is; 0: not known of that version, 19 of "go1.19". */
uint32_t go_labels_at(unsigned minor, uint32_t start);
/* Those that rows are told apart by (base/trace_attributes.h).  minor: of Go's version. */
void go_labels_read(uint32_t pid, unsigned minor, uint64_t addr, struct go_labels *ret);

#endif
