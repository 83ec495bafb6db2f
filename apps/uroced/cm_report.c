/* SPDX-License-Identifier: BSD-3-Clause */

/* Replies of the connection manager to requests of uroced's telemetry. */

#include "cm_report.h"

#include <string.h>
#include <sys/socket.h>

#include "cm_server.h"

/*
 * Find the client that owns an id of the CM engine. The id of a connection request that no client
 * has received yet belongs to the client of the listener.
 */
static struct uroce_cm_row_owner
find_owner(const struct cm_server *server, const struct uroce_cm_row *row)
{
	const uint32_t id = row->listener == UROCE_CM_NO_ID ? row->id : row->listener;
	const int slot = cm_ids_owner(&server->ids, id);
	const struct cm_client *client = slot < 0 ? NULL : server->client[slot];

	if (!client)
		return (struct uroce_cm_row_owner){ .is_known = false };
	return (struct uroce_cm_row_owner){ true, client->pid, client->uid };
}

static void
fill_ids(const struct cm_server *server, uint32_t first, struct cm_report_ids *ids)
{
	ids->next = first;
	ids->nb = server->host.list(server->host.arg, &ids->next, ids->row, UROCE_CM_REPLY_ROWS);
	for (uint32_t i = 0; i < ids->nb; i++)
		ids->owner[i] = find_owner(server, &ids->row[i]);
}

/*
 * Receive a request of uroced's telemetry.
 * @return false if there is no valid request. The connection manager then receives no further
 *         requests.
 */
static bool
receive_request(int socket, struct cm_report_request *request)
{
	bool has_fds;

	return uroce_mux_peek(socket, &has_fds) == 1 && !has_fds &&
	       recv(socket, request, sizeof(*request), MSG_DONTWAIT | MSG_TRUNC) ==
		       sizeof(*request) &&
	       request->kind < CM_REPORT_NB;
}

bool
cm_report_serve(const struct cm_server *server)
{
	static struct cm_report report;
	struct cm_report_request request;

	if (!receive_request(server->reports, &request))
		return false;
	memset(&report, 0, sizeof(report));
	report.number = request.number;
	report.kind = request.kind;
	if (request.kind == CM_REPORT_STATS)
		server->host.read_stats(server->host.arg, &report.stats);
	else
		fill_ids(server, request.first, &report.ids);
	(void)send(server->reports, &report, sizeof(report), MSG_DONTWAIT | MSG_NOSIGNAL);
	return true;
}
