// SPDX-License-Identifier: BSD-3-Clause
// A program in C++ that uses the installed library. Its only device cannot be created, because there is no such port.

#include <cerrno>
#include <cstdio>

#include <rte_eal.h>
#include <uroce.h>
#include <uroce_cm.h>
#include <uroce_dv.h>
#include <uroce_version.h>

int main(int argc, char **argv)
{
	int nb = -1;

	if (rte_eal_init(argc, argv) < 0)
		return 1;
	if (uroce_create_device("net_none") != nullptr || errno != ENODEV)
		return 1;
	ibv_device **list = uroce_get_device_list(&nb);

	std::printf("uroce %s: %d devices, status %s\n", UROCE_VERSION_STRING, nb, uroce_wc_status_str(IBV_WC_SUCCESS));
	uroce_free_device_list(list);
	rte_eal_cleanup();
	return nb == 0 ? 0 : 1;
}
