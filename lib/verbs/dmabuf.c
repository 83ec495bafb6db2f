/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory regions over a dma-buf. Workers copy with the CPU, so the dma-buf is mapped into the
 * process. Its exporter may refuse the mapping, for example for GPU memory that the CPU cannot
 * access.
 */

#include <errno.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/magic.h>

#include "verbs/handle.h"
#include "verbs/region.h"
#include "verbs/uroce.h"

#ifndef DMA_BUF_MAGIC
#define DMA_BUF_MAGIC 0x444d4142
#endif

#define ACCESS_SUPPORTED                                                                           \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |               \
	 IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_OPTIONAL_RANGE)

static uint64_t
page_mask(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE) - 1;
}

static int
check_dmabuf_access(unsigned access)
{
	if (access & ~(unsigned)ACCESS_SUPPORTED)
		return -EINVAL;
	return uroce_region_is_owners(access) ? 0 : -EINVAL;
}

static int
check_buf(int fd, uint64_t offset, size_t length, uint64_t iova)
{
	struct statfs fs;
	off_t size;

	if (fstatfs(fd, &fs) != 0)
		return -errno;
	if (fs.f_type != DMA_BUF_MAGIC || ((offset ^ iova) & page_mask()) != 0)
		return -EINVAL;
	size = lseek(fd, 0, SEEK_END);
	if (size < 0)
		return -errno;
	return length > 0 && offset <= (uint64_t)size && length <= (uint64_t)size - offset
		       ? 0
		       : -EINVAL;
}

/*
 * Map the whole pages that contain `length` bytes at `offset` of the dma-buf. The mapping, and the
 * address of these bytes in it, are written to `model`.
 */
static int
map_buf(int fd, uint64_t offset, size_t length, bool is_written, struct uroce_region *model)
{
	const uint64_t skip = offset & page_mask();
	void *const map = mmap(NULL, length + skip, is_written ? PROT_READ | PROT_WRITE : PROT_READ,
			       MAP_SHARED, fd, (off_t)(offset - skip));

	if (map == MAP_FAILED)
		return errno == ENOMEM || errno == EACCES ? -errno : -EOPNOTSUPP;
	model->map = map;
	model->map_len = length + skip;
	model->conf.addr = (uint8_t *)map + skip;
	return 0;
}

struct ibv_mr *
uroce_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova, int fd,
		    int access)
{
	struct uroce_region model = {
		.kind = UROCE_REGION_DMABUF,
		.conf = {
			.iova = iova,
			.len = length,
			.access = (unsigned)access & ~(unsigned)IBV_ACCESS_OPTIONAL_RANGE,
		},
	};
	struct ibv_mr *mr = NULL;
	int ret = uroce_vpd_check(pd);

	if (ret == 0)
		ret = check_dmabuf_access((unsigned)access);
	if (ret == 0)
		ret = check_buf(fd, offset, length, iova);
	if (ret == 0)
		ret = map_buf(fd, offset, length, access & IBV_ACCESS_LOCAL_WRITE, &model);
	if (ret != 0) {
		errno = -ret;
		return NULL;
	}
	mr = uroce_region_register(pd, &model, (void *)(uintptr_t)offset, length);
	if (mr == NULL)
		munmap(model.map, model.map_len);
	return mr;
}
