/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Enters the sandbox of uroced. The order of the steps matters. The first step sets
 * PR_SET_NO_NEW_PRIVS, which the filter of system calls requires. Then core files and tracing are
 * forbidden, because frames and tokens of clients are in memory, and capabilities are given up. The
 * filter is the last step, because it forbids the system calls by which the other steps could be
 * undone.
 */

#include "sandbox.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "capability.h"
#include "log_line.h"
#include "syscall_filter.h"

/* The capabilities and system calls that the driver of a port needs when the port is stopped. */
static const struct need {
	const char *driver;
	uint64_t capabilities;
	enum syscall_filter filter;
} needs[] = {
	/*
	 * when the port is stopped, the driver net_af_xdp detaches its XDP program from the
	 * interface
	 */
	{ "net_af_xdp",
	  CAPABILITY(CAP_SYS_ADMIN) | CAPABILITY(CAP_NET_ADMIN) | CAPABILITY(CAP_NET_RAW) |
		  CAPABILITY(39 /* CAP_BPF */),
	  SYSCALL_FILTER_XDP },
	{ NULL, 0, SYSCALL_FILTER_UROCED },
};

static const struct need *
need_of(const char *driver)
{
	const struct need *need = needs;

	while (need->driver && (!driver || strcmp(need->driver, driver) != 0))
		need++;
	return need;
}

static int
refuse(const char *what, int error)
{
	log_line("the sandbox cannot be entered: %s: %s: allowed are a kernel and a container that "
		 "permit it, or --no-sandbox",
		 what, strerror(error));
	return -1;
}

static int
enter(const struct need *need)
{
	const struct rlimit none = { 0, 0 };
	int ret;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return refuse("no new privileges", errno);
	if (setrlimit(RLIMIT_CORE, &none) < 0)
		return refuse("no core file", errno);
	ret = capability_drop(need->capabilities);
	if (ret < 0)
		return refuse("no capabilities", -ret);
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return refuse("no tracing", errno);
	ret = syscall_filter_install(need->filter);
	return ret < 0 ? refuse("a filter of system calls", -ret) : 0;
}

int
sandbox_enter(const char *driver)
{
	return enter(need_of(driver));
}

int
sandbox_enter_cm(void)
{
	const struct need need = { .filter = SYSCALL_FILTER_CM };

	return enter(&need);
}
