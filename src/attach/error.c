/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/error.h"

#include <errno.h>

G_DEFINE_QUARK(attach-error-quark, attach_error)

void attach_set_error(GError **error, int err, const char *what)
{
	if (err == -EPERM)
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_PERMISSION,
			    "%s: %s (run as root, or with CAP_BPF and CAP_PERFMON; `offcpu doctor` tells more)",
			    what, g_strerror(-err));
	else
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_KERNEL, "%s: %s (`offcpu doctor` tells more)",
			    what, g_strerror(-err));
}

void attach_set_load_error(GError **error, int err)
{
	/* EACCES is the verifier's word, no matter of rights; --verbose shows its log */
	attach_set_error(error, err, err == -EACCES ? "load the BPF programs: the verifier refuses" :
						      "load the BPF programs");
}
