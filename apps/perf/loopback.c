/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Runs both sides in one process. The client runs on the main lcore and the server on the next one.
 * Each side has its own device, as in two processes.
 *
 * A socket pair takes the place of the TCP connection. If one side fails, it closes its end of the
 * socket pair. The other side detects this in the same way as the end of a remote peer.
 */

#include "loopback.h"
#include "session.h"
#include "tcp.h"

#include <stdio.h>

#include <rte_errno.h>
#include <rte_eth_ring.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_ring.h>

#define RING_SLOTS 4096u

/*
 * Create a ring port. The driver puts the prefix net_ring_ before the name of the port. The IP
 * addresses of the port are known in this process only.
 */
static int
make_port(unsigned number, struct rte_ring *rx, struct rte_ring *tx, char spec[LOOPBACK_SPEC_LEN])
{
	char name[32];

	snprintf(name, sizeof(name), "uroce%u", number);
	/*
	 * the addresses 192.0.2.0/24 and 2001:db8::/32 are reserved for documentation (RFC 5737,
	 * RFC 3849)
	 */
	snprintf(spec, LOOPBACK_SPEC_LEN, "net_ring_%s,addr=192.0.2.%u/24,addr=2001:db8::%x/64",
		 name, number + 1, number + 1);
	return rte_eth_from_rings(name, &rx, 1, &tx, 1, SOCKET_ID_ANY) < 0 ? -1 : 0;
}

static struct rte_ring *
make_ring(const char *what, unsigned idx)
{
	char name[32];

	snprintf(name, sizeof(name), "uroce_%s%u", what, idx);
	return rte_ring_create(name, RING_SLOTS, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

int
loopback_make_ports(unsigned idx, char specs[2][LOOPBACK_SPEC_LEN])
{
	struct rte_ring *there = make_ring("there", idx);
	struct rte_ring *back = make_ring("back", idx);

	if (there != NULL && back != NULL && make_port(2 * idx, back, there, specs[0]) == 0 &&
	    make_port(2 * idx + 1, there, back, specs[1]) == 0)
		return 0;
	fprintf(stderr, "uroce-perf: loopback: no ring ports: %s\n", rte_strerror(rte_errno));
	return -1;
}

static int
run_end(void *session)
{
	return session_run(session);
}

static int
run_both(struct session ends[2])
{
	unsigned lcore = rte_get_next_lcore(-1, 1, 0);

	if (lcore == RTE_MAX_LCORE) {
		fprintf(stderr, "uroce-perf: loopback needs two lcores; allowed: -l with two, or "
				"neither -l, -c nor --lcores\n");
		return PERF_EXIT_FAILED;
	}
	if (rte_eal_remote_launch(run_end, &ends[1], lcore) != 0) {
		fprintf(stderr, "uroce-perf: loopback: lcore %u is busy\n", lcore);
		return PERF_EXIT_FAILED;
	}
	int client = session_run(&ends[0]);
	int server = rte_eal_wait_lcore(lcore);

	return client != PERF_EXIT_OK ? client : server;
}

int
loopback_run(const struct options *opt)
{
	static struct session ends[2]; /* `ends` is static, because it is too large for a stack */
	char specs[2][LOOPBACK_SPEC_LEN];
	struct exchange pair[2];

	if (loopback_make_ports(0, specs) != 0 || tcp_pair(pair) != 0)
		return PERF_EXIT_FAILED;
	for (unsigned i = 0; i < 2; i++) {
		ends[i].opt = opt;
		ends[i].is_client = i == 0;
		ends[i].exchange = pair[i];
		if (report_begin(&ends[i].report, opt, &ends[i].measures,
				 (i == 0) == opt->is_reversed) != 0 ||
		    session_open(&ends[i], specs[i]) != 0)
			return PERF_EXIT_FAILED;
	}
	return run_both(ends);
}
