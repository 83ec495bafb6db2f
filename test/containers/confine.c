/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Runs a program with the rights of a process in a restricted container:
 *
 * 	confine [UID] PROGRAM [ARGUMENT]...
 *
 * With UID, the process gets this user, the group of the same number and no supplementary group. In
 * any case the process gets no capability, an empty bounding set, no_new_privs, 64 KiB of locked
 * memory, and a filter of system calls.
 *
 * The filter refuses the calls that the default profile of Docker and Podman refuses to a container
 * without capabilities. denied[] has these calls. The filter also refuses new namespaces by clone(),
 * most values of personality(), and the socket families outside of allowed_families[].
 */

#include <ctype.h>
#include <errno.h>
#include <grp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#else
#error "add the architecture to confine.c"
#endif

/* limit of locked memory in bytes, which container runtimes had as default before Linux 5.16 */
#define MEMLOCK_LEN (64 << 10)
#define X32_BIT     0x40000000 /* set in the numbers of the system calls of the x32 ABI */
/* the flags of clone() that make a namespace: mount, cgroup, UTS, IPC, user, PID, network */
#define CLONE_NAMESPACES 0x7e020000

static const unsigned denied[] = {
	/* kernel modules, kexec, reboot, swap, accounting, the kernel log, and quotas */
	SYS_init_module,
	SYS_finit_module,
	SYS_delete_module,
	SYS_kexec_load,
	SYS_reboot,
	SYS_swapon,
	SYS_swapoff,
	SYS_acct,
	SYS_syslog,
	SYS_vhangup,
	SYS_quotactl,
	SYS_quotactl_fd,
	/* file systems and namespaces */
	SYS_mount,
	SYS_umount2,
	SYS_pivot_root,
	SYS_chroot,
	SYS_fsopen,
	SYS_fsconfig,
	SYS_fsmount,
	SYS_fspick,
	SYS_move_mount,
	SYS_open_tree,
	SYS_mount_setattr,
	SYS_open_by_handle_at,
	SYS_fanotify_init,
	SYS_lookup_dcookie,
	SYS_nfsservctl,
	SYS_unshare,
	SYS_setns,
	SYS_sethostname,
	SYS_setdomainname,
	/* clocks */
	SYS_settimeofday,
	SYS_clock_settime,
	/* placement of memory */
	SYS_mbind,
	SYS_set_mempolicy,
	SYS_get_mempolicy,
	SYS_migrate_pages,
	SYS_move_pages,
	SYS_set_mempolicy_home_node,
	/* other processes */
	SYS_kcmp,
	SYS_pidfd_getfd,
	SYS_process_madvise,
	SYS_userfaultfd,
	/* keys, tracing, and io_uring */
	SYS_add_key,
	SYS_request_key,
	SYS_keyctl,
	SYS_bpf,
	SYS_perf_event_open,
	SYS_io_uring_setup,
	SYS_io_uring_enter,
	SYS_io_uring_register,
#if defined(__x86_64__)
	SYS_kexec_file_load,
	SYS_ioperm,
	SYS_iopl,
	SYS_uselib,
	SYS_ustat,
	SYS_sysfs,
	SYS__sysctl,
#endif
};

/*
 * The ranges of socket families that the default profile of Docker and Podman allows. Each pair has
 * the first and the last family of a range.
 */
static const unsigned allowed_families[][2] = {
	{ 0, 11 },  { 13, 18 }, { 21, 22 }, { 24, 24 },
	{ 26, 33 }, { 35, 36 }, { 39, 39 }, { 41, 45 },
};

/* The values of personality() that the default profile of Docker and Podman allows. */
static const unsigned allowed_personalities[] = { 0, 0x8, 0x20000, 0x20008, 0xffffffff };

/* --- the filter of system calls ---------------------------------------------------------------- */

static struct sock_filter filter[256];
static unsigned short filter_len;

static void
add(uint16_t code, uint32_t k, uint8_t jt, uint8_t jf)
{
	if (filter_len == sizeof(filter) / sizeof(filter[0]))
		abort();
	filter[filter_len++] = (struct sock_filter){ code, jt, jf, k };
}

