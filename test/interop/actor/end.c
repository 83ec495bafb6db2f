/* SPDX-License-Identifier: BSD-3-Clause */

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "end.h"

#define MEMORY_MAX (1ull << 30)
#define MCAST_LID  0xc000

struct device device;

static struct end ends[ENDS_MAX];

const struct word_bit rights[] = {
	{ "write", IBV_ACCESS_REMOTE_WRITE },
	{ "read", IBV_ACCESS_REMOTE_READ },
	{ "atomic", IBV_ACCESS_REMOTE_ATOMIC },
	{ "window", IBV_ACCESS_MW_BIND },
	{ "none", 0 },
	{ NULL, 0 },
};

const struct word_bit states[] = {
	{ "RESET", IBV_QPS_RESET }, { "INIT", IBV_QPS_INIT },
	{ "RTR", IBV_QPS_RTR },     { "RTS", IBV_QPS_RTS },
	{ "SQD", IBV_QPS_SQD },     { "SQE", IBV_QPS_SQE },
	{ "ERR", IBV_QPS_ERR },     { NULL, 0 },
};

const struct word_bit types[] = {
	{ "RC", IBV_QPT_RC }, { "UC", IBV_QPT_UC }, { "UD", IBV_QPT_UD }, { NULL, 0 }
};

static uint64_t
end_number(const struct words *words)
{
	return words_number(words, "id", 0, ENDS_MAX - 1);
}

struct end *
end_at(uint64_t number)
{
	return &ends[number];
}

struct end *
end_place(const struct words *words)
{
	return end_at(end_number(words));
}

struct end *
end_of(const struct words *words)
{
	struct end *end = &ends[end_number(words)];

	if (!end->qp)
		fail("id=%" PRIu64 ": it was not created", end_number(words));
	return end;
}

uint8_t *
end_memory(const struct end *end, uint64_t offset, uint64_t length)
{
	if (offset > end->size || length > end->size - offset)
		fail("%" PRIu64 " bytes at %" PRIu64 ": it has %" PRIu64, length, offset,
		     end->size);
	return end->memory + offset;
}

/* Get the GID of an IP address, as RoCE v2 defines it. */
union ibv_gid
gid_of(const char *text)
{
	union ibv_gid gid = { 0 };

	if (text && inet_pton(AF_INET6, text, gid.raw) == 1)
		return gid;
	gid.raw[10] = gid.raw[11] = 0xff;
	if (!text || inet_pton(AF_INET, text, gid.raw + 12) != 1)
		fail("%s: no IPv4 or IPv6 address", text ? text : "gid");
	return gid;
}

/* -------------------------------------------------------------------------------- opening the device */

static struct ibv_context *
open_named(const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = NULL;

	for (int i = 0; list && list[i] && !context; i++)
		if (!name || !strcmp(ibv_get_device_name(list[i]), name))
			context = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!context)
		fail("%s: no such device, or it does not open: %s", name ? name : "any device",
		     strerror(errno));
	return context;
}

/* Find the index of a GID of type RoCE v2 in the GID table of the device. */
static int
find_gid(struct ibv_context *context, const union ibv_gid *gid)
{
	struct ibv_gid_entry entry;

	for (uint32_t i = 0; i < 256; i++)
		if (!ibv_query_gid_ex(context, 1, i, &entry, 0) &&
		    entry.gid_type == IBV_GID_TYPE_ROCE_V2 &&
		    !memcmp(&entry.gid, gid, sizeof(*gid)))
			return (int)i;
	return -1;
}

static void
use_context(struct ibv_context *context)
{
	device.context = context;
	device.pd = ibv_alloc_pd(context);
	if (!device.pd || ibv_query_device(context, &device.attr))
		fail("no protection domain: %s", strerror(errno));
}

void
device_borrow(struct ibv_context *context)
{
	if (device.context)
		return;
	device.is_borrowed = true;
	use_context(context);
}

void
op_open(const struct words *words)
{
	const char *address = words_text(words, "address");
	union ibv_gid gid = gid_of(address);
	int idx;

	if (!device.context)
		use_context(open_named(words_text(words, "device")));
	idx = find_gid(device.context, &gid);
	if (idx < 0)
		fail("%s: no RoCE v2 GID of the device is this address", address);
	device.gid = gid;
	device.gid_idx = idx;
	printf("{\"device\": \"%s\", \"gid_index\": %d, \"max_rd_atomic\": %d}\n",
	       ibv_get_device_name(device.context->device), idx, device.attr.max_qp_rd_atom);
}

/* --------------------------------------------------------------------------- the ends of connections */

void
end_free(struct end *end)
{
	/* A memory window of type 2 is bound to the QP, so deallocate the window first. */
	if (end->mw)
		ibv_dealloc_mw(end->mw);
	if (end->qp)
		ibv_destroy_qp(end->qp);
	if (end->ah)
		ibv_destroy_ah(end->ah);
	if (end->srq && end->srq_owner == end)
		ibv_destroy_srq(end->srq);
	for (int i = 0; i < 2; i++)
		if (end->cq[i])
			ibv_destroy_cq(end->cq[i]);
	if (end->channel)
		ibv_destroy_comp_channel(end->channel);
	if (end->mr)
		ibv_dereg_mr(end->mr);
	free(end->memory);
	memset(end, 0, sizeof(*end));
}

