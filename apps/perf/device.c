/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the device of an endpoint, and chooses its GID and its limits. */

#include "endpoint.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <uroce_cm.h>

#define PORT_NUM 1

static int
failed(const char *what, int error)
{
	fprintf(stderr, "uroce-perf: %s: %s\n", what, strerror(error));
	return -1;
}

static bool
is_mapped_ipv4(const union ibv_gid *gid)
{
	static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };

	return memcmp(gid->raw, prefix, sizeof(prefix)) == 0;
}

bool
endpoint_is_ipv4(const struct endpoint *endpoint)
{
	return is_mapped_ipv4(&endpoint->gid);
}

static bool
is_wanted(const union ibv_gid *gid, bool is_ipv6)
{
	static const union ibv_gid none;
	bool is_link_local = gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;

	if (memcmp(gid, &none, sizeof(none)) == 0)
		return false;
	return is_ipv6 ? !is_mapped_ipv4(gid) && !is_link_local : is_mapped_ipv4(gid);
}

/* Parse an IP address as a GID. @return whether the text is an IP address */
static bool
parse_address(const char *text, union ibv_gid *gid)
{
	if (inet_pton(AF_INET6, text, gid->raw) == 1)
		return true;
	memset(gid->raw, 0, 10);
	memset(gid->raw + 10, 0xff, 2);
	return inet_pton(AF_INET, text, gid->raw + 12) == 1;
}

/* Choose the GID that is the address of --source_ip. rdma_cm uses this address as the source. */
static int
choose_source(struct endpoint *endpoint, const struct options *opt, int nb_gid)
{
	union ibv_gid wanted;

	for (int i = 0; i < nb_gid && parse_address(opt->source_ip, &wanted); i++) {
		if (uroce_query_gid(endpoint->context, PORT_NUM, i, &endpoint->gid) != 0 ||
		    memcmp(&endpoint->gid, &wanted, sizeof(wanted)) != 0)
			continue;
		endpoint->gid_index = (unsigned)i;
		return 0;
	}
	fprintf(stderr,
		"uroce-perf: --source_ip %s: the device has no such address; allowed with "
		"--rdma_cm: an address of the key addr of --uroce\n",
		opt->source_ip);
	return -1;
}

static int
choose_gid(struct endpoint *endpoint, const struct options *opt, int nb_gid)
{
	if (options_uses_cm(opt) && opt->source_ip != NULL)
		return choose_source(endpoint, opt, nb_gid);
	if (opt->has_gid_index) {
		static const union ibv_gid none;

		endpoint->gid_index = (unsigned)opt->gid_index;
		if (uroce_query_gid(endpoint->context, PORT_NUM, (int)opt->gid_index,
				    &endpoint->gid) == 0 &&
		    memcmp(&endpoint->gid, &none, sizeof(none)) != 0)
			return 0;
		fprintf(stderr, "uroce-perf: --gid-index %u: no such GID; allowed: one of the %d\n",
			endpoint->gid_index, nb_gid);
		return -1;
	}
	for (int i = 0; i < nb_gid; i++) {
		if (uroce_query_gid(endpoint->context, PORT_NUM, i, &endpoint->gid) != 0 ||
		    !is_wanted(&endpoint->gid, opt->is_ipv6))
			continue;
		endpoint->gid_index = (unsigned)i;
		return 0;
	}
	fprintf(stderr,
		"uroce-perf: the device has no %s address; give one with --uroce=...,addr=%s, or "
		"choose another GID with --gid-index\n",
		opt->is_ipv6 ? "IPv6" : "IPv4", opt->is_ipv6 ? "2001:db8::1/64" : "192.0.2.1/24");
	return -1;
}

