/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps the memory for the messages of a test. */

#include "buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define HUGE_ALIGN ((size_t)2 << 20)

static int
refuse(const char *option, const char *value, const char *why)
{
	fprintf(stderr, "uroce-perf: --%s%s%s: %s\n", option, value[0] != '\0' ? " " : "", value,
		why);
	return -1;
}

/* Map ordinary memory, aligned so that the kernel may use huge pages. */
static int
map_ordinary(struct buffer *buffer, size_t len)
{
	uint8_t *map = mmap(NULL, len + HUGE_ALIGN, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED) {
		fprintf(stderr, "uroce-perf: no memory for %zu MiB of messages: %s\n", len >> 20,
			strerror(errno));
		return -1;
	}
	size_t before = (HUGE_ALIGN - (uintptr_t)map % HUGE_ALIGN) % HUGE_ALIGN;
	if (before > 0)
		munmap(map, before);
	if (HUGE_ALIGN - before > 0)
		munmap(map + before + len, HUGE_ALIGN - before);
	*buffer = (struct buffer){ .at = map + before, .len = len };
	madvise(buffer->at, len, MADV_HUGEPAGE);
	return 0;
}

static int
map_hugepages(struct buffer *buffer, size_t len)
{
	char why[128];
	void *map = mmap(NULL, len, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_POPULATE, -1, 0);

	if (map != MAP_FAILED) {
		*buffer = (struct buffer){ .at = map, .len = len };
		return 0;
	}
	snprintf(why, sizeof(why),
		 "no %zu free huge pages: %s; allowed: reserved pages in vm.nr_hugepages",
		 len / HUGE_ALIGN, strerror(errno));
	return refuse("use_hugepages", "", why);
}

/*
 * Check that a file is long enough for the memory. A device file has no length, and is mapped
 * without this check.
 */
static int
check_file(const struct options *opt, int fd, size_t len)
{
	struct stat stat;
	char why[128];

	if (fstat(fd, &stat) != 0)
		return refuse("mmap", opt->mmap_file, strerror(errno));
	if (!S_ISREG(stat.st_mode) || (uint64_t)stat.st_size >= opt->mmap_offset + len)
		return 0;
	snprintf(why, sizeof(why),
		 "is too short; allowed: a file of %" PRIu64 " bytes, or a smaller --mmap-offset",
		 opt->mmap_offset + len);
	return refuse("mmap", opt->mmap_file, why);
}

static int
map_file(struct buffer *buffer, const struct options *opt, size_t len)
{
	int fd = open(opt->mmap_file, O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return refuse("mmap", opt->mmap_file, strerror(errno));
	if (check_file(opt, fd, len) != 0) {
		close(fd);
		return -1;
	}
	void *map =
		mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)opt->mmap_offset);
	const int error = errno;
	close(fd);
	if (map == MAP_FAILED)
		return refuse("mmap", opt->mmap_file, strerror(error));
	*buffer = (struct buffer){ .at = map, .len = len };
	return 0;
}

int
buffer_map(struct buffer *buffer, const struct options *opt, size_t len)
{
	const size_t rounded = (len + HUGE_ALIGN - 1) & ~(HUGE_ALIGN - 1);

	if (opt->mmap_file != NULL)
		return map_file(buffer, opt, len);
	if (opt->is_hugepages)
		return map_hugepages(buffer, rounded);
	if (map_ordinary(buffer, rounded) != 0)
		return -1;
	/*
	 * Write the memory. Pages of a mapping that were never written share one page of zeros,
	 * which is always in the cache, so the size of the working set would have no effect.
	 */
	if (opt->working_set != 0)
		memset(buffer->at, 1, rounded);
	return 0;
}

void
buffer_unmap(struct buffer *buffer)
{
	if (buffer->at != NULL)
		munmap(buffer->at, buffer->len);
	*buffer = (struct buffer){ 0 };
}
