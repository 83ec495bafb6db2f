/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The file of leases is locked by a POSIX lock, which belongs to the process: a child that inherits
 * the descriptor neither keeps nor releases the lock. The mark at the beginning of a new file is
 * written last, so a file that begins with zeros is not complete.
 */

#include "lease_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

/* mark at the beginning of a complete file of leases; its number is the version of the layout */
#define MARK      "uroced leases 1"
#define HEAD_SIZE 4096

struct lease_file_image {
	char mark[16];
	uint64_t mac_seed;
	uint8_t zero[HEAD_SIZE - 24];
	struct lease_record record[UROCE_MUX_BLOCKS];
};

_Static_assert(sizeof(struct lease_file_image) ==
		       HEAD_SIZE + UROCE_MUX_BLOCKS * sizeof(struct lease_record),
	       "a record is where its number says");

static const char *
lock_file(int fd)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_SETLK, &all) == 0)
		return NULL;
	return errno == EACCES || errno == EAGAIN ? "another uroced uses it" : strerror(errno);
}

static const char *
check_stat(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return "it is no regular file";
	if (st.st_uid != geteuid() || st.st_mode & 077)
		return "it belongs to another user, or other users may access it";
	if (st.st_size != 0 && st.st_size != sizeof(struct lease_file_image))
		return "it is no file of leases";
	return NULL;
}

static const char *
check_lease_file(int fd)
{
	const char *wrong = check_stat(fd);
	int error;

	if (wrong)
		return wrong;
	/*
	 * The pages of an existing file of leases are allocated, too. Otherwise a store to a mapped
	 * page for which the file system has no room would raise SIGBUS.
	 */
	error = posix_fallocate(fd, 0, sizeof(struct lease_file_image));
	return error == 0 ? NULL : strerror(error);
}

static const char *
make_image(struct lease_file_image *image)
{
	if (getrandom(&image->mac_seed, sizeof(image->mac_seed), 0) != sizeof(image->mac_seed))
		return strerror(errno);
	memset(image->record, 0, sizeof(image->record));
	atomic_thread_fence(memory_order_release);
	memcpy(image->mark, MARK, sizeof(image->mark));
	return NULL;
}

static const char *
map_image(struct lease_file *file)
{
	static const char none[sizeof(file->image->mark)];
	struct lease_file_image *image = mmap(NULL, sizeof(*image), PROT_READ | PROT_WRITE,
					      MAP_SHARED | MAP_POPULATE, file->fd, 0);

	if (image == MAP_FAILED)
		return strerror(errno);
	file->image = image;
	/* the tokens of leases must not be in the memory of a child process, nor in a core file */
	(void)madvise(image, sizeof(*image), MADV_DONTFORK);
	(void)madvise(image, sizeof(*image), MADV_DONTDUMP);
	file->is_new = memcmp(image->mark, none, sizeof(none)) == 0;
	file->record = image->record;
	if (file->is_new)
		return make_image(image);
	return memcmp(image->mark, MARK, sizeof(image->mark)) == 0 ? NULL
								   : "it is no file of leases";
}

const char *
lease_file_open(struct lease_file *file, const char *path)
{
	const char *wrong;

	*file = (struct lease_file){ .fd = -1 };
	file->fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
	if (file->fd < 0)
		return errno == ELOOP ? "it is a link" : strerror(errno);
	wrong = lock_file(file->fd);
	if (!wrong)
		wrong = check_lease_file(file->fd);
	if (!wrong)
		wrong = map_image(file);
	if (wrong)
		lease_file_close(file);
	else
		file->mac_seed = file->image->mac_seed;
	return wrong;
}

const struct lease_record *
lease_file_map(int fd)
{
	const struct lease_file_image *image =
		mmap(NULL, sizeof(*image), PROT_READ, MAP_SHARED, fd, 0);

	if (image == MAP_FAILED)
		return NULL;
	(void)madvise((void *)(uintptr_t)image, sizeof(*image), MADV_DONTDUMP);
	return image->record;
}

/*
 * Check the mark at the beginning of a file of leases.
 * @return NULL, or the reason why it is no file of leases
 */
static const char *
check_mark(int fd)
{
	static const char none[sizeof(((struct lease_file_image *)NULL)->mark)];
	char mark[sizeof(none)];
	const ssize_t len = pread(fd, mark, sizeof(mark), 0);

	if (len < 0)
		return strerror(errno);
	return len == 0 || memcmp(mark, none, sizeof(none)) == 0 ||
			       memcmp(mark, MARK, sizeof(mark)) == 0
		       ? NULL
		       : "it is no file of leases";
}

/*
 * Get the PID of the process that has locked a file of leases.
 * @return 0 if no other process has locked it
 */
static pid_t
get_locker(int fd)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_GETLK, &all) == 0 && all.l_type != F_UNLCK ? all.l_pid : 0;
}

const char *
lease_file_check(const char *path, pid_t *user, bool *is_new)
{
	const int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	const char *wrong;

	*user = 0;
	*is_new = fd < 0 && errno == ENOENT;
	if (fd < 0)
		return *is_new ? NULL : errno == ELOOP ? "it is a link" : strerror(errno);
	*user = get_locker(fd);
	wrong = check_stat(fd);
	if (!wrong)
		wrong = check_mark(fd);
	(void)close(fd);
	return wrong;
}

void
lease_file_close(struct lease_file *file)
{
	if (file->image)
		(void)munmap(file->image, sizeof(*file->image));
	if (file->fd >= 0)
		(void)close(file->fd);
	*file = (struct lease_file){ .fd = -1 };
}
