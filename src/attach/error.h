/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#ifndef ATTACH_ERROR_H
#define ATTACH_ERROR_H

#include <glib.h>
#include <stdbool.h>

/* Errors between us and the kernel, which determine the exit status. */
#define ATTACH_ERROR (attach_error_quark())
GQuark attach_error_quark(void);
enum attach_error {
	ATTACH_ERROR_PERMISSION,	/* these rights do not allow it */
	ATTACH_ERROR_KERNEL,		/* the kernel lacks something essential */
	ATTACH_ERROR_FAILED,
};

/* From now on no error refers to `offcpu doctor`: it is the caller. */
void attach_errors_of_doctor(void);
/* Sets a sentence about what could not be done; err is a negative errno. */
void attach_set_error(GError **error, int err, const char *what);
#define attach_refuse(error, err, what) ({ attach_set_error(error, err, what); false; })
/* The same for a perf event, for which some kernels require more than CAP_PERFMON. */
void attach_set_perf_error(GError **error, int err, const char *what);
/* The same for loading the programs, with the message of libbpf or the verifier. */
void attach_set_load_error(GError **error, int err);
#define attach_refuse_load(error, err) ({ attach_set_load_error(error, err); false; })
/* Does this kernel deny perf events without CAP_SYS_ADMIN? Debian's does by default. */
bool attach_perf_takes_admin(void);

/* Messages of libbpf, and in these of the verifier, while programs are loaded. Any thread may load some. */

/* From now on messages are kept instead of printed. */
void load_log_keep(void);
/* All messages since the last call; free it. */
char *load_log_take(void);
/* The kept line that says why a load failed; NULL: none. Free it. */
char *load_log_reason(void);
/* The same for a given log. */
char *load_log_reason_of(const char *log);

#endif
