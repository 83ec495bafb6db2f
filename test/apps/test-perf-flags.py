#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests flags of perftest that uroce-perf has, with its own loopback.

    test-perf-flags.py UROCE-PERF SANITIZER

SANITIZER is meson's b_sanitize: under a sanitizer no message has gigabytes, because its memory would have more.
A row of RUNS is a command line, the status, and what the output must contain. Prints TAP.
"""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.dont_write_bytecode = True
import tap  # noqa: E402

PERF, SANITIZER = sys.argv[1:3]
LIMIT_S = 300    # only a hang takes so long
# No request may fail with IBV_WC_RETRY_EXC_ERR because the scheduler delays the thread of the other side.
PATIENCE = ['-u', '18']
NUMBER = r'\d+\.\d+'
SAMPLE = r'[0-9.e+-]+'    # a number of %g, which has no point if it is whole or large
BW_ROW = rf'^ 4096 +\d+ +{NUMBER} +{NUMBER}\s+{NUMBER}'

# (command line, status, regular expression of the output)
RUNS = [
    # the report
    ('write_bw -s 4096 -n 100 --output bandwidth', 0, rf'\A{NUMBER}\n\Z'),
    ('write_bw -s 4096 -n 100 --output message_rate', 0, rf'\A{NUMBER}\n\Z'),
    ('send_lat -n 100 --output latency', 0, rf'\A{NUMBER}\n\Z'),
    ('write_bw -s 4096 -n 100 -b --report-both', 0, rf'Local results: (?s:.*){BW_ROW}(?s:.*)Remote results: (?s:.*){BW_ROW}'),
    ('write_bw -s 4096 -n 100 -w 0.001 -y 0.000001', 0, BW_ROW),
    ('write_bw -s 4096 -n 100 -w 100000000', 1, r'--limit_bw 1e\+08: the result is below it: .* MB/sec'),
    ('write_bw -s 4096 -n 100 -y 100000', 1, r'--limit_msgrate 100000: the result is below it: .* Mpps'),
    ('write_bw -s 4096 -D 1 --cpu_util', 0, rf'CPU_Util\[%\]\n{BW_ROW}\s+{NUMBER}$'),
    ('send_lat -D 1 --cpu_util', 0, rf'CPU_Util\[%\]\n 2 +\d+ +{NUMBER} +{NUMBER}\s+{NUMBER}$'),
    ('write_bw -s 4096 -n 100 -W counters/port_xmit_packets,port_rcv_packets', 0,
     r'^\tport_xmit_packets=[1-9]\d*\n\tport_rcv_packets=[1-9]\d*$'),
    ('write_bw -W nosuch', 1, '--report-counters nosuch: no such counter; allowed: the names of uroce-stat'),
    ('read_lat -n 100 -C', 0, r't_min\[cycles\]'),
    ('read_lat -n 100 -H', 0, rf'^#, usec\n1, {SAMPLE}\n(?s:.*)^100, (?s:.*)t_min\[usec\]'),
    ('read_lat -n 100 -U -C', 0, rf'^#, cycles\n1, {SAMPLE}\n(?s:.*)^100, (?s:.*)t_min\[cycles\]'),
    ('send_lat -n 1000 --histogram', 0, r'from\[usec\] +to\[usec\] +messages(?s:.*) 100\.000 '),
    ('send_lat -D 1 --histogram', 0, r'from\[usec\] +to\[usec\] +messages(?s:.*) 100\.000 '),
    ('write_bw -s 4096 -n 100 --report_gbits --rate_limit 0.01 --burst_size 1', 0, r'^ 4096 +\d+ +\d+\.\d{6} +0\.0\d{5}\s'),
    # what is always so
    ('write_bw -s 4096 -n 100 -F -i 1 -S 0 --use_old_post_send --disable_pcie_relaxed --force-link Ethernet', 0, BW_ROW),
    # the path and the memory
    ('write_bw -s 4096 -n 100 -q 3 --mr_per_qp --verify', 0, r'bytes checked, 0 wrong'),
    ('send_bw -s 4096 -n 100 -q 3 --mr_per_qp --verify', 0, r'bytes checked, 0 wrong'),
    ('write_bw -s 4096 -n 100 --odp --verify', 0, r'bytes checked, 0 wrong'),
    ('write_bw -s 4096 -n 100 --pkey_index 0', 0, BW_ROW),
    ('write_bw -s 4096 -n 100 --pkey_index 999', 1, r'--pkey_index 999: no such P_Key; allowed: 0 to \d+'),
    # the run
    ('write_bw -s 4096 -n 100 --perform_warm_up --verify', 0, r'verify: 100 messages, 409600 bytes checked, 0 wrong'),
    ('atomic_bw -n 100 --perform_warm_up --verify', 0, r'verify: 100 messages, 800 bytes checked, 0 wrong'),
    ('read_bw -s 4096 -D 1 --perform_warm_up -q 3', 0, BW_ROW),
    ('send_bw -s 4096 -n 100 --perform_warm_up --verify', 0, r'verify: 100 messages, 409600 bytes checked, 0 wrong'),
    ('write_bw -s 4096 -n 100 --wait_destroy 1', 0, BW_ROW),
    ('write_bw -s 4096 -n 100 --reversed', 0, BW_ROW),
    ('send_bw -s 4096 -n 100 --reversed --verify', 0, r'100 messages, 409600 bytes checked, 0 wrong'),
    ('read_bw -s 4096 -D 1 --reversed', 0, BW_ROW),
    ('write_bw -s 4096 -D 3 -f 1', 0, BW_ROW),
    ('send_lat -D 3 -f 1', 0, rf'^ 2 +\d+ +{NUMBER}'),
    ('write_bw -s 4096 -D 2 -f 1', 2, r'--margin 1: leaves no time to measure'),
    ('send_bw -s 4096 -n 100 -q 2 --recv_post_list 32 --verify', 0, r'0 wrong'),
    ('send_bw -s 4096 -n 1000 --recv_post_list 512 -r 600', 0, BW_ROW),
    ('send_bw -s 4096 -n 1000 -e --verify', 0, r'0 wrong'),
    ('read_bw -s 4096 -n 1000 -e -X 0', 0, BW_ROW),
    ('send_lat -n 200 -e', 0, r'^ 2 +200 '),
    ('read_lat -n 200 -e', 0, r'^ 2 +200 '),
    ('send_bw -n 100 -e -X 2000', 1, r'--vector 2000: no such vector; allowed: 0 to \d+'),
    ('write_bw --rate_limit_type HW', 2, r'--rate_limit_type HW: is a limit of NICs; allowed: SW'),
    # the type of the QPs
    ('send_bw -s 4096 -n 200 -q 3 --use-srq', 0, BW_ROW),
    ('send_bw -s 4096 -n 200 --use-srq --verify', 0, r'0 wrong'),
    ('send_bw -c UD -s 1024 -n 200 -q 3 --use-srq -r 1024', 0, r'^ 1024 '),
    ('send_lat -n 200 --use-srq --verify', 0, r'0 wrong'),
    ('send_bw -c XRC -s 4096 -n 200 -q 3', 0, BW_ROW),
    ('send_bw -c XRC -s 4096 -n 200 -b', 0, BW_ROW),
    ('send_bw -c XRC -s 4096 -n 200 --verify', 0, r'0 wrong'),
    ('write_bw -c XRC -s 4096 -n 200 -q 3 --verify', 0, r'0 wrong'),
    ('read_bw -c XRC -s 4096 -n 200 --verify', 0, r'0 wrong'),
    ('atomic_bw -c XRC -n 200 --verify', 0, r'0 wrong'),
    ('send_lat -c XRC -n 200', 0, r'^ 2 +200 '),
    ('write_lat -c XRC -n 200', 0, r'^ 2 +200 '),
    ('send_bw -g -s 1024 -n 200 -r 512', 0, r'^ 1024 '),
    ('send_bw -g -M ff15::77 --ipv6 -s 1024 -n 200 -r 512', 0, r'^ 1024 '),
    ('send_lat -g -n 200', 0, r'^ 2 +200 '),
    ('send_bw -g -M 192.0.2.1', 1, r'--MGID 192.0.2.1: no multicast group; allowed: an address of'),
    # sizes
    ('write_bw -s 4K -n 100', 0, BW_ROW),
]

# The same for messages of so many bytes that both sides need some GiB of memory.
LARGE_RUNS = [
    ('write_bw -s 2048M -n 5', 0, r'^ 2147483648 +5 '),
    ('read_bw -s 1025M -n 5 --verify', 0, r'5 messages, 5373952000 bytes checked, 0 wrong'),
]
LARGE_GIB = 12
LARGE_LIMIT_S = 900    # the kernel clears the memory, and 10 GiB are sent

def run(flags, limit_s=LIMIT_S):
    """@return status (None if the run hangs), standard output, all output"""
    try:
        process = subprocess.run([PERF, '--', '--loopback', *PATIENCE, *flags.split()], stdin=subprocess.DEVNULL, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return None, '', f'no end within {limit_s} s'
    return process.returncode, process.stdout, process.stderr + process.stdout


def available_gib():
    with open('/proc/meminfo', encoding='utf-8') as file:
        return int(re.search(r'MemAvailable: +(\d+) kB', file.read()).group(1)) / (1 << 20)


def large_runs():
    if SANITIZER != 'none':
        tap.result(True, f'large messages # SKIP they are not sent under a sanitizer ({SANITIZER})')
    elif available_gib() < LARGE_GIB:
        tap.result(True, f'large messages # SKIP less than {LARGE_GIB} GiB of memory are available')
    else:
        runs(LARGE_RUNS, LARGE_LIMIT_S)


def runs(table, limit_s=LIMIT_S):
    for flags, wanted, pattern in table:
        status, output, said = run(flags, limit_s)
        text = said if wanted else output
        tap.result(status == wanted and re.search(pattern, text, re.MULTILINE), flags, f'status {status}\n{said}')


def report_of(folder, flags):
    """@return the results, the test's parameters, and the output"""
    path = os.path.join(folder, 'report.json')
    status, _, said = run(f'{flags} --out_json_file={path}')
    if status != 0:
        return {}, {}, said
    with open(path, encoding='utf-8') as file:
        report = json.load(file)
    return report['results'], report['test_info'], said


