/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ANALYSE_REASON_RULES_TEXT_H
#define ANALYSE_REASON_RULES_TEXT_H

/* rules.txt, embedded by tools/embed.py. */
extern const char rules_text[];

#endif
