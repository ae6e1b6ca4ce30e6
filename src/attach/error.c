/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/error.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>

#include "attach/feature.h"

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

/* What is told apart by trying is told apart so; this is for a better word than the kernel's own. */
static bool is_too_old(const struct utsname *kernel)
{
	unsigned major = 0, minor = 0;

	return sscanf(kernel->release, "%u.%u", &major, &minor) == 2 && (major < 5 || (major == 5 && minor < 18));
}

void attach_set_load_error(GError **error, int err)
{
	struct utsname kernel;

	if (!uname(&kernel) && is_too_old(&kernel)) {
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_KERNEL,
			    "Linux %s is too old: 5.18 or later is needed (`offcpu sample --proc` works here, too)", kernel.release);
		return;
	}
	if (err != -EPERM && !feature_supported(FEATURE_BTF)) {
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_KERNEL,
			    "this kernel has no type information (BTF), so no BPF program can be fitted to it (`offcpu sample --proc` works here, too)");
		return;
	}
	/* EACCES is the verifier's word, no matter of rights; --verbose shows its log */
	attach_set_error(error, err, err == -EACCES ? "load the BPF programs: the verifier refuses" :
						      "load the BPF programs");
}
