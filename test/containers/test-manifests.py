#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tests the files of config/container as texts: the pod against the restricted profile, the workflow, and the
Containerfile against README.md.

    test-manifests.py SOURCE

Prints TAP.
"""

import json
import os
import re
import sys

sys.dont_write_bytecode = True
SOURCE = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(SOURCE, 'test/apps'))
import containerfile  # noqa: E402
import pod_profile  # noqa: E402
import tap  # noqa: E402

try:
    import yaml
except ImportError:
    print('1..0 # SKIP python3-yaml is not installed')
    sys.exit(0)

FOLDER = os.path.join(SOURCE, 'config/container')
POD, FIRST = ('spec',), ('spec', 'containers', 0, 'securityContext')
# Changes that the profile refuses: a path in the pod, a value (None: the key is removed), and what is found.
BREAKS = [
    (POD + ('hostNetwork',), True, 'hostNetwork'),
    (POD + ('hostPID',), True, 'hostPID'),
    (POD + ('hostIPC',), True, 'hostIPC'),
    (POD + ('volumes', 0), {'name': 'socket', 'hostPath': {'path': '/run'}}, 'hostPath'),
    (POD + ('securityContext', 'runAsNonRoot'), None, 'runAsNonRoot'),
    (POD + ('securityContext', 'runAsUser'), 0, 'runAsUser is 0'),
    (POD + ('securityContext', 'seccompProfile'), None, 'seccompProfile'),
    (POD + ('securityContext', 'seccompProfile', 'type'), 'Unconfined', 'seccompProfile'),
    (POD + ('securityContext', 'sysctls'), [{'name': 'net.core.rmem_max', 'value': '8388608'}], 'sysctls'),
    (FIRST + ('allowPrivilegeEscalation',), None, 'allowPrivilegeEscalation'),
    (FIRST + ('allowPrivilegeEscalation',), True, 'allowPrivilegeEscalation'),
    (FIRST + ('privileged',), True, 'privileged'),
    (FIRST + ('runAsNonRoot',), False, 'runAsNonRoot'),
    (FIRST + ('runAsUser',), 0, 'runAsUser is 0'),
    (FIRST + ('procMount',), 'Unmasked', 'procMount'),
    (FIRST + ('capabilities', 'drop'), ['NET_RAW'], 'not dropped'),
    (FIRST + ('capabilities', 'add'), ['IPC_LOCK'], 'adds IPC_LOCK'),
    (FIRST + ('seccompProfile',), {'type': 'Unconfined'}, 'seccompProfile'),
    (('spec', 'initContainers', 0, 'securityContext'), {}, 'uroced: capabilities'),
    (('spec', 'containers', 1, 'ports'), [{'containerPort': 4791, 'hostPort': 4791}], 'hostPort'),
]


def read(name):
    with open(os.path.join(FOLDER, name), encoding='utf-8') as file:
        return list(yaml.safe_load_all(file))


def changed(pod, path, value):
    """A copy of the pod with this change."""
    pod = json.loads(json.dumps(pod))    # aliases of YAML become copies
    part = pod
    for key in path[:-1]:
        part = part[key]
    if value is None:
        del part[path[-1]]
    else:
        part[path[-1]] = value
    return pod


def test_pod(space, pod):
    found = pod_profile.violations(pod)
    tap.result(not found, 'the pod is restricted', '\n'.join(found))
    enforced = space['metadata']['labels'].get('pod-security.kubernetes.io/enforce')
    tap.result(enforced == 'restricted' and pod['metadata']['namespace'] == space['metadata']['name'],
               'the namespace of the pod enforces the profile')
    for path, value, wanted in BREAKS:
        found = pod_profile.violations(changed(pod, path, value))
        name = '.'.join(map(str, path[1:]))
        tap.result(any(wanted in line for line in found), f'refused: {name} = {value}', str(found))
    lax = [container['name'] for container in pod_profile.containers(pod)
           if not container['securityContext'].get('readOnlyRootFilesystem')]
    tap.result(not lax, 'each container has a read-only root', str(lax))
    volumes = {volume['name'] for volume in pod['spec']['volumes']}
    mounts = [{mount['mountPath']: mount['name'] for mount in container['volumeMounts']}
              for container in pod_profile.containers(pod)]
    tap.result(all(set(mount.values()) <= volumes for mount in mounts), 'each mount has a volume')
    sockets, temporary = ({mount[path] for mount in mounts} for path in ('/run/uroced', '/tmp'))
    tap.result(len(sockets) == 1 and len(temporary) == len(mounts),
               'the containers share the folder of the socket, and not /tmp', str(mounts))


def test_workflow(workflow):
    steps = workflow['jobs']['verbs']['steps']
    tap.result(all(('run' in step) != ('uses' in step) for step in steps), 'each step of the workflow runs or uses')
    lines = steps[-1]['run'].strip().splitlines()
    commands = [re.match('git clone|uroce/usertools/[a-z-]+', line) for line in lines]
    tap.result(len(lines) == 3 and all(commands) and
               [found[0].split('/')[-1] for found in commands] == ['git clone', 'quickstart', 'uroce-run'],
               'the last step has three lines: clone, quickstart, uroce-run', str(lines))
    # the key `on` is a truth value in YAML 1.1
    tap.result({'name', 'permissions', 'jobs', True} == set(workflow), 'the workflow has its keys', str(list(workflow)))


def test_containerfile():
    first, last = containerfile.parse(os.path.join(FOLDER, 'Containerfile'))
    with open(os.path.join(SOURCE, 'README.md'), encoding='utf-8') as file:
        wanted = re.search(r'^meson setup .*install$', file.read(), re.M)[0]
    without_tests = wanted.replace('meson setup build', 'meson setup build -Dtests=false')
    tap.result(without_tests in first.texts('RUN'),
               'the first stage builds and installs as README.md says, without tests', str(first.steps))
    tap.result(first.last('COPY') == '. .' and any('$packages_build' in text for text in first.texts('RUN')),
               'the first stage has the tree, and the packages of usertools/packages.sh')
    copied = [f'--from={first.name} /usr/local /usr/local']
    tap.result(last.texts('COPY') == copied, 'the last stage has what is installed')
    user = last.last('USER').split(':')[0]
    tap.result(user.isdigit() and int(user) > 0, f'the user of the image is a number, and not root: {user}')
    tap.result(any(f'--uid {user} ' in text for text in last.texts('RUN')), 'the last stage makes this user')


def main():
    test_pod(*read('pod.yaml'))
    test_workflow(*read('workflow.yml'))
    test_containerfile()
    return tap.end()


sys.exit(main())
