/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * An end of a connection: a QP, its CQs, and its memory. A number that the runner chooses
 * identifies it.
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
	bool is_borrowed; /* the context belongs to librdmacm, which closes it */
	struct ibv_pd *pd;
	int gid_idx; /* index of the address that the runner named */
	union ibv_gid gid;
	struct ibv_device_attr attr;
};

struct end {
	struct ibv_qp *qp; /* NULL: there is no end of this number */
	struct ibv_srq *srq;
	struct end *srq_owner; /* the end that created the SRQ */
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq[2]; /* CQs of send requests and of receive requests */
	struct ibv_mr *mr;
	struct ibv_mw *mw;
	struct ibv_ah *ah; /* address handle of the last destination of datagrams */
	union ibv_gid ah_gid;
	enum ibv_qp_type type;
	uint8_t *memory;
	uint64_t size;
	uint32_t inline_max;
};

enum { ON_SEND, ON_RECV };

extern struct device device;

/*
 * Use a device that is already open, unless one is in use. librdmacm opens devices itself, and
 * objects of two contexts cannot be mixed.
 */
void device_borrow(struct ibv_context *context);

/* The place for an end, whether or not it was created: by its number, or as id= names it. */
struct end *end_at(uint64_t number);
struct end *end_place(const struct words *words);

/*
 * Make everything of an end but its QP, by the words of `create`. `init` gets what the QP needs.
 * Calls fail() and leaves nothing.
 */
void end_prepare(struct end *end, const struct words *words, struct ibv_qp_init_attr *init);

/* Print the response of `create`. */
void end_print(const struct end *end);

/* Free what the end has; it may be incomplete. */
void end_free(struct end *end);

/* The end that id= names; calls fail() if there is none. */
struct end *end_of(const struct words *words);

/* Calls fail() unless offset and length are in the memory of the end. */
uint8_t *end_memory(const struct end *end, uint64_t offset, uint64_t length);

union ibv_gid gid_of(const char *text);

/* Operations: each prints its response, or calls fail() and has changed nothing. */
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
