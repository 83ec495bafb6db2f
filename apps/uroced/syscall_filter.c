/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * Makes the seccomp filter of uroced: a program of classic BPF. It has a list of system calls that
 * are allowed with any arguments, and rules for system calls that are allowed only with certain
 * arguments. The kernel (5.11 and newer) evaluates the program once for each system call of the
 * list, and caches the result. So the length of the list costs the data path nothing.
 *
 * The list has the system calls that a trace of uroced showed on the ports memif, ring, null, tap
 * and AF_PACKET, while clients came and went, links and addresses changed, telemetry was requested,
 * and uroced ended. It also has those that the C library makes instead of them on other machines
 * and kernels.
 */

#include "syscall_filter.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/sockios.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#elif defined(__riscv) && __riscv_xlen == 64
#define ARCH AUDIT_ARCH_RISCV64
#elif defined(__powerpc64__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define ARCH AUDIT_ARCH_PPC64LE
#else
#error "the kernel's name of this architecture (AUDIT_ARCH_...) is wanted here"
#endif

#define VALUES_MAX     12u
#define CONDITIONS_MAX 3u
#define PROGRAM_MAX    1024u
/* the bits of a socket's type without the flags SOCK_CLOEXEC and SOCK_NONBLOCK */
#define SOCKET_TYPES 0xfu

/* System calls that the seccomp filter allows with any arguments. */
static const int calls[] = {
	/* allowed system calls that wait, or wake other threads */
	SYS_futex,
	SYS_ppoll,
	SYS_epoll_pwait,
	SYS_epoll_ctl,
	SYS_epoll_create1,
	SYS_pselect6,
	SYS_eventfd2,
	SYS_pipe2,
	SYS_signalfd4,
	SYS_timerfd_create,
	SYS_timerfd_settime,
	SYS_timerfd_gettime,
	SYS_sched_yield,
	SYS_nanosleep,
	SYS_clock_nanosleep,
	SYS_restart_syscall,
	SYS_membarrier,
	/* allowed system calls for messages, and for ports that are sockets */
	SYS_sendto,
	SYS_sendmsg,
	SYS_sendmmsg,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_recvmmsg,
	SYS_accept,
	SYS_accept4,
	SYS_bind,
	SYS_connect,
	SYS_listen,
	SYS_shutdown,
	SYS_setsockopt,
	SYS_getsockopt,
	SYS_getsockname,
	SYS_getpeername,
	/*
	 * allowed system calls for descriptors and files; the permissions of the file system still
	 * apply
	 */
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_pread64,
	SYS_pwrite64,
	SYS_lseek,
	SYS_close,
	SYS_dup,
	SYS_dup3,
	SYS_flock,
	SYS_openat,
	SYS_fstat,
	SYS_newfstatat,
	SYS_statx,
	SYS_fstatfs,
	SYS_statfs,
	SYS_faccessat,
	SYS_faccessat2,
	SYS_readlinkat,
	SYS_getdents64,
	SYS_getcwd,
	SYS_unlinkat,
	SYS_ftruncate,
	SYS_fallocate,
	SYS_memfd_create,
	/* allowed system calls for memory */
	SYS_brk,
	SYS_munmap,
	SYS_mremap,
	SYS_madvise,
	SYS_mincore,
	SYS_mlock,
	SYS_munlock,
	SYS_mbind,
	SYS_get_mempolicy,
	SYS_set_mempolicy,
	/* allowed system calls for time, for random numbers, and for the identity of the process */
	SYS_clock_gettime,
	SYS_clock_getres,
	SYS_gettimeofday,
	SYS_getrandom,
	SYS_getpid,
	SYS_gettid,
	SYS_getppid,
	SYS_getuid,
	SYS_geteuid,
	SYS_getgid,
	SYS_getegid,
	SYS_capget,
	SYS_uname,
	SYS_sysinfo,
	SYS_getcpu,
	SYS_sched_getaffinity,
	SYS_sched_getparam,
	SYS_sched_getscheduler,
	SYS_getrusage,
	/* allowed system calls for threads, for signals, and for the end of the process */
	SYS_set_robust_list,
	SYS_rseq,
	SYS_rt_sigaction,
	SYS_rt_sigprocmask,
	SYS_rt_sigreturn,
	SYS_rt_sigtimedwait,
	SYS_rt_sigpending,
	SYS_sigaltstack,
	SYS_exit,
	SYS_exit_group,
#ifdef __x86_64__
	/* allowed system calls that are older, and that some architectures do not have */
	SYS_poll,
	SYS_select,
	SYS_epoll_wait,
	SYS_epoll_create,
	SYS_eventfd,
	SYS_signalfd,
	SYS_pipe,
	SYS_open,
	SYS_creat,
	SYS_stat,
	SYS_lstat,
	SYS_access,
	SYS_readlink,
	SYS_unlink,
	SYS_dup2,
	SYS_getdents,
	SYS_time,
	SYS_arch_prctl,
#endif
};

