/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Listeners: the addresses at which a host listens. A service has one port and up to two listeners.
 */

#include <stdlib.h>

#include "cm/service_id.h"
#include "world.h"

struct listener {
	uint8_t version; /* IP version: 0 is IPv4, 1 is IPv6, NB_VERSIONS means no listener */
	bool is_wildcard;
	bool is_v6only;
};

#define NONE                                                                                       \
	{                                                                                          \
		.version = NB_VERSIONS                                                             \
	}

/*
 * The combinations of listeners that a service may have. `expected` has two entries: the index of
 * the listener that gets a request over IPv4, and over IPv6. The entry is -1 if no listener gets
 * it.
 */
static const struct {
	struct listener listeners[2];
	int expected[NB_VERSIONS];
} kinds[] = {
	{ { { 0, false, false }, { 1, false, false } }, { 0, 1 } },
	{ { { 0, false, false }, NONE }, { 0, -1 } },
	{ { { 1, false, false }, NONE }, { -1, 0 } },
	{ { { 0, true, false }, NONE }, { 0, -1 } },
	{ { { 1, true, false }, NONE }, { 0, 0 } },
	{ { { 1, true, true }, NONE }, { -1, 0 } },
	{ { { 1, true, true }, { 0, true, false } }, { 1, 0 } },
	{ { { 0, false, false }, { 1, true, true } }, { 0, 1 } },
	{ { NONE, NONE }, { -1, -1 } },
};
#define NB_KINDS (sizeof(kinds) / sizeof(kinds[0]))

void
listen_draw(struct world *world, struct host *host)
{
	for (unsigned i = 0; i < NB_SERVICES; i++)
		/*
		 * about half of the services are of kind 0, which has a listener for each IP
		 * version
		 */
		host->listen_kind[i] =
			rng_one_in(&world->rng, 2) ? 0 : (uint8_t)rng_below(&world->rng, NB_KINDS);
}

static void
make_listener(struct host *host, unsigned service, unsigned which)
{
	const struct listener *listener = &kinds[host->listen_kind[service]].listeners[which];
	const bool is_datagram = service == NB_PORTS;
	struct uroce_cm_addr addr = { .ip_version = 4 };
	uint32_t id;

	if (listener->version == NB_VERSIONS)
		return;
	if (listener->is_wildcard)
		addr.ip_version = listener->version ? 6 : 4;
	else
		addr = host->ip[listener->version];
	addr.port = (uint16_t)(FIRST_PORT + service);
	if (uroce_cme_create(host->cm, is_datagram ? UROCE_CM_PS_UDP : UROCE_CM_PS_TCP, is_datagram,
			     LISTENER_COOKIE + 2 * service + which, &id) ||
	    uroce_cme_bind(host->cm, id, &addr, listener->is_v6only, false) ||
	    uroce_cme_listen(host->cm, id, host->backlog))
		abort();
	host->listeners[service][which] = id;
	host->nb_listeners++;
}

void
listen_begin(struct host *host)
{
	host->nb_listeners = 0;
	for (unsigned service = 0; service < NB_SERVICES; service++)
		for (unsigned which = 0; which < 2; which++) {
			host->listeners[service][which] = UROCE_CM_NO_ID;
			make_listener(host, service, which);
		}
}

void
listen_churn(struct world *world, struct host *host)
{
	const unsigned service = rng_below(&world->rng, NB_SERVICES);
	const unsigned which = rng_below(&world->rng, 2);

	if (host->is_foreign || host->listeners[service][which] == UROCE_CM_NO_ID)
		return;
	uroce_cme_destroy(host->cm, host->listeners[service][which], world->now_ns);
	host->nb_listeners--;
	make_listener(host, service, which);
}

int
listen_expected(const struct host *host, uint8_t service, uint8_t version)
{
	return service < NB_SERVICES ? kinds[host->listen_kind[service]].expected[version] : -1;
}
