# SPDX-License-Identifier: BSD-3-Clause
"""The restricted profile of the Pod Security Standards of Kubernetes, as far as it concerns Linux containers."""

VOLUMES = {'configMap', 'csi', 'downwardAPI', 'emptyDir', 'ephemeral', 'persistentVolumeClaim', 'projected', 'secret'}
SECCOMP = {'RuntimeDefault', 'Localhost'}
MAY_ADD = {'NET_BIND_SERVICE'}
HOST = 'hostNetwork', 'hostPID', 'hostIPC'
# Lists of containers in a pod.
CONTAINERS = 'initContainers', 'containers', 'ephemeralContainers'


def containers(pod):
    return [container for name in CONTAINERS for container in pod['spec'].get(name, [])]


def seccomp(context):
    return context.get('seccompProfile', {}).get('type')


def of_pod(spec):
    """What the profile refuses in the specification of a pod outside of its containers."""
    context = spec.get('securityContext', {})
    yield from (f'{name} is set' for name in HOST if spec.get(name))
    for volume in spec.get('volumes', []):
        kinds = set(volume) - {'name'} or {'emptyDir'}
        yield from (f'volume {volume["name"]}: {kind}' for kind in kinds - VOLUMES)
    if context.get('runAsUser') == 0:
        yield 'runAsUser is 0'
    if context.get('sysctls'):
        yield 'sysctls are set'
    if seccomp(context) not in SECCOMP | {None}:
        yield f'seccompProfile: {seccomp(context)}'


def of_container(container, pod_context):
    """What the profile refuses in a container."""
    context = container.get('securityContext', {})
    capabilities = context.get('capabilities', {})
    if context.get('privileged'):
        yield 'privileged'
    if context.get('allowPrivilegeEscalation') is not False:
        yield 'allowPrivilegeEscalation is not false'
    if context.get('runAsNonRoot', pod_context.get('runAsNonRoot')) is not True:
        yield 'runAsNonRoot is not true'
    if context.get('runAsUser') == 0:
        yield 'runAsUser is 0'
    if (seccomp(context) or seccomp(pod_context)) not in SECCOMP:
        yield 'seccompProfile is not RuntimeDefault'
    if 'ALL' not in capabilities.get('drop', []):
        yield 'capabilities are not dropped: ALL'
    yield from (f'adds {name}' for name in set(capabilities.get('add', [])) - MAY_ADD)
    if context.get('procMount', 'Default') != 'Default':
        yield f'procMount: {context["procMount"]}'
    yield from (f'hostPort {port["hostPort"]}' for port in container.get('ports', []) if port.get('hostPort'))


def violations(pod):
    """What the profile refuses in a pod; an empty list: it is restricted."""
    spec = pod['spec']
    found = list(of_pod(spec))
    for container in containers(pod):
        found += [f'{container["name"]}: {why}' for why in of_container(container, spec.get('securityContext', {}))]
    return found