/*
 * System calls that uroced may make, but the connection manager may not. It has all of its
 * descriptors when it enters the sandbox.
 */
static const int not_for_cm[] = {
	SYS_bind,     SYS_connect,    SYS_listen,     SYS_socket,   SYS_openat,
	SYS_unlinkat, SYS_getdents64, SYS_readlinkat,
#ifdef __x86_64__
	SYS_open,     SYS_creat,      SYS_unlink,     SYS_getdents, SYS_readlink,
#endif
};

/*
 * A condition of a seccomp rule. It holds if argument `arg` of the system call, masked, has one of
 * these values.
 */
struct condition {
	uint32_t arg;
	uint64_t mask;
	uint32_t nb_values;
	uint32_t value[VALUES_MAX];
};

/*
 * A rule of the seccomp filter. It matches a system call for which all conditions of the rule hold.
 */
struct rule {
	int call;
	uint32_t nb;
	struct condition condition[CONDITIONS_MAX];
};

static const struct rule rules[] = {
	/*
	 * clone() may create only threads: telemetry has one for each connection, and uroced makes
	 * no process after its start
	 */
	{ SYS_clone, 1, { { 0, CLONE_THREAD, 1, { CLONE_THREAD } } } },
	/* rules by which mmap() and mprotect() cannot make memory both writable and executable */
	{ SYS_mmap, 1, { { 2, PROT_WRITE | PROT_EXEC, 3, { 0, PROT_WRITE, PROT_EXEC } } } },
	{ SYS_mprotect, 1, { { 2, PROT_EXEC, 1, { 0 } } } },
	/*
	 * AF_UNIX is needed when the port memif connects again. The other families are needed for
	 * addresses, multicast groups and queries of interfaces.
	 */
	{ SYS_socket, 1, { { 0, UINT32_MAX, 4, { AF_UNIX, AF_NETLINK, AF_INET, AF_INET6 } } } },
	/*
	 * uroced makes a socket pair for each new reader process; pairs of datagram sockets are not
	 * allowed, because such a socket can send to any address, although it has a peer
	 */
	{ SYS_socketpair,
	  2,
	  { { 0, UINT32_MAX, 1, { AF_UNIX } },
	    { 1, SOCKET_TYPES, 2, { SOCK_SEQPACKET, SOCK_STREAM } } } },
	{ SYS_prctl, 1, { { 0, UINT32_MAX, 3, { PR_SET_NAME, PR_GET_NAME, PR_SET_TIMERSLACK } } } },
	/*
	 * prlimit() may read the resource limits of the process itself, but not set them: the
	 * pointer to new limits has to be NULL in both halves
	 */
	{ SYS_prlimit64, 2, { { 0, UINT32_MAX, 1, { 0 } }, { 2, UINT64_MAX, 1, { 0 } } } },
	/*
	 * fcntl() is allowed without F_SETOWN and F_SETSIG: by them the kernel sends any signal to
	 * any process of the same user. F_SETLEASE and F_NOTIFY cause signals, too, and are not
	 * allowed either.
	 */
	{ SYS_fcntl,
	  1,
	  { { 1,
	      UINT32_MAX,
	      10,
	      { F_DUPFD, F_DUPFD_CLOEXEC, F_GETFD, F_SETFD, F_GETFL, F_GETLK, F_SETLK, F_SETLKW,
		F_ADD_SEALS, F_GET_SEALS } } } },
	{ SYS_fcntl, 2, { { 1, UINT32_MAX, 1, { F_SETFL } }, { 2, O_ASYNC, 1, { 0 } } } },
};

/* Rules of the seccomp filter for uroced, and not for the connection manager. */
static const struct rule uroced_rules[] = {
	/* a thread may choose its own CPUs (thread ID 0), but not those of another thread */
	{ SYS_sched_setaffinity, 1, { { 0, UINT32_MAX, 1, { 0 } } } },
};