static int
query_port(struct endpoint *endpoint, const struct options *opt)
{
	struct ibv_port_attr port;
	int error = uroce_query_device(endpoint->context, &endpoint->attr);

	if (error != 0)
		return failed("query the device", error);
	error = uroce_query_port(endpoint->context, PORT_NUM, &port);
	if (error != 0)
		return failed("query the port", error);
	endpoint->mtu = 128u << port.active_mtu;
	if (opt->mtu > endpoint->mtu) {
		fprintf(stderr,
			"uroce-perf: --mtu %u: larger than the port carries; allowed: 256 to %u\n",
			(unsigned)opt->mtu, endpoint->mtu);
		return -1;
	}
	if (options_uses_cm(opt) && opt->mtu != 0 && opt->mtu != endpoint->mtu) {
		fprintf(stderr,
			"uroce-perf: --mtu %u: with --rdma_cm the path MTU is that of the device; "
			"allowed: %u, or another value of the key mtu of --uroce\n",
			(unsigned)opt->mtu, endpoint->mtu);
		return -1;
	}
	if (opt->mtu != 0)
		endpoint->mtu = (unsigned)opt->mtu;
	endpoint->outs = (unsigned)endpoint->attr.max_qp_rd_atom;
	if (opt->outs > endpoint->outs) {
		fprintf(stderr,
			"uroce-perf: --outs %u: more than the device has; allowed: 1 to %u\n",
			(unsigned)opt->outs, endpoint->outs);
		return -1;
	}
	if (opt->outs != 0)
		endpoint->outs = (unsigned)opt->outs;
	if (opt->pkey_index >= port.pkey_tbl_len) {
		fprintf(stderr, "uroce-perf: --pkey_index %u: no such P_Key; allowed: 0 to %u\n",
			(unsigned)opt->pkey_index, port.pkey_tbl_len - 1u);
		return -1;
	}
	if (opt->qp_type == IBV_QPT_UD && opt->has_size && opt->size > endpoint->mtu) {
		fprintf(stderr,
			"uroce-perf: --size %u: a datagram is one packet; allowed: 1 to %u\n",
			(unsigned)opt->size, endpoint->mtu);
		return -1;
	}
	return choose_gid(endpoint, opt, port.gid_tbl_len);
}

/*
 * Create the device. Unless its specification gives a number of QPs, the device gets room for as
 * many as the test needs. rdma_cm uses the path MTU of the device. So with rdma_cm the device gets
 * the MTU of the option --mtu, unless its specification has an MTU.
 */
static struct ibv_device *
make_device(const struct options *opt, const char *spec)
{
	char qps[32] = "", mtu[32] = "", *complete;
	struct ibv_device *device;

	if (opt->nb_qp > PERF_QPS_DEFAULT_MAX && strstr(spec, ",qps=") == NULL)
		snprintf(qps, sizeof(qps), ",qps=%u", (unsigned)opt->nb_qp);
	if (options_uses_cm(opt) && opt->mtu != 0 && strstr(spec, ",mtu=") == NULL)
		snprintf(mtu, sizeof(mtu), ",mtu=%u", (unsigned)opt->mtu);
	if (asprintf(&complete, "%s%s%s", spec, qps, mtu) < 0)
		return NULL;
	device = uroce_create_device(complete);
	free(complete);
	return device;
}

/*
 * Open the device. With rdma_cm use the context that connection management has opened, because the
 * queue pairs of rdma_cm belong to this context. uroce_cm_get_devices() returns a list of one
 * context, because the process has one device.
 */
static struct ibv_context *
open_context(struct endpoint *endpoint, const struct options *opt)
{
	struct ibv_context **list, *context;

	if (!options_uses_cm(opt))
		return uroce_open_device(endpoint->device);
	list = uroce_cm_get_devices(NULL);
	if (list == NULL)
		return NULL;
	context = list[0];
	uroce_cm_free_devices(list);
	endpoint->is_shared_context = true;
	return context;
}

int
endpoint_open(struct endpoint *endpoint, const struct options *opt, const char *spec)
{
	endpoint->device = make_device(opt, spec);
	if (endpoint->device == NULL)
		return -1; /* the library has printed why the device was not created */
	endpoint->context = open_context(endpoint, opt);
	if (endpoint->context == NULL)
		return failed("open the device", errno);
	int nb_workers = uroce_get_worker_count(endpoint->context);
	for (int i = 0; i < nb_workers && i < (int)ENDPOINT_WORKERS_MAX; i++)
		endpoint->worker[endpoint->nb_workers++] = uroce_get_worker(endpoint->context, i);
	return query_port(endpoint, opt);
}