void
ends_close(void)
{
	/*
	 * An SRQ cannot be destroyed while QPs use it: first free the ends that have not created
	 * their SRQ.
	 */
	for (int is_owner = 0; is_owner < 2; is_owner++)
		for (int i = 0; i < ENDS_MAX; i++)
			if (ends[i].qp && (is_owner || ends[i].srq_owner != &ends[i]))
				end_free(&ends[i]);
	if (device.pd)
		ibv_dealloc_pd(device.pd);
	if (device.context && !device.is_borrowed)
		ibv_close_device(device.context);
}

/*
 * Choose the SRQ of an end: a new SRQ if `owner` is the end itself, otherwise the SRQ of `owner`.
 * If `owner` is NULL, the end has no SRQ.
 */
static bool
choose_srq(struct end *end, struct end *owner, uint32_t depth)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = depth, .max_sge = 1 } };

	end->srq_owner = owner ? owner : end;
	if (owner)
		end->srq = owner == end ? ibv_create_srq(device.pd, &attr) : owner->srq;
	return !owner || end->srq;
}

static bool
make_parts(struct end *end, struct end *srq_owner, uint64_t size, uint32_t depth, uint64_t access,
	   struct ibv_qp_init_attr *init)
{
	*init = (struct ibv_qp_init_attr){
		.qp_type = end->type,
		.cap = { .max_send_wr = depth,
			 .max_recv_wr = depth,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = end->inline_max },
	};

	end->size = size;
	end->memory = aligned_alloc(4096, (size + 4095) & ~4095ull);
	if (!end->memory)
		return false;
	memset(end->memory, 0, size);
	end->mr = ibv_reg_mr(device.pd, end->memory, size, (int)(access | IBV_ACCESS_LOCAL_WRITE));
	end->channel = ibv_create_comp_channel(device.context);
	if (!end->mr || !end->channel)
		return false;
	for (int i = 0; i < 2; i++) {
		end->cq[i] = ibv_create_cq(device.context, (int)depth * (i ? 4 : 1), end,
					   end->channel, 0);
		if (!end->cq[i])
			return false;
	}
	if (!choose_srq(end, srq_owner, depth))
		return false;
	init->send_cq = end->cq[ON_SEND];
	init->recv_cq = end->cq[ON_RECV];
	init->srq = end->srq;
	return true;
}

static _Noreturn void
give_up(struct end *end)
{
	int error = errno;

	end_free(end);
	fail("create: %s", strerror(error));
}

void
end_prepare(struct end *end, const struct words *words, struct ibv_qp_init_attr *init)
{
	uint64_t access = words_bits(words, "access",
				     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
					     IBV_ACCESS_REMOTE_ATOMIC,
				     rights);
	uint64_t size = words_number(words, "size", 65536, MEMORY_MAX);
	uint32_t depth = (uint32_t)words_number(words, "depth", 64, 8192);
	uint64_t srq = words_number(words, "srq", ENDS_MAX, ENDS_MAX - 1);

	if (!device.context)
		fail("create: open comes first");
	if (end->qp)
		fail("id=%td: it is there already", end - ends);
	end->type = (enum ibv_qp_type)words_one(words, "type", IBV_QPT_RC, types);
	end->inline_max = (uint32_t)words_number(words, "inline", 0, 4096);
	if (!make_parts(end, srq < ENDS_MAX ? &ends[srq] : NULL, size, depth, access, init))
		give_up(end);
}

void
end_print(const struct end *end)
{
	printf("{\"qpn\": %u, \"address\": %" PRIuPTR ", \"rkey\": %u, \"inline\": %u}\n",
	       end->qp->qp_num, (uintptr_t)end->memory, end->mr->rkey, end->inline_max);
}

void
op_create(const struct words *words)
{
	struct end *end = end_place(words);
	struct ibv_qp_init_attr init;

	end_prepare(end, words, &init);
	end->qp = ibv_create_qp(device.pd, &init);
	if (!end->qp)
		give_up(end);
	end->inline_max = init.cap.max_inline_data;
	end_print(end);
}

static void
modify(struct end *end, struct ibv_qp_attr *attr, int mask, const char *name)
{
	int error = ibv_modify_qp(end->qp, attr, mask);

	if (error)
		fail("to %s: %s", name, strerror(error));
}

static void
to_init(struct end *end, const struct words *words)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qkey = (uint32_t)words_number(words, "qkey", 0x11111111, UINT32_MAX),
		.qp_access_flags = (unsigned int)words_bits(
			words, "access",
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
			rights),
	};

	modify(end, &attr,
	       IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
		       (end->type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS),
	       "INIT");
}

