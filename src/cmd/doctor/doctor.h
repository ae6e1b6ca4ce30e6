/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef CMD_DOCTOR_DOCTOR_H
#define CMD_DOCTOR_DOCTOR_H

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "cmd/answering.h"
#include "symbolize/runtime/recognise.h"

/*
 * Prints what can be known of a process; same_cnt others have the name it was asked for by.  `answer` tells whether in a
 * bounded size.  Returns an exit status.
 */
int doctor_process(uint32_t pid, unsigned same_cnt, bool as_json, const struct answer_args *answer);

/* What can be known of a process, and what is missing, each with what to do about it. */
struct doctor_finding {
	const char *what;	/* a name that does not change: "python-frames" */
	bool is_there;
	char *text;		/* a sentence without its end */
	char *advice;		/* a sentence; NULL: there is nothing to do */
};

/* struct doctor_finding, freed with the array. */
GArray *doctor_findings(const struct recognised *r);

#endif
