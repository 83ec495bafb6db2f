/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef UROCE_ENGINE_CONF_H
#define UROCE_ENGINE_CONF_H

/**
 * @file
 * Configuration of uroce for programs that use libibverbs: which devices exist, and with which
 * options EAL is started. The configuration is in environment variables or in a file.
 *
 *	UROCE          "PORT[,key=value...][;PORT...]": devices, as for uroce_create_device()
 *	               "uroced[,socket=PATH][,key=value...]": a device that is attached to uroced
 *	               "udp[,addr=ADDRESS][,key=value...]": a device on UDP sockets
 *	UROCE_EAL      options of EAL, separated by blanks
 *	UROCE_CONFIG   the file: section [eal] with `options`, sections [device...] with `spec`
 *
 * The environment has precedence over the file. A program with more rights than its caller
 * (set-uid, set-gid, file capabilities) gets no devices by configuration. The reason is that the
 * caller may have written the configuration, and options of EAL can load code.
 */

#define CONF_DEVICES_MAX 16
#define CONF_OPTIONS_MAX 64

struct conf {
	char *spec[CONF_DEVICES_MAX];
	unsigned nb_specs;
	char *option[CONF_OPTIONS_MAX]; /* the options of EAL, one string for each word */
	unsigned nb_options;
};

/**
 * Read the configuration from the environment and the file. Its strings are never freed.
 * @return 0, or an errno after one line on stderr, which has the error, its reason, and the allowed
 *         values
 */
int conf_read(struct conf *conf);

/**
 * Find, among EAL's options, the arguments of the virtual port that a device specification names. A
 * device that is attached to uroced, or uses UDP sockets, has no such arguments. The result for it
 * is its port name, "uroced" or "udp".
 * @return NULL if no --vdev option of EAL makes this port
 */
const char *conf_vdev(const struct conf *conf, const char *spec);

#endif /* UROCE_ENGINE_CONF_H */
