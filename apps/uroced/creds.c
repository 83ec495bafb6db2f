/* SPDX-License-Identifier: BSD-3-Clause */

/* Finds the users of uroced's clients, by the table of subordinate user IDs. */

#include "creds.h"

#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/*
 * user ID of a socket whose credentials are not known; the kernel reports this number, 65534, for
 * user IDs that the user namespace of the process does not map
 */
#define UID_UNKNOWN 65534

/* A range of subordinate user IDs that is assigned to a user (subuid(5)). */
struct range {
	uid_t first, last;
	uid_t user;
};

static struct range *ranges;
static size_t nb_ranges;

static bool
find_user(const char *name, uid_t *uid)
{
	const struct passwd *user = getpwnam(name);
	unsigned number;
	char more;

	if (user)
		*uid = user->pw_uid;
	else if (sscanf(name, "%u%c", &number, &more) == 1)
		*uid = number;
	else
		return false;
	return true;
}

/*
 * Read a line "NAME:FIRST:COUNT" of the file of subordinate user IDs.
 * @return whether the line assigns user IDs to a user
 */
static bool
read_line(const char *line, struct range *range)
{
	char name[64];
	unsigned first, nb;

	if (sscanf(line, "%63[^:\n]:%u:%u", name, &first, &nb) != 3 || first == 0 || nb == 0 ||
	    nb - 1 > UINT32_MAX - 1 - first || !find_user(name, &range->user))
		return false;
	range->first = first;
	range->last = first + nb - 1;
	if (range->user == 0)
		range->user = first;
	return true;
}

static int
add_range(const struct range *range)
{
	struct range *longer = realloc(ranges, (nb_ranges + 1) * sizeof(ranges[0]));

	if (!longer)
		return -ENOMEM;
	ranges = longer;
	ranges[nb_ranges++] = *range;
	return 0;
}

int
creds_read_subuids(const char *path)
{
	FILE *file = fopen(path, "re");
	struct range range;
	char line[256];
	int ret = 0;

	nb_ranges = 0;
	if (!file)
		return errno == ENOENT ? 0 : -errno;
	while (ret == 0 && fgets(line, sizeof(line), file)) {
		if (read_line(line, &range))
			ret = add_range(&range);
	}
	(void)fclose(file);
	return ret;
}

static uid_t
user_of(uid_t uid)
{
	size_t i = 0;

	while (i < nb_ranges && (uid < ranges[i].first || uid > ranges[i].last))
		i++;
	return i < nb_ranges ? ranges[i].user : uid;
}

struct ucred
creds_of(int socket)
{
	struct ucred peer = { .uid = UID_UNKNOWN };
	socklen_t len = sizeof(peer);

	(void)getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	peer.uid = user_of(peer.uid);
	return peer;
}
