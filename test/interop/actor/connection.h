/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Operations of ids of librdmacm. An id has the same number as its end. Each operation makes one
 * call, so that the runner decides the order of all steps, and where a program stops. Only cm-event
 * waits for events. doc/guides/interop.md describes the arguments.
 */

#ifndef ACTOR_CONNECTION_H_
#define ACTOR_CONNECTION_H_

#include "words.h"

void op_cm_open(const struct words *words);
void op_cm_id(const struct words *words);
void op_cm_listen(const struct words *words);
void op_cm_resolve(const struct words *words);
void op_cm_route(const struct words *words);
void op_cm_create(const struct words *words);
void op_cm_modify(const struct words *words);
void op_cm_connect(const struct words *words);
void op_cm_accept(const struct words *words);
void op_cm_establish(const struct words *words);
void op_cm_reject(const struct words *words);
void op_cm_disconnect(const struct words *words);
void op_cm_notify(const struct words *words);
void op_cm_join(const struct words *words);
void op_cm_leave(const struct words *words);
void op_cm_event(const struct words *words);
void op_cm_destroy(const struct words *words);
void op_cm_adopt(const struct words *words);
void op_async(const struct words *words);

/* Destroy all ids and their QPs. */
void connections_close(void);

#endif
