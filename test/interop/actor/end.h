/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An end of a connection: a QP, its CQs, and its memory. The runner identifies an end by a number,
 * which the runner has chosen.
 */

#ifndef ACTOR_END_H_
#define ACTOR_END_H_

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "words.h"

#define ENDS_MAX 1024

struct device {
	struct ibv_context *context;
	bool is_borrowed; /* librdmacm has opened the context, and closes it */
	struct ibv_pd *pd;
	int gid_idx; /* index in the GID table of the address that the runner gave */
	union ibv_gid gid;
	struct ibv_device_attr attr;
};

struct end {
	struct ibv_qp *qp; /* the QP of the end; NULL: no end has the number of this entry */
	struct ibv_srq *srq;
	struct end *srq_owner; /* the end that created `srq`, which may be this end; NULL: no SRQ */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq[2]; /* CQs of send requests and of receive requests */
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_ah *ah; /* address handle of the latest destination of datagrams */
	union ibv_gid ah_gid;
	enum ibv_qp_type type;
	uint8_t *memory;
	uint64_t size;
	uint32_t inline_max;
};

enum { ON_SEND, ON_RECV };

extern struct device device;

/*
 * Use a context that librdmacm has opened, unless the actor has opened a device. librdmacm opens
 * devices itself, and objects of two contexts cannot be used together.
 */
void device_borrow(struct ibv_context *context);

/*
 * Get the entry of an end in the table of ends: by its number, or by the number that the argument
 * id= has. The end need not exist.
 */
struct end *end_at(uint64_t number);
struct end *end_place(const struct words *words);

/*
 * Create all objects of an end but its QP, by the arguments of `create`. If that fails, free the
 * objects and call fail().
 * @param[out] init attributes with which the caller creates the QP
 */
void end_prepare(struct end *end, const struct words *words, struct ibv_qp_init_attr *init);

/* Print the response of the operation `create`. */
void end_print(const struct end *end);

/* Free all objects that an end has. Some may be missing. */
void end_free(struct end *end);

/* Get the end that the argument id= names. Calls fail() if there is no such end. */
struct end *end_of(const struct words *words);

/*
 * Get the address of [offset, offset + length) in an end's memory. Calls fail() if the range is not
 * inside this memory.
 */
uint8_t *end_memory(const struct end *end, uint64_t offset, uint64_t length);

union ibv_gid gid_of(const char *text);

/*
 * The operations of ends. Each function prints its response. If it cannot do so, it changes nothing
 * and calls fail().
 */
void op_open(const struct words *words);
void op_create(const struct words *words);
void op_connect(const struct words *words);
void op_modify(const struct words *words);
void op_state(const struct words *words);
void op_attach(const struct words *words);
void op_destroy(const struct words *words);
void ends_close(void);

extern const struct word_bit rights[];
extern const struct word_bit states[];
extern const struct word_bit types[];

#endif
