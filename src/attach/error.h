/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_ERROR_H
#define ATTACH_ERROR_H

#include <glib.h>
#include <stdbool.h>

/* What can go wrong between us and the kernel; the exit status follows from it. */
#define ATTACH_ERROR (attach_error_quark())
GQuark attach_error_quark(void);
enum attach_error {
	ATTACH_ERROR_PERMISSION,	/* these rights do not allow it */
	ATTACH_ERROR_KERNEL,		/* the kernel lacks something essential */
	ATTACH_ERROR_FAILED,
};

/* From now on no error says that `offcpu doctor` tells more: it is that which says it. */
void attach_errors_of_doctor(void);
/* Sets a sentence of what could not be done; err is a negative errno. */
void attach_set_error(GError **error, int err, const char *what);
#define attach_refuse(error, err, what) ({ attach_set_error(error, err, what); false; })
/* The same of an event of perf's, for which some kernels ask for more than CAP_PERFMON. */
void attach_set_perf_error(GError **error, int err, const char *what);
/* The same of loading the programs, with what libbpf or the verifier said of it. */
void attach_set_load_error(GError **error, int err);
#define attach_refuse_load(error, err) ({ attach_set_load_error(error, err); false; })
/* Does this kernel give events of perf's to nobody without CAP_SYS_ADMIN?  Debian's do so by default. */
bool attach_perf_takes_admin(void);

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