static enum ibv_mtu
mtu_of(const struct words *words)
{
	switch (words_number(words, "mtu", 1024, 4096)) {
	case 256:
		return IBV_MTU_256;
	case 512:
		return IBV_MTU_512;
	case 1024:
		return IBV_MTU_1024;
	case 2048:
		return IBV_MTU_2048;
	case 4096:
		return IBV_MTU_4096;
	default:
		fail("mtu: 256, 512, 1024, 2048, 4096");
	}
}

static void
to_rtr(struct end *end, const struct words *words)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_of(words),
		.dest_qp_num = (uint32_t)words_number(words, "dqpn", 0, 0xffffff),
		.rq_psn = (uint32_t)words_number(words, "rq_psn", 0, 0xffffff),
		.max_dest_rd_atomic = (uint8_t)words_number(words, "rd", 16, 255),
		.min_rnr_timer = (uint8_t)words_number(words, "rnr_timer", 12, 31),
		.ah_attr = { .is_global = 1,
			     .port_num = 1,
			     .grh = { .dgid = gid_of(words_text(words, "dgid")),
				      .sgid_index = (uint8_t)device.gid_idx,
				      .hop_limit = 64 } },
	};
	int rc = end->type == IBV_QPT_RC ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0;

	modify(end, &attr,
	       IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | rc,
	       "RTR");
}

static void
to_rts(struct end *end, const struct words *words)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.sq_psn = (uint32_t)words_number(words, "psn", 0, 0xffffff),
		.timeout = (uint8_t)words_number(words, "timeout", 18, 31),
		.retry_cnt = (uint8_t)words_number(words, "retry", 7, 7),
		.rnr_retry = (uint8_t)words_number(words, "rnr_retry", 7, 7),
		.max_rd_atomic = (uint8_t)words_number(words, "rd", 16, 255),
	};
	int rc = end->type == IBV_QPT_RC ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
						   IBV_QP_MAX_QP_RD_ATOMIC
					 : 0;

	modify(end, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | rc, "RTS");
}

/* The operation connect moves the QP of an end from RESET to RTS. */
void
op_connect(const struct words *words)
{
	struct end *end = end_of(words);

	to_init(end, words);
	if (end->type == IBV_QPT_UD) {
		struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };

		modify(end, &attr, IBV_QP_STATE, "RTR");
	} else {
		to_rtr(end, words);
	}
	to_rts(end, words);
	printf("{}\n");
}

void
op_modify(const struct words *words)
{
	struct end *end = end_of(words);
	struct ibv_qp_attr attr = {
		.qp_state = (enum ibv_qp_state)words_one(words, "state", IBV_QPS_ERR, states),
	};

	modify(end, &attr, IBV_QP_STATE, words_name_of(states, attr.qp_state));
	printf("{}\n");
}

void
op_state(const struct words *words)
{
	struct end *end = end_of(words);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int error =
		ibv_query_qp(end->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_RQ_PSN, &init);

	if (error)
		fail("state: %s", strerror(error));
	printf("{\"state\": \"%s\"}\n", words_name_of(states, attr.qp_state));
}

/*
 * Join or leave a multicast group with a socket. If the kernel's IP receives the frames of a
 * device, it accepts no frame to a group that no socket has joined on the interface. Devices with
 * an IP of their own do not need the socket.
 */
static void
join(const char *interface, const union ibv_gid *group, bool is_leaving)
{
	static int sockets[2];
	bool is_ipv6 = group->raw[0] == 0xff;
	int *fd = &sockets[is_ipv6];
	struct ip_mreqn four = { .imr_ifindex = (int)if_nametoindex(interface) };
	struct ipv6_mreq six = { .ipv6mr_interface = if_nametoindex(interface) };

	if (*fd <= 0)
		*fd = socket(is_ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	memcpy(&four.imr_multiaddr, group->raw + 12, 4);
	memcpy(&six.ipv6mr_multiaddr, group->raw, 16);
	if (is_ipv6 ? setsockopt(*fd, IPPROTO_IPV6, is_leaving ? IPV6_LEAVE_GROUP : IPV6_JOIN_GROUP,
				 &six, sizeof(six))
		    : setsockopt(*fd, IPPROTO_IP,
				 is_leaving ? IP_DROP_MEMBERSHIP : IP_ADD_MEMBERSHIP, &four,
				 sizeof(four)))
		fail("%s: its membership: %s", interface, strerror(errno));
}

/*
 * The operation attach attaches the QP of an end to a multicast group, or detaches it. Arguments:
 * id= group=ADDRESS [leave=1] [interface=NAME]
 */
void
op_attach(const struct words *words)
{
	bool is_leaving = words_number(words, "leave", 0, 1);
	struct end *end = end_of(words);
	union ibv_gid group = gid_of(words_text(words, "group"));
	int error;

	if (words_text(words, "interface"))
		join(words_text(words, "interface"), &group, is_leaving);
	error = is_leaving ? ibv_detach_mcast(end->qp, &group, MCAST_LID)
			   : ibv_attach_mcast(end->qp, &group, MCAST_LID);
	if (error)
		fail("attach: %s", strerror(error));
	printf("{}\n");
}

void
op_destroy(const struct words *words)
{
	end_free(end_of(words));
	printf("{}\n");
}
