/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_LIMITS_H
#define ANALYSE_LIMITS_H

#include "analyse/findings.h"
#include "profile/limits.h"

/* What holds a finding up from outside. */
struct finding_limit {
	const struct profile_limit *limit;	/* NULL: nothing is known */
	/* of LIMIT_CPUS: of how many of its threads; whether all may use the same CPUs as that one */
	uint32_t threads_cnt;
	bool is_same;
};
struct finding_limit finding_limit(const struct findings *f, const struct finding *row);

#endif
