/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * The actor for connection management. It executes the operations of the program `actor`, and those
 * of connection.h, which connect QPs by librdmacm.
 */

#include <stddef.h>

#include "connection.h"
#include "end.h"
#include "serve.h"

static const struct operation operations[] = {
	{ "cm-open", op_cm_open },       { "cm-id", op_cm_id },
	{ "cm-listen", op_cm_listen },   { "cm-resolve", op_cm_resolve },
	{ "cm-route", op_cm_route },     { "cm-create", op_cm_create },
	{ "cm-modify", op_cm_modify },   { "cm-connect", op_cm_connect },
	{ "cm-accept", op_cm_accept },   { "cm-establish", op_cm_establish },
	{ "cm-reject", op_cm_reject },   { "cm-disconnect", op_cm_disconnect },
	{ "cm-notify", op_cm_notify },   { "cm-join", op_cm_join },
	{ "cm-leave", op_cm_leave },     { "cm-event", op_cm_event },
	{ "cm-destroy", op_cm_destroy }, { "cm-adopt", op_cm_adopt },
	{ "async", op_async },           { NULL, NULL },
};

int
main(void)
{
	serve(operations);
	connections_close();
	ends_close();
	return 0;
}
