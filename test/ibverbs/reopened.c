/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that loads the verbs library by dlopen() and closes it, repeatedly. Each time it must
 * find one device.
 *
 *	test-ibverbs-reopened LIBRARY
 */

#include <dlfcn.h>
#include <stdio.h>

#define NB_ROUNDS 20

struct ibv_device;

typedef struct ibv_device **get_list(int *nb);
typedef void free_list(struct ibv_device **list);

/*
 * Load the library, count its devices, and close it.
 * @return number of devices; -1: a call has failed
 */
static int
count_devices(const char *library)
{
	void *const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	struct ibv_device **list;
	int nb = -1;

	if (handle == NULL) {
		fprintf(stderr, "%s\n", dlerror());
		return -1;
	}
	get_list *const get = (get_list *)dlsym(handle, "ibv_get_device_list");
	free_list *const give_back = (free_list *)dlsym(handle, "ibv_free_device_list");

	list = get != NULL && give_back != NULL ? get(&nb) : NULL;
	if (list != NULL)
		give_back(list);
	dlclose(handle);
	return nb;
}

int
main(int argc, char **argv)
{
	for (int round = 0; argc > 1 && round < NB_ROUNDS; round++) {
		const int nb = count_devices(argv[1]);

		if (nb == 1)
			continue;
		printf("round %d: %d devices\n", round, nb);
		return 1;
	}
	return argc > 1 ? 0 : 2;
}
