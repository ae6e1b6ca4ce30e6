/* SPDX-License-Identifier: LGPL-2.1-only OR BSD-2-Clause */
#include "attach/error.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "attach/feature.h"

G_DEFINE_QUARK(attach-error-quark, attach_error)

static bool is_doctor;

void attach_errors_of_doctor(void)
{
	is_doctor = true;
}

void attach_set_error(GError **error, int err, const char *what)
{
	if (err == -EPERM)
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_PERMISSION,
			    "%s: %s (run as root, or with CAP_BPF and CAP_PERFMON%s)", what, g_strerror(-err),
			    is_doctor ? "" : "; `offcpu doctor` tells more");
	else
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_KERNEL, "%s: %s%s", what, g_strerror(-err),
			    is_doctor ? "" : " (`offcpu doctor` tells more)");
}

/* Level 3 exists on Debian and Android: perf events then need CAP_SYS_ADMIN. */
#define PARANOID_MOST 2

static int perf_paranoid(void)
{
	int paranoid = 0;
	FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");

	if (f) {
		if (fscanf(f, "%d", &paranoid) != 1)
			paranoid = 0;
		fclose(f);
	}
	return paranoid;
}

bool attach_perf_takes_admin(void)
{
	return perf_paranoid() > PARANOID_MOST;
}

void attach_set_perf_error(GError **error, int err, const char *what)
{
	int paranoid = perf_paranoid();

	if ((err == -EACCES || err == -EPERM) && paranoid > PARANOID_MOST)
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_PERMISSION,
			    "%s: %s (kernel.perf_event_paranoid is %d: set it to %d, or run as root)", what,
			    g_strerror(-err), paranoid, PARANOID_MOST);
	else
		attach_set_error(error, err, what);
}

/* In this lockdown mode no BPF program may read the kernel's memory. */
static bool is_confidential(void)
{
	char text[128] = "";
	FILE *f = fopen("/sys/kernel/security/lockdown", "re");

	if (!f)
		return false;
	if (!fgets(text, sizeof(text), f))
		text[0] = 0;
	fclose(f);
	return strstr(text, "[confidentiality]") != NULL;
}

/* Features are detected by trying them; the version only improves the error message. */
static bool is_too_old(const struct utsname *kernel)
{
	unsigned major = 0, minor = 0;

	return sscanf(kernel->release, "%u.%u", &major, &minor) == 2 && (major < 5 || (major == 5 && minor < 18));
}

void attach_set_load_error(GError **error, int err)
{
	g_autofree char *why = NULL;
	struct utsname kernel;
	const char *what;

	if (!uname(&kernel) && is_too_old(&kernel)) {
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_KERNEL,
			    "Linux %s is too old: 5.18 or later is needed (`offcpu sample --proc` works here, too)",
			    kernel.release);
		return;
	}
	if (err != -EPERM && err != -ENOMEM && !feature_supported(FEATURE_BTF)) {
		g_set_error(
			error, ATTACH_ERROR, ATTACH_ERROR_KERNEL,
			"this kernel has no type information (BTF), so no BPF program can be fitted to it (`offcpu sample --proc` works here, too)");
		return;
	}
	if (is_confidential()) {
		g_set_error(
			error, ATTACH_ERROR, ATTACH_ERROR_PERMISSION,
			"this kernel is locked down to confidentiality, where no BPF program may read its memory (`offcpu sample --proc` works here, too)");
		return;
	}
	if (err == -ENOMEM) {
		g_set_error(
			error, ATTACH_ERROR, ATTACH_ERROR_KERNEL,
			"load the BPF programs: there is no memory for their maps (a whole machine's take some 100 MB, which count for the control group that this runs in: raise its limit)");
		return;
	}
	/* EACCES comes from the verifier, not from missing rights */
	what = err == -EACCES ? "load the BPF programs: the verifier refuses" : "load the BPF programs";
	why = err == -EPERM ? NULL : load_log_reason();
	if (why && strstr(why, g_strerror(-err)))
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_KERNEL, "%s: %s", what, why);
	else if (why)
		g_set_error(error, ATTACH_ERROR, ATTACH_ERROR_KERNEL, "%s: %s: %s", what, g_strerror(-err), why);
	else
		attach_set_error(error, err, what);
}
