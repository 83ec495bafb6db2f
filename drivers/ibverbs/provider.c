/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The functions that libibverbs exports for vendor libraries, and that programs use as well. Some
 * programs are linked with vendor libraries (libmlx5, libefa), whose symbols are all bound when the
 * program starts. Those vendor libraries only register drivers, and this library has no devices for
 * these drivers. The other functions fail; the file "symbols" lists them. The version of these
 * symbols changes with each release of libibverbs, and this library has all versions.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "engine_calls.h"

/* Types of a GID, as in the kernel's files gid_attrs/types in sysfs. */
enum gid_type { GID_TYPE_ROCE_V1, GID_TYPE_ROCE_V2 };

bool verbs_allow_disassociate_destroy;

int uroce_gid_type_34(struct ibv_context *context, uint8_t port_num, unsigned index,
		      enum gid_type *type);

int
uroce_gid_type_34(struct ibv_context *context, uint8_t port_num, unsigned index,
		  enum gid_type *type)
{
	const struct engine_calls *const calls = engine_of(context);
	union ibv_gid gid;

	if (calls == NULL || calls->query_gid(context, port_num, (int)index, &gid) != 0)
		return -1;
	*type = GID_TYPE_ROCE_V2;
	return 0;
}

int uroce_gid_type_57(struct ibv_context *, uint8_t, unsigned, enum gid_type *)
	__attribute__((alias("uroce_gid_type_34")));
int uroce_gid_type_59(struct ibv_context *, uint8_t, unsigned, enum gid_type *)
	__attribute__((alias("uroce_gid_type_34")));
int uroce_gid_type_64(struct ibv_context *, uint8_t, unsigned, enum gid_type *)
	__attribute__((alias("uroce_gid_type_34")));
__asm__(".symver uroce_gid_type_34,ibv_query_gid_type@@IBVERBS_PRIVATE_34");
__asm__(".symver uroce_gid_type_57,ibv_query_gid_type@IBVERBS_PRIVATE_57");
__asm__(".symver uroce_gid_type_59,ibv_query_gid_type@IBVERBS_PRIVATE_59");
__asm__(".symver uroce_gid_type_64,ibv_query_gid_type@IBVERBS_PRIVATE_64");

/*
 * List no devices for programs that use the first version of the libibverbs interface, from before
 * 2007. The structs of that version are different. Without a device these programs have no object
 * with which they could make the other calls of that version.
 */
struct ibv_device **uroce_older_list(int *num_devices);
void uroce_older_free_list(struct ibv_device **list);

struct ibv_device **
uroce_older_list(int *num_devices)
{
	if (num_devices != NULL)
		*num_devices = 0;
	return calloc(1, sizeof(struct ibv_device *));
}

void
uroce_older_free_list(struct ibv_device **list)
{
	free(list);
}

__asm__(".symver uroce_older_list,ibv_get_device_list@IBVERBS_1.0");
__asm__(".symver uroce_older_free_list,ibv_free_device_list@IBVERBS_1.0");