def json_keys(folder):
    for flags, keys in (('write_bw -D 1 --cpu_util', ['CPU_util']),
                        ('write_bw -n 100 -W port_xmit_packets', ['counters']),
                        ('write_bw -n 100 -b --report-both', ['BW_average_local', 'MsgRate_remote']),
                        ('write_bw -n 100 --output bandwidth', ['bw_avg']),
                        ('write_bw -n 100 --output message_rate', ['msgRate_avg']),
                        ('write_lat -n 100 --output latency', ['avg_lat']),
                        ('write_lat -n 100 --histogram', ['histogram', 'percentile_99'])):
        results, _, said = report_of(folder, flags)
        tap.result(all(key in results for key in keys), f'JSON of {flags}', said)
    results, _, said = report_of(folder, 'write_lat -n 500 --histogram')
    counts = [count for _, count in results.get('histogram', [])]
    tap.result(sum(counts) == 500, 'the histogram counts each message', f'{counts}\n{said}')
    for flags, wanted in (('send_bw -n 100 --use-srq --recv_post_list 8 -l 4 -r 64',
                           {'test': 'Send_Post_List_BW_Test', 'Using_SRQ': 'ON', 'Recv_Post_List': 8, 'Post_List': 4,
                            'RX_depth': 64, 'Data_ex_method': 'Ethernet', 'Link_type': 'Ethernet'}),
                          ('send_lat -n 100 -g', {'test': 'Send_Latency_Multicast_Test', 'MultiCast_runs': 'on_UD'})):
        _, info, said = report_of(folder, flags)
        tap.result(wanted.items() <= info.items(), f'parameters in the JSON of {flags}', f'{info}\n{said}')


