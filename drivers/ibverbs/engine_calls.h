/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_IBVERBS_ENGINE_CALLS_H
#define UROCE_IBVERBS_ENGINE_CALLS_H

/**
 * @file
 * Loads the engine (the library that contains liburoce and DPDK), and gets the table of the
 * engine's calls.
 *
 * The engine is loaded when a program first requests devices. If EAL was started in the engine, it
 * does not work in a child of fork(): the child has neither the threads of the engine nor its own
 * copy of the engine's memory. So in the child each call on an object of the engine fails with EIO.
 * A child that requests devices gets another engine.
 *
 * An engine also stops working if the program has closed the file descriptors of the engine. If EAL
 * was started in such an engine, the process cannot load another one.
 */

#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <uroce.h>
#include <uroce_dv.h>

#include "ucma/entry.h"
#include "engine/engine.h"

/* The calls of libibverbs that are passed to liburoce. */
#define ENGINE_CALLS(X)                                                                            \
	X(ack_async_event)                                                                         \
	X(ack_cq_events)                                                                           \
	X(alloc_pd)                                                                                \
	X(attach_mcast)                                                                            \
	X(close_device)                                                                            \
	X(create_ah)                                                                               \
	X(create_ah_from_wc)                                                                       \
	X(create_comp_channel)                                                                     \
	X(create_cq)                                                                               \
	X(create_qp)                                                                               \
	X(create_srq)                                                                              \
	X(dealloc_pd)                                                                              \
	X(dereg_mr)                                                                                \
	X(destroy_ah)                                                                              \
	X(destroy_comp_channel)                                                                    \
	X(destroy_cq)                                                                              \
	X(destroy_qp)                                                                              \
	X(destroy_srq)                                                                             \
	X(detach_mcast)                                                                            \
	X(event_type_str)                                                                          \
	X(free_device_list)                                                                        \
	X(get_async_event)                                                                         \
	X(get_cq_event)                                                                            \
	X(get_device_guid)                                                                         \
	X(get_device_index)                                                                        \
	X(get_device_list)                                                                         \
	X(get_device_name)                                                                         \
	X(get_pkey_index)                                                                          \
	X(import_device)                                                                           \
	X(import_mr)                                                                               \
	X(import_pd)                                                                               \
	X(init_ah_from_wc)                                                                         \
	X(modify_qp)                                                                               \
	X(modify_srq)                                                                              \
	X(open_xrcd)                                                                               \
	X(node_type_str)                                                                           \
	X(open_device)                                                                             \
	X(port_state_str)                                                                          \
	X(qp_to_qp_ex)                                                                             \
	X(query_counters)                                                                          \
	X(query_device)                                                                            \
	X(query_ece)                                                                               \
	X(query_gid)                                                                               \
	X(query_gid_ex)                                                                            \
	X(query_gid_table)                                                                         \
	X(query_pkey)                                                                              \
	X(query_port)                                                                              \
	X(query_qp)                                                                                \
	X(query_qp_data_in_order)                                                                  \
	X(query_srq)                                                                               \
	X(reg_dmabuf_mr)                                                                           \
	X(reg_mr)                                                                                  \
	X(reg_mr_iova)                                                                             \
	X(reg_mr_iova2)                                                                            \
	X(rereg_mr)                                                                                \
	X(resize_cq)                                                                               \
	X(set_ece)                                                                                 \
	X(unimport_mr)                                                                             \
	X(unimport_pd)                                                                             \
	X(wc_status_str)

/* The calls of the engine (liburoce and DPDK) that are not calls of libibverbs. */
#define ENGINE_OWN_CALLS(X)                                                                        \
	X(cm_hold)                                                                                 \
	X(cm_open)                                                                                 \
	X(cm_release)                                                                              \
	X(cm_sweep)                                                                                \
	X(cm_write)                                                                                \
	X(is_started)                                                                              \
	X(is_whole)                                                                                \
	X(make_file)                                                                               \
	X(open)

struct engine_calls {
#define X(name) __typeof__(&uroce_##name) name;
	ENGINE_CALLS(X)
#undef X
#define X(name) __typeof__(&uroce_engine_##name) name;
	ENGINE_OWN_CALLS(X)
#undef X
};

/**
 * Get the table of calls of the current engine (liburoce and DPDK), and load the engine if
 * necessary.
 * @mt Safe.
 * @return NULL with errno: the engine cannot be loaded (a line on stderr gives the reason); EIO:
 *         the threads of an engine that has stopped working still run in this process
 */
const struct engine_calls *engine(void);

/**
 * Get the table of calls of the loaded instance of liburoce.
 * @mt Safe.
 * @return NULL: no instance is loaded, or it has stopped working (fork.h)
 */
const struct engine_calls *engine_if_loaded(void);

/**
 * Get the table of calls of the loaded instance of liburoce that created the objects of a context.
 * @mt Safe.
 * @return NULL with errno EIO if that instance has stopped working (fork.h)
 */
const struct engine_calls *engine_of(const struct ibv_context *context);

/**
 * Find a device of the engine (liburoce and DPDK) whose table of calls is `calls`: `device` itself,
 * or the device with the same name if `device` is of an engine that has stopped working.
 * @return NULL if there is no such device
 */
struct ibv_device *engine_device(const struct engine_calls *calls, struct ibv_device *device);

/**
 * Record an open context of the engine (liburoce and DPDK) whose table of calls is `calls`. If the
 * engine stops working, the inline calls on all recorded contexts are made to fail.
 * @return the context; NULL if `context` is NULL, or with errno ENOMEM
 */
struct ibv_context *engine_keep(const struct engine_calls *calls, struct ibv_context *context);

/**
 * Remove the record that engine_keep() made of a context. The function must be called before the
 * context is closed.
 */
void engine_drop(struct ibv_context *context);

/**
 * Read a counter of a device that this process has open. liburoce-paths.so calls this function.
 * @mt Safe.
 * @return false if the device is not open in this process, or if there is no such counter
 */
bool uroce_ibverbs_counter(const char *device, const char *name, uint64_t *value);

#endif /* UROCE_IBVERBS_ENGINE_CALLS_H */