/* Rules of the seccomp filter for the connection manager, and not for uroced. */
static const struct rule cm_rules[] = {
	/*
	 * EAL sets the CPUs of a new thread by its thread ID, and the connection manager starts
	 * threads in its sandbox
	 */
	{ SYS_sched_setaffinity, 0, { { .arg = 0 } } },
	/* the C library checks by TCGETS whether a stream is a terminal */
	{ SYS_ioctl, 1, { { 1, UINT32_MAX, 1, { TCGETS } } } },
};

static const struct rule xdp_rules[] = {
	{ SYS_socket, 1, { { 0, UINT32_MAX, 1, { AF_XDP } } } },
	{ SYS_bpf, 0, { { .arg = 0 } } },
	{ SYS_mkdirat, 0, { { .arg = 0 } } }, /* libxdp makes a folder for its lock file */
#ifdef __x86_64__
	{ SYS_mkdir, 0, { { .arg = 0 } } },
#endif
};

/*
 * Rules for requests of ioctl() that are refused. All other requests are allowed, because each
 * driver has requests of its own.
 */
static const struct rule refused_requests[] = {
	/*
	 * requests that set the owner of a descriptor, or let the kernel send the owner signals, as
	 * some commands of fcntl() do
	 */
	{ SYS_ioctl, 1, { { 1, UINT32_MAX, 3, { FIOSETOWN, SIOCSPGRP, FIOASYNC } } } },
	/*
	 * requests that put characters into the input of a terminal, or let a terminal send signals
	 * to the processes of its session
	 */
	{ SYS_ioctl,
	  1,
	  { { 1,
	      UINT32_MAX,
	      7,
	      { TIOCSTI, TIOCLINUX, TIOCSIG, TIOCSCTTY, TIOCNOTTY, TIOCSPGRP, TIOCSWINSZ } } } },
};

struct program {
	uint16_t len;
	struct sock_filter code[PROGRAM_MAX];
};

static void
emit(struct program *program, uint16_t code, uint32_t k, uint8_t skip_true, uint8_t skip_false)
{
	if (program->len < PROGRAM_MAX)
		program->code[program->len++] =
			(struct sock_filter)BPF_JUMP(code, k, skip_true, skip_false);
}

static void
emit_load(struct program *program, size_t offset)
{
	emit(program, BPF_LD | BPF_W | BPF_ABS, (uint32_t)offset, 0, 0);
}

/* Get the offset of a half of a system call's argument in struct seccomp_data. */
static size_t
offset_of_half(uint32_t arg, bool is_upper)
{
	const bool is_second = is_upper == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

	return offsetof(struct seccomp_data, args) + arg * sizeof(uint64_t) + (is_second ? 4 : 0);
}

static void
emit_return(struct program *program, uint32_t verdict)
{
	emit(program, BPF_RET | BPF_K, verdict, 0, 0);
}

/*
 * Add instructions to the BPF program that return `verdict` if the loaded word equals `call`. The
 * word is the number of the system call, or an argument.
 */
static void
emit_call(struct program *program, int call, uint32_t verdict)
{
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)call, 0, 1);
	emit_return(program, verdict);
}

static bool
has_upper_half(const struct condition *condition)
{
	return condition->mask > UINT32_MAX;
}

/* Get the number of BPF instructions that a condition needs. */
static uint32_t
length_of(const struct condition *condition)
{
	return (has_upper_half(condition) ? 4 : 0) + 2 + condition->nb_values + 1;
}

/*
 * Add the BPF instructions of a condition to the program. If the condition does not hold, they jump
 * over the next `rest` instructions behind them. The upper half of an argument that is checked must
 * be 0.
 */
static void
emit_condition(struct program *program, const struct condition *condition, uint32_t rest)
{
	const uint8_t nb = (uint8_t)condition->nb_values;

	if (has_upper_half(condition)) {
		emit_load(program, offset_of_half(condition->arg, true));
		emit(program, BPF_ALU | BPF_AND | BPF_K, (uint32_t)(condition->mask >> 32), 0, 0);
		emit(program, BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0);
		emit(program, BPF_JMP | BPF_JA, 2u + nb + 1u + rest, 0, 0);
	}
	emit_load(program, offset_of_half(condition->arg, false));
	emit(program, BPF_ALU | BPF_AND | BPF_K, (uint32_t)condition->mask, 0, 0);
	for (uint8_t i = 0; i < nb; i++)
		emit(program, BPF_JMP | BPF_JEQ | BPF_K, condition->value[i], (uint8_t)(nb - i), 0);
	emit(program, BPF_JMP | BPF_JA, rest, 0, 0);
}

