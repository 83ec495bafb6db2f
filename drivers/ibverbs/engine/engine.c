/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Creates the devices of the configuration, and starts EAL. EAL pins the thread that starts it to
 * one CPU. So a separate thread starts EAL and then ends. That thread blocks all signals, so that
 * the threads of EAL block them as well, because signals are for the program.
 */

#include "engine.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <rte_errno.h>
#include <rte_log.h>
#include <uroce.h>

#include "conf.h"
#include "descriptors.h"
#include "eal/args.h"
#include "eal/connect.h"
#include "eal/runtime.h"

/*
 * MiB of ordinary memory that EAL gets if hugepages are not used; EAL reserves the memory at its
 * start, and allocates it when it is used
 */
#define MIB      1024
#define HUGE_MIB 512 /* minimum MiB of free hugepages; if fewer are free, hugepages are not used */

static struct conf conf;
static pthread_once_t once = PTHREAD_ONCE_INIT;
/* result of the start of EAL, after start_once() has run: an errno, or 0 if EAL has started */
static int started;
static atomic_bool is_started;
static _Atomic(char *)
	/*
	 * folder of EAL's sockets that this library gives to EAL while EAL starts; NULL if EAL
	 * takes the folder from the environment
	 */
	folder;

/* Compute the arguments for EAL. PCI devices are not probed unless an option of EAL allows some. */
static void
fill_args(struct args *args)
{
	static char name[] = "uroce";
	static char *given[CONF_OPTIONS_MAX + 1] = { name };
	const int nb = (int)conf.nb_options + 1;

	memcpy(&given[1], conf.option, conf.nb_options * sizeof(given[0]));
	args_begin(args, name);
	args_add_telemetry(args, nb, given, runtime_folder());
	if (!args_has(nb, given, "allow", 'a') && !args_has(nb, given, "no-pci", 0))
		args_add(args, "--no-pci");
	args_add_memory(args, nb, given, MIB, HUGE_MIB);
	args_add_lcores(args, nb, given, 1);
	for (int i = 1; i < nb; i++)
		args_add(args, given[i]);
}

char *__wrap_getenv(const char *name);

/*
 * Replaces getenv() in the engine (liburoce and DPDK), by the option --wrap of the linker. EAL
 * reads the folder of its sockets from the environment. The engine must not change the environment,
 * since other threads of the program may read it. So this function returns the value of the engine
 * for RUNTIME_DIRECTORY. In a set-uid program, EAL and its drivers read nothing from the
 * environment, which the caller of the program controls.
 */
char *
__wrap_getenv(const char *name)
{
	char *const value = atomic_load(&folder);

	return value != NULL && strcmp(name, "RUNTIME_DIRECTORY") == 0 ? value
								       : secure_getenv(name);
}

static void *
start_eal(void *arg)
{
	static struct args args; /* `args` is static, because EAL keeps pointers to its strings */
	int *const err = arg;
	int parsed;

	fill_args(&args);
	rte_openlog_stream(stderr);
	atomic_store(&folder, (char *)(uintptr_t)runtime_folder());
	parsed = eal_init(args.argc, args.argv);
	atomic_store(&folder, NULL);
	if (parsed >= 0)
		return NULL;
	*err = rte_errno != 0 ? rte_errno : EIO;
	fprintf(stderr, "uroce: EAL did not start: %s; allowed in UROCE_EAL %s\n",
		rte_strerror(*err),
		*err == ENOMEM ? "is -m MIB that the free hugepages hold, or --no-huge and -m MIB "
				 "that the free memory holds"
			       : "are DPDK's options");
	return NULL;
}

static void
start_once(void)
{
	sigset_t all, before;
	pthread_t thread;

	atomic_store(&is_started, true);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	const int ret = pthread_create(&thread, NULL, start_eal, &started);

	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ret == 0)
		pthread_join(thread, NULL);
	else
		started = ret;
}

static int
start(void *arg)
{
	(void)arg;
	pthread_once(&once, start_once);
	return started;
}

/*
 * Add a device of the configuration. The device is only announced if EAL creates its port from a
 * --vdev option, if its port belongs to uroced, or if it has UDP sockets. A device on any other
 * port is opened immediately, since its properties are known only after EAL has started.
 */
static int
add_device(const char *spec)
{
	const char *const vdev = conf_vdev(&conf, spec);

	if (vdev != NULL)
		return uroce_announce_device(spec, vdev, start, NULL) != NULL ? 0 : errno;
	const int ret = start(NULL);

	if (ret != 0)
		return ret;
	return uroce_create_device(spec) != NULL ? 0 : errno;
}

int
uroce_engine_open(void)
{
	int ret;

	descriptors_begin();
	ret = conf_read(&conf);
	for (unsigned i = 0; i < conf.nb_specs && ret == 0; i++)
		ret = add_device(conf.spec[i]);
	return ret;
}

int
uroce_engine_make_file(const char *name)
{
	return memfd_create(name, MFD_CLOEXEC);
}

bool
uroce_engine_is_whole(void)
{
	return descriptors_are_there();
}

bool
uroce_engine_is_started(void)
{
	return atomic_load(&is_started);
}
