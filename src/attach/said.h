/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_SAID_H
#define ATTACH_SAID_H

/* What libbpf says, and in its words the verifier, as programs are loaded.  Any thread may load some. */

/* From now on it is kept, in place of printed. */
void said_keep(void);
/* All of it since the last call; to be freed. */
char *said_take(void);
/* Of what is kept, the line that says why a load failed; NULL: there is none.  To be freed. */
char *said_why(void);
/* The same of a text. */
char *said_why_of(const char *log);

#endif
