/** ConfigMaps, Secrets and service accounts that pods are made of and that are not there. */
import { quoted } from '../../report/shell.ts';
import type { InputReference, KeyedObject, Reading } from '../facts.ts';
import { templatePatch } from './change.ts';
import { type AuditContext, type Checked, change, type RequiredDaemonSet } from './context.ts';

export function checkInputs(context: AuditContext): Checked {
  const checked: Checked = { findings: [], notChecked: [] };
  for (const required of context.required) {
    for (const reference of required.object.inputs) {
      if (!reference.optional) checkReference(context, required, reference, checked);
    }
    checkServiceAccount(context, required, checked);
  }
  return checked;
}

function checkReference(
  { facts }: AuditContext,
  { key: daemonSet, object, subject }: RequiredDaemonSet,
  { kind, name, key, at }: InputReference,
  checked: Checked,
): void {
  const check = 'missing-input';
  const namespace = object.metadata.namespace ?? 'default';
  const reading = kind === 'ConfigMap' ? facts.configMaps : facts.secrets;
  const what = `${kind} ${namespace}/${name}${key === undefined ? '' : `, key ${key}`}, of ${daemonSet} (${at})`;
  if (reading.kind !== 'read') {
    checked.notChecked.push({ check, reason: `${what}: ${reading.reason}` });
    return;
  }
  const found = find(reading, namespace, name);
  if (found === undefined && facts.source === 'manifests') {
    const reason = `${what}: it is not among the manifests, and may come from elsewhere`;
    checked.notChecked.push({ check, reason });
    return;
  }
  if (found !== undefined && (key === undefined || found.keys.includes(key))) return;
  checked.findings.push({
    check,
    severity: 'error',
    subject,
    message:
      found === undefined
        ? `${daemonSet} is made of ${kind} ${name} (${at}), which does not exist`
        : `${daemonSet} is made of key ${key} of ${kind} ${name} (${at}), which has ${found.keys.length === 0 ? 'no keys' : `only ${found.keys.join(', ')}`}`,
    why: 'Its containers are not even created: each new pod stays in CreateContainerConfigError or ContainerCreating. Pods that run already hide it until their node is replaced.',
    change: addition(kind, namespace, name, key, found !== undefined),
  });
}

/** What makes the reference good; the value is the reader's to give. */
function addition(
  kind: InputReference['kind'],
  namespace: string,
  name: string,
  key: string | undefined,
  exists: boolean,
): string {
  const file = key ?? 'KEY';
  if (!exists) {
    const type = kind === 'ConfigMap' ? 'configmap' : 'secret generic';
    return `kubectl -n ${quoted(namespace)} create ${type} ${quoted(name)} --from-file=${quoted(`${file}=./${file}`)}\n# or make the reference optional: true, if the program can do without it`;
  }
  const field = kind === 'ConfigMap' ? 'data' : 'stringData';
  const program = `{${field}: {${JSON.stringify(file)}: $value}}`;
  const patch = `jq -n --rawfile value ${quoted(`./${file}`)} ${quoted(program)}`;
  return `kubectl -n ${quoted(namespace)} patch ${kind.toLowerCase()} ${quoted(name)} --type merge -p "$(${patch})"\n# or make the reference optional: true, if the program can do without it`;
}

function find(
  reading: Extract<Reading<KeyedObject>, { kind: 'read' }>,
  namespace: string,
  name: string,
): KeyedObject | undefined {
  return reading.items.find(({ object }) => object.name === name && object.namespace === namespace)
    ?.object;
}

function checkServiceAccount(
  context: AuditContext,
  required: RequiredDaemonSet,
  checked: Checked,
): void {
  const { facts } = context;
  const { object, template, key, subject } = required;
  const namespace = object.metadata.namespace ?? 'default';
  const own = (template.imagePullSecrets ?? []).map((each) => each.name);
  const name = template.serviceAccountName ?? 'default';
  if (facts.serviceAccounts.kind !== 'read') {
    const { reason } = facts.serviceAccounts;
    checked.notChecked.push({ check: 'missing-service-account', reason });
    if (own.length === 0) checked.notChecked.push({ check: 'missing-pull-secret', reason });
    else checkPullSecrets(context, required, own, 'its template', checked);
    return;
  }
  const account = facts.serviceAccounts.items.find(
    (each) => each.object.name === name && each.object.namespace === namespace,
  )?.object;
  if (account === undefined && name !== 'default') {
    if (facts.source === 'manifests') {
      const reason = `ServiceAccount ${namespace}/${name} of ${key} is not among the manifests`;
      checked.notChecked.push({ check: 'missing-service-account', reason });
    } else {
      checked.findings.push({
        check: 'missing-service-account',
        severity: 'error',
        subject,
        message: `${key} runs as ServiceAccount ${name}, which does not exist`,
        why: 'The API server refuses every new pod of it, so that each new node stays without it.',
        change: `kubectl -n ${quoted(namespace)} create serviceaccount ${quoted(name)}`,
      });
    }
  }
  // Admission takes those of the account only when the pod names none (plugin ServiceAccount).
  if (own.length > 0) checkPullSecrets(context, required, own, 'its template', checked);
  else {
    const secrets = account?.imagePullSecrets ?? [];
    checkPullSecrets(context, required, secrets, `ServiceAccount ${name}`, checked);
  }
}

function checkPullSecrets(
  context: AuditContext,
  required: RequiredDaemonSet,
  names: readonly string[],
  by: string,
  checked: Checked,
): void {
  const check = 'missing-pull-secret';
  const { secrets, source } = context.facts;
  const { key, object, template, subject } = required;
  const namespace = object.metadata.namespace ?? 'default';
  for (const name of names) {
    if (secrets.kind !== 'read') {
      const reason = `pull secret ${namespace}/${name} of ${key}: ${secrets.reason}`;
      checked.notChecked.push({ check, reason });
      continue;
    }
    if (find(secrets, namespace, name) !== undefined) continue;
    if (source === 'manifests') {
      const reason = `pull secret ${namespace}/${name} of ${key} is not among the manifests`;
      checked.notChecked.push({ check, reason });
      continue;
    }
    const fromTemplate = (template.imagePullSecrets ?? []).some((each) => each.name === name);
    checked.findings.push({
      check,
      severity: 'warning',
      subject,
      message: `${key} pulls its images with Secret ${name} (by ${by}), which does not exist`,
      why: 'The kubelet pulls without it. From a registry that asks for it, no new node gets the image; nodes that have the image hide it.',
      change: `kubectl -n ${quoted(namespace)} create secret docker-registry ${quoted(name)} --docker-server="$REGISTRY" --docker-username="$REGISTRY_USER" --docker-password="$REGISTRY_PASSWORD"${
        fromTemplate
          ? `\n# or, if the registry asks for none:\n${change(context, subject, 'DaemonSet', templatePatch({ imagePullSecrets: [{ name, $patch: 'delete' }] }))}`
          : ''
      }`,
    });
  }
}
