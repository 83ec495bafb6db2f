/* SPDX-License-Identifier: BSD-3-Clause */
#include "entry.h"

#include <errno.h>
#include <pthread.h>

#include "command.h"
#include "file.h"

/*
 * The errno and the cancellation state of a thread at the start of a call of entry.h, which end()
 * restores. A call disables cancellation, because a thread must not be cancelled while it holds a
 * lock.
 */
struct saved {
	int err;
	int cancel_state;
};

static struct saved
begin(void)
{
	struct saved saved = { .err = errno };

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &saved.cancel_state);
	return saved;
}

/*
 * Restore the thread's cancellation state at the end of a call of entry.h, and set errno.
 * @param err  the new errno; 0: restore errno from the start of the call
 */
static void
end(const struct saved *saved, int err)
{
	pthread_setcancelstate(saved->cancel_state, NULL);
	errno = err != 0 ? err : saved->err;
}

int
uroce_engine_cm_open(int flags)
{
	const struct saved saved = begin();
	const int fd = ucma_file_open(flags);

	end(&saved, fd < 0 ? -fd : 0);
	return fd < 0 ? -1 : fd;
}

static void
put_file(void *file)
{
	ucma_file_put(file);
}

bool
uroce_engine_cm_write(int fd, const void *buf, size_t len, ssize_t *written)
{
	const struct saved saved = begin();
	struct ucma_call call = {
		.file = ucma_file_get(fd),
		.fd = fd,
		.cancel_state = saved.cancel_state,
	};
	ssize_t ret = 0;

	if (call.file != NULL) {
		pthread_cleanup_push(put_file, call.file);
		ret = ucma_command(&call, buf, len);
		pthread_cleanup_pop(1);
		*written = ret < 0 ? -1 : ret;
	}
	end(&saved, ret < 0 ? (int)-ret : 0);
	return call.file != NULL;
}

void *
uroce_engine_cm_hold(int fd)
{
	const struct saved saved = begin();
	void *const file = ucma_file_get(fd);

	end(&saved, 0);
	return file;
}

void
uroce_engine_cm_release(void *file)
{
	const struct saved saved = begin();

	ucma_file_check(file);
	ucma_file_put(file);
	end(&saved, 0);
}

void
uroce_engine_cm_sweep(void)
{
	const struct saved saved = begin();

	ucma_file_sweep();
	end(&saved, 0);
}