def huge_pages():
    """Each side needs one page. Without free pages both say so."""
    with open('/proc/meminfo', encoding='utf-8') as file:
        free = int(re.search(r'HugePages_Free: +(\d+)', file.read()).group(1))
    status, _, said = run('write_bw -s 4096 -n 100 --use_hugepages')
    refusal = 'uroce-perf: --use_hugepages: no 1 free huge pages: '
    # pages that were free may be used by EAL
    is_right = status == 0 if free > 2048 else status == 1 and refusal in said if free == 0 else True
    tap.result(is_right, f'--use_hugepages with {free} free pages', f'status {status}\n{said}')


def plot(folder):
    path = os.path.join(folder, 'plot.svg')
    status, _, said = run(f'write_lat -a -n 100 --plot {path}')
    try:
        texts = [text.text for text in xml.etree.ElementTree.parse(path).iter('{http://www.w3.org/2000/svg}text')]
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        texts, said = [], f'{said}{error}'
    panels = [text for text in texts if text.startswith('write_lat, ') and text.endswith(' 100 messages')]
    tap.result(status == 0 and 10 < len(panels) <= 23, 'a panel for each size', f'{panels}\n{said}')
    status, _, said = run(f'write_lat -n 100 --plot {folder}/nosuch/plot.svg')
    tap.result(status == 1 and 'allowed: a file that can be written' in said, 'a plot that cannot be written', said)