/*
 * Add the BPF instructions of a rule to the program. The number of the system call is in the
 * accumulator when these instructions begin, and is loaded again at their end.
 */
static void
emit_rule(struct program *program, const struct rule *rule, uint32_t verdict)
{
	uint32_t rest = 1; /* 1 for the instruction that returns the verdict of the rule */

	for (uint32_t i = 0; i < rule->nb; i++)
		rest += length_of(&rule->condition[i]);
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)rule->call, 0, (uint8_t)(rest + 1));
	for (uint32_t i = 0; i < rule->nb; i++) {
		rest -= length_of(&rule->condition[i]);
		emit_condition(program, &rule->condition[i], rest);
	}
	emit_return(program, verdict);
	emit_load(program, offsetof(struct seccomp_data, nr));
}

static void
emit_rules(struct program *program, const struct rule *rule, size_t nb, uint32_t verdict)
{
	for (size_t i = 0; i < nb; i++)
		emit_rule(program, &rule[i], verdict);
}

#define EMIT_RULES(program, rules, verdict)                                                        \
	emit_rules(program, rules, sizeof(rules) / sizeof((rules)[0]), verdict)

/* Add the rules that apply only to one kind of program: uroced or the connection manager. */
static void
emit_rules_of(struct program *program, enum syscall_filter filter)
{
	if (filter == SYSCALL_FILTER_CM) {
		EMIT_RULES(program, cm_rules, SECCOMP_RET_ALLOW);
		return;
	}
	EMIT_RULES(program, uroced_rules, SECCOMP_RET_ALLOW);
	if (filter == SYSCALL_FILTER_XDP)
		EMIT_RULES(program, xdp_rules, SECCOMP_RET_ALLOW);
	EMIT_RULES(program, refused_requests, SECCOMP_RET_ERRNO | EPERM);
	emit_call(program, SYS_ioctl, SECCOMP_RET_ALLOW);
}

static void
write_program(struct program *program, enum syscall_filter filter)
{
	/* abort() sends a signal to its own process, so a signal to this process is allowed */
	const struct rule self = { SYS_tgkill,
				   1,
				   { { 0, UINT32_MAX, 1, { (uint32_t)getpid() } } } };

	emit_load(program, offsetof(struct seccomp_data, arch));
	emit(program, BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
	emit_return(program, SECCOMP_RET_ERRNO | EPERM);
	emit_load(program, offsetof(struct seccomp_data, nr));
	for (size_t i = 0;
	     filter == SYSCALL_FILTER_CM && i < sizeof(not_for_cm) / sizeof(not_for_cm[0]); i++)
		emit_call(program, not_for_cm[i], SECCOMP_RET_ERRNO | EPERM);
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		emit_call(program, calls[i], SECCOMP_RET_ALLOW);
	/*
	 * the flags of clone3() are in memory behind a pointer, so no rule can check them. The
	 * filter returns ENOSYS, and then the C library calls clone() instead.
	 */
	emit_call(program, SYS_clone3, SECCOMP_RET_ERRNO | ENOSYS);
	EMIT_RULES(program, rules, SECCOMP_RET_ALLOW);
	emit_rule(program, &self, SECCOMP_RET_ALLOW);
	emit_rules_of(program, filter);
	emit_return(program, SECCOMP_RET_ERRNO | EPERM);
}

int
syscall_filter_install(enum syscall_filter filter)
{
	static struct program program;
	struct sock_fprog fprog = { .filter = program.code };
	long ret;

	program.len = 0;
	write_program(&program, filter);
	if (program.len == PROGRAM_MAX)
		return -E2BIG;
	fprog.len = program.len;
	/*
	 * SPEC_ALLOW is set because otherwise kernels before 5.16 slow down loads that follow
	 * stores, as a protection from untrusted code.
	 */
	ret = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
		      SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_LOG |
			      SECCOMP_FILTER_FLAG_SPEC_ALLOW,
		      &fprog);
	if (ret < 0)
		return -errno;
	return ret == 0 ? 0 : -EBUSY;
}
