/* SPDX-License-Identifier: BSD-3-Clause */

/* The implementation of mux_rig.h: the two devices and the switch between them. */

#include "mux_rig.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define TIMEOUT_S 300 /* time limit in seconds, which only a hang exceeds */

struct a_switch *attached_switch;
struct rig_qp *attached_qp[2];

struct uroce_dev *
attached_dev(unsigned i)
{
	return i == 0 ? dev_a : dev_b;
}

void
attached_drive(void)
{
	rig_drive(dev_a);
	rig_drive(dev_b);
}

void
attached_nothing(void)
{
}

/* Repeat `meanwhile` until `is_so` returns true. The test fails after TIMEOUT_S. */
void
attached_wait(bool (*is_so)(void), void (*meanwhile)(void))
{
	const time_t end = time(NULL) + TIMEOUT_S;

	while (!is_so()) {
		assert_true(time(NULL) < end);
		meanwhile();
		sched_yield();
	}
}

void
attached_start(void)
{
	attached_switch = switch_start(&(struct switch_conf){ .path = SOCKET });
}

bool
attached_has_link(void)
{
	return uroce_dev_is_link_up(dev_a) && uroce_dev_is_link_up(dev_b);
}

bool
attached_has_no_link(void)
{
	return !uroce_dev_is_link_up(dev_a) && !uroce_dev_is_link_up(dev_b);
}

void
attached_connect(unsigned worker)
{
	/* the scheduler may delay the thread of the switch, which forwards the frames */
	rig_timeout = RIG_TIMEOUT_LONG;
	for (unsigned i = 0; i < 2; i++)
		attached_qp[i] = rig_qp(attached_dev(i), worker, IBV_QPT_RC);
	rig_connect(attached_qp[0], attached_qp[1], 1);
	rig_connect(attached_qp[1], attached_qp[0], 1);
	rig_fill(attached_qp[0], 1);
}

/* Start the switch, and create two devices and a pair of QPs. */
void
attached_begin(const char *keys)
{
	char spec[128];

	snprintf(spec, sizeof(spec), SPEC ",%s", keys);
	attached_start();
	dev_a = rig_dev(spec);
	dev_b = rig_dev(spec);
	assert_true(attached_has_link());
	attached_connect(0);
}

void
attached_end_devs(void)
{
	for (unsigned i = 0; i < 2; i++) {
		rig_qp_free(attached_qp[i]);
		assert_int_equal(uroce_dev_destroy(attached_dev(i)), 0);
	}
	dev_a = dev_b = NULL;
}

void
attached_end(void)
{
	attached_end_devs();
	switch_stop(attached_switch);
}

void
attached_write(uint32_t len)
{
	memset(attached_qp[1]->buf, 0, len);
	rig_post_send(attached_qp[0], IBV_WR_RDMA_WRITE, 1, 0, len, attached_qp[1], 0);
	assert_int_equal(rig_await(&attached_qp[0]->scq, dev_a, dev_b).status, IBV_WC_SUCCESS);
	rig_check(attached_qp[1], 0, attached_qp[0], 0, len);
}

const struct uroce_mux_client_stats *
attached_stats(unsigned i)
{
	return &attached_dev(i)->port->mux_client->pair[0].stats;
}

bool
attached_has_both(void)
{
	return switch_nb_clients(attached_switch) == 2 && attached_has_link();
}

void
attached_restart(void)
{
	switch_stop(attached_switch);
	attached_start();
}

void
attached_expect(struct uroce_dev *dev, enum ibv_event_type type)
{
	const time_t end = time(NULL) + TIMEOUT_S;
	struct uroce_dev_event event;

	while (!uroce_dev_event_pop(dev, &event)) {
		assert_true(time(NULL) < end);
		sched_yield();
	}
	assert_int_equal(event.type, type);
}