def rate_limit():
    """The rate of a run of 2000 messages, with a limit that takes a second. A limit is not exceeded."""
    for flags, row in (('--rate_limit 2000 --rate_units p --burst_size 100', None),
                       ('--rate_limit 7.8125 --rate_units M --burst_size 10', None),
                       ('--rate_limit 0.065536 --burst_size 10', None)):
        status, output, said = run(f'write_bw -s 4096 -n 2000 -N -y 0.000001 {flags} --output message_rate')
        rate = float(output) * 1e6 if status == 0 else 0
        tap.result(0 < rate < 2000 * 1.06, f'{flags}: at most 2000 messages/s', f'{rate} messages/s\n{said}')


def frames_of(path):
    """The frames of a pcap file, whose headers have 24 bytes at its start and 16 bytes before each frame."""
    with open(path, 'rb') as file:
        rest = file.read()[24:]
    while rest:
        length = int.from_bytes(rest[8:12], sys.byteorder)
        yield rest[16:16 + length]
        rest = rest[16 + length:]


def traffic_class(folder):
    path = os.path.join(folder, 'frames.pcap')
    _, _, said = run(f'write_bw -s 4096 -n 10 --tclass 104 --capture {path}')
    tos = {frame[15] for frame in frames_of(path) if frame[12:14] == b'\x08\x00'}
    tap.result(tos == {104}, '--tclass is in the IPv4 frames', f'{tos}\n{said}')


def infinite(folder):
    """A signal ends a run in order, after some reports."""
    path = os.path.join(folder, 'infinite.json')
    process = subprocess.Popen([PERF, '--', '--loopback', 'write_bw', '-s', '4096', '--run_infinitely', '-D', '1',
                                f'--out_json_file={path}'], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    rows = 0
    while rows < 2:
        line = process.stdout.readline()
        if not line:
            break
        rows += line.startswith(' 4096 ')
    process.send_signal(signal.SIGINT)
    said = ''.join(process.communicate(timeout=LIMIT_S))
    tap.result(rows == 2 and process.returncode == 0, 'a run without an end', f'status {process.returncode}\n{said}')
    with open(path, encoding='utf-8') as file:
        tap.result(len(json.load(file)['results']) >= 2, 'its JSON has the reports')


def main():
    runs(RUNS)
    rate_limit()
    huge_pages()
    large_runs()
    with tempfile.TemporaryDirectory() as folder:
        json_keys(folder)
        plot(folder)
        traffic_class(folder)
        infinite(folder)
    return tap.end()


sys.exit(main())
