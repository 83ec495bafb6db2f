/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds or makes the folder for the sockets of EAL. Any user can create a folder of any name in
 * /tmp. So a folder there is used only if it belongs to the current user and no other user may
 * enter it. Then its content belongs to this user, too. If another user has created a folder of the
 * same name, a folder with a unique suffix in its name is created.
 */

#include "eal/runtime.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS       (S_IRWXG | S_IRWXO)
#define OTHERS_WRITE (S_IWGRP | S_IWOTH)
#define UNIQUE       ".XXXXXX"
#define NAME_MAX_LEN (sizeof(RUNTIME_OWN) + sizeof("4294967295"))

/* path of the folder; the array is static, because runtime_folder() returns a pointer to it */
static char own[NAME_MAX_LEN + sizeof(UNIQUE)];

/*
 * Check whether `path` is a folder, and not a symbolic link, that belongs to this user and grants
 * other users none of the rights in `rights_of_others`.
 */
static bool
is_mine(const char *path, mode_t rights_of_others)
{
	struct stat stat;

	return lstat(path, &stat) == 0 && S_ISDIR(stat.st_mode) && stat.st_uid == geteuid() &&
	       (stat.st_mode & rights_of_others) == 0;
}

/*
 * Check whether EAL can create its sockets in `folder`/dpdk, and whether no other user can write to
 * `folder`/dpdk.
 */
static bool
is_usable(const char *folder)
{
	char path[4096];

	return snprintf(path, sizeof(path), "%s/dpdk", folder) < (int)sizeof(path) &&
	       (mkdir(path, 0700) == 0 || errno == EEXIST) && is_mine(path, OTHERS_WRITE);
}

/*
 * Find a folder that an earlier program of this user created because the folder `name` could not be
 * used. Such a folder is called `name` with a unique suffix.
 */
static bool
find_unique(const char name[NAME_MAX_LEN])
{
	char pattern[sizeof(own)];
	bool is_found = false;
	glob_t found;

	snprintf(pattern, sizeof(pattern), "%.*s.??????", (int)NAME_MAX_LEN - 1, name);
	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		return false;
	for (size_t i = 0; i < found.gl_pathc && !is_found; i++) {
		is_found = strlen(found.gl_pathv[i]) < sizeof(own) &&
			   is_mine(found.gl_pathv[i], OTHERS);
		if (is_found)
			snprintf(own, sizeof(own), "%s", found.gl_pathv[i]);
	}
	globfree(&found);
	return is_found;
}

static const char *
find_other(const char name[NAME_MAX_LEN])
{
	if (!find_unique(name)) {
		snprintf(own, sizeof(own), "%.*s" UNIQUE, (int)NAME_MAX_LEN - 1, name);
		if (mkdtemp(own) == NULL)
			return NULL;
	}
	fprintf(stderr,
		"uroce: %s is not used, since it is no folder of user %u's alone (allowed: its "
		"owner, mode "
		"0700): EAL's sockets are below %s\n",
		name, (unsigned)geteuid(), own);
	return own;
}

static const char *
find_own(void)
{
	char name[NAME_MAX_LEN];

	snprintf(name, sizeof(name), RUNTIME_OWN "%u", (unsigned)geteuid());
	if (mkdir(name, 0700) != 0 && errno != EEXIST)
		return NULL;
	if (!is_mine(name, OTHERS))
		return find_other(name);
	snprintf(own, sizeof(own), "%s", name);
	return own;
}

const char *
runtime_folder(void)
{
	const char *const folder = secure_getenv("RUNTIME_DIRECTORY");
	const char *const usual = getuid() == 0 ? "/var/run" : secure_getenv("XDG_RUNTIME_DIR");

	if (folder != NULL)
		return folder;
	if (own[0] != '\0')
		return own;
	return usual != NULL && is_usable(usual) ? usual : find_own();
}
