/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads counters of an RDMA device, by a call or by telemetry. Telemetry sends a response in JSON,
 * in one packet: {"/uroce/device":{..."counters":{"NAME":NUMBER,...}...}}. Names of counters are
 * plain words. So a search for the name in quotes, with a colon behind it, finds the counter.
 */

#include "counted.h"

#include <dlfcn.h>
#include <glob.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "eal/runtime.h"

/*
 * maximum size of a telemetry response in bytes: the limit of telemetry for the data, and the text
 * around the data
 */
#define ANSWER_MAX 17408
#define TIMEOUT_S  2 /* limit in seconds for a telemetry request and its response */

typedef bool query_fn(const char *device, const char *name, uint64_t *value);

/*
 * Read a counter of an RDMA device by a call of libibverbs.so.1, if the process has loaded that
 * library and has opened the device.
 */
static bool
query_library(const char *device, const char *name, uint64_t *value)
{
	void *const library = dlopen("libibverbs.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	query_fn *query;
	bool is_known;

	if (library == NULL)
		return false;
	query = (query_fn *)dlsym(library, "uroce_ibverbs_counter");
	is_known = query != NULL && query(device, name, value);
	dlclose(library);
	return is_known;
}

static int
connect_to(const char *path)
{
	static const struct timeval timeout = { .tv_sec = TIMEOUT_S };
	struct sockaddr_un addr = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
	if (snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", path) <
		    (int)sizeof(addr.sun_path) &&
	    connect(fd, (struct sockaddr *)&addr, sizeof(addr)) == 0)
		return fd;
	close(fd);
	return -1;
}

static uint64_t
find_number(const char *response, const char *name)
{
	const char *const counters = strstr(response, "\"counters\":{");
	const char *found;
	char key[64];

	snprintf(key, sizeof(key), "\"%s\":", name);
	found = counters != NULL ? strstr(counters, key) : NULL;
	return found != NULL ? strtoull(found + strlen(key), NULL, 10) : 0;
}

/*
 * Read a counter that another process has for an RDMA device, by telemetry. The result is 0 if the
 * process does not respond, or has no such device.
 */
static uint64_t
query_process(const char *path, const char *device, const char *name)
{
	char text[ANSWER_MAX];
	uint64_t value = 0;
	ssize_t len;
	const int fd = connect_to(path);

	if (fd < 0)
		return 0;
	/* the first message of a telemetry server describes the server, and is skipped */
	len = recv(fd, text, sizeof(text), 0);
	snprintf(text, sizeof(text), "/uroce/device,%s", device);
	if (len > 0 && send(fd, text, strlen(text), MSG_NOSIGNAL) > 0) {
		len = recv(fd, text, sizeof(text) - 1, 0);
		text[len > 0 ? len : 0] = '\0';
		value = find_number(text, name);
	}
	close(fd);
	return value;
}

uint64_t
counted(const char *device, const char *name)
{
	const char *const folder = runtime_folder();
	char pattern[PATH_MAX];
	uint64_t sum = 0;
	glob_t found;

	if (query_library(device, name, &sum))
		return sum;
	if (folder == NULL || snprintf(pattern, sizeof(pattern), "%s/dpdk/*/dpdk_telemetry.v2*",
				       folder) >= (int)sizeof(pattern))
		return 0;
	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return 0;
	for (size_t i = 0; i < found.gl_pathc; i++)
		sum += query_process(found.gl_pathv[i], device, name);
	globfree(&found);
	return sum;
}
