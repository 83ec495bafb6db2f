/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The port `udp` with an interface, on a kernel that lets only privileged users bind a socket to an
 * interface, as Linux before 5.7 does.
 */

#include "rig.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <rte_log.h>

static int refused_family; /* setsockopt() here binds no socket of this family */
static unsigned nb_refused;

int __real_setsockopt(int fd, int level, int name, const void *value, socklen_t len);
int __wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len);

int
__wrap_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
	int family = AF_UNSPEC;
	socklen_t family_len = sizeof(family);

	if (level != SOL_SOCKET || name != SO_BINDTODEVICE)
		return __real_setsockopt(fd, level, name, value, len);
	(void)getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &family_len);
	if (family != refused_family)
		return __real_setsockopt(fd, level, name, value, len);
	nb_refused++;
	errno = EPERM;
	return -1;
}

/* Try to create a device, and check that the log has the reason of the refusal. */
static void
udp_iface__a_missing_privilege_is_logged(void **state)
{
	struct uroce_dev_conf conf;
	struct uroce_dev *dev = NULL;
	size_t len = 0;
	char *text = NULL;
	FILE *file = open_memstream(&text, &len);

	(void)state;
	assert_non_null(file);
	refused_family = AF_INET;
	assert_int_equal(uroce_dev_conf_parse("udp,iface=lo,drive=none", &conf), 0);
	assert_int_equal(rte_openlog_stream(file), 0);
	assert_int_equal(uroce_dev_create(&conf, &dev), -EPERM);
	rte_openlog_stream(NULL);
	(void)fclose(file);
	assert_null(dev);
	assert_int_equal(nb_refused, 1);
	assert_non_null(strstr(text, "iface=lo"));
	assert_non_null(strstr(text, "before Linux 5.7 this needs CAP_NET_RAW"));
	assert_non_null(strstr(text, "addr="));
	free(text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(udp_iface__a_missing_privilege_is_logged),
	};

	if (!rig_init())
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