static void
add_load(size_t offset)
{
	add(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

static void
add_return(uint32_t action)
{
	add(BPF_RET | BPF_K, action, 0, 0);
}

static void
add_refusal(int error)
{
	add_return(SECCOMP_RET_ERRNO | (uint32_t)error);
}

/*
 * Add a rule of the seccomp filter: if the field that the filter has loaded has this value, the call
 * fails with the error.
 */
static void
refuse_value(uint32_t value, int error)
{
	add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
	add_refusal(error);
}

/*
 * Begin the rules for a system call. The filter loads the first argument of the call.
 * @return index of the jump instruction that skips the rules for other system calls
 */
static unsigned
begin_call(uint32_t nr)
{
	add_load(offsetof(struct seccomp_data, nr));
	add(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 0);
	add_load(offsetof(struct seccomp_data, args[0]));
	return filter_len - 2u;
}

/*
 * End the rules for a system call. The filter returns `action` if no rule of the call has applied.
 */
static void
end_call(unsigned begun, uint32_t action)
{
	add_return(action);
	filter[begun].jf = (uint8_t)(filter_len - begun - 1);
}

static void
add_arguments(void)
{
	unsigned begun = begin_call(SYS_clone);

	add(BPF_JMP | BPF_JSET | BPF_K, CLONE_NAMESPACES, 0, 1);
	add_refusal(EPERM);
	end_call(begun, SECCOMP_RET_ALLOW);

	begun = begin_call(SYS_socket);
	for (size_t i = 0; i < sizeof(allowed_families) / sizeof(allowed_families[0]); i++) {
		add(BPF_JMP | BPF_JGE | BPF_K, allowed_families[i][0], 0, 2);
		add(BPF_JMP | BPF_JGT | BPF_K, allowed_families[i][1], 1, 0);
		add_return(SECCOMP_RET_ALLOW);
	}
	end_call(begun, SECCOMP_RET_ERRNO | EPERM);

	begun = begin_call(SYS_personality);
	for (size_t i = 0; i < sizeof(allowed_personalities) / sizeof(allowed_personalities[0]);
	     i++) {
		add(BPF_JMP | BPF_JEQ | BPF_K, allowed_personalities[i], 0, 1);
		add_return(SECCOMP_RET_ALLOW);
	}
	end_call(begun, SECCOMP_RET_ERRNO | EPERM);
}

static void
make_filter(void)
{
	add_load(offsetof(struct seccomp_data, arch));
	add(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0);
	add_refusal(EPERM);
	add_load(offsetof(struct seccomp_data, nr));
	add(BPF_JMP | BPF_JGE | BPF_K, X32_BIT, 0, 1);
	add_refusal(ENOSYS);
	/* If clone3() fails with ENOSYS, libc uses clone(), whose flags the filter can read. */
	refuse_value(SYS_clone3, ENOSYS);
	for (size_t i = 0; i < sizeof(denied) / sizeof(denied[0]); i++)
		refuse_value(denied[i], EPERM);
	add_arguments();
	add_return(SECCOMP_RET_ALLOW);
}

/* --- the restrictions of the process ----------------------------------------------------------- */

static void
die(const char *what)
{
	fprintf(stderr, "confine: %s: %s\n", what, strerror(errno));
	exit(125);
}

/*
 * Drop all capabilities that are still in the bounding set. The process needs CAP_SETPCAP to drop
 * one.
 */
static void
empty_bounding_set(void)
{
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++) {
		if (prctl(PR_CAPBSET_READ, cap) == 1 && prctl(PR_CAPBSET_DROP, cap) < 0)
			die("the bounding set");
	}
}

static void
become(uid_t user)
{
	if (setgroups(0, NULL) < 0 || setresgid(user, user, user) < 0 ||
	    setresuid(user, user, user) < 0)
		die("the user");
}

static void
drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[2] = { { 0 } };

	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &header, none) < 0)
		die("the capabilities");
}

static void
restrict_process(void)
{
	const struct rlimit memlock = { MEMLOCK_LEN, MEMLOCK_LEN };
	const struct sock_fprog program = { filter_len, filter };

	if (setrlimit(RLIMIT_MEMLOCK, &memlock) < 0)
		die("the limit of locked memory");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		die("the filter of system calls");
}

int
main(int argc, char **argv)
{
	int first = 1;

	if (argc > 1 && isdigit((unsigned char)argv[1][0]))
		first = 2;
	if (argc <= first) {
		fprintf(stderr, "usage: confine [UID] PROGRAM [ARGUMENT]...\n");
		return 125;
	}
	make_filter();
	empty_bounding_set();
	if (first == 2)
		become((uid_t)strtoul(argv[1], NULL, 10));
	drop_capabilities();
	restrict_process();
	execvp(argv[first], &argv[first]);
	die(argv[first]);
}
