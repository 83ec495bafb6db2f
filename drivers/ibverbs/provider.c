/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What libibverbs has for the libraries of vendors, and programs use all the same. Those libraries are linked with some
 * programs (libmlx5, libefa) and are bound whole when these start; they register their drivers, for which there are no
 * devices, and call nothing else: the rest refuse, see the list of symbols. From release to release the version of
 * these symbols changes; here there are all.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "engine_calls.h"

/* As sysfs would say it. */
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
 * The first version of the interface, of before 2007: its structs are others. For programs of then there are no
 * devices, and so nothing that they could call the other symbols of that version with.
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
