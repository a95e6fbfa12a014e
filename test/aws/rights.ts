/** Whether a suite has made functions use every right of their roles, and no other. */
import { synthesize } from '../cdk/synthesis.ts';
import { exceptions } from '../permissions/exceptions.ts';
import { refusedCalls, rightsOf, unusedRights } from '../permissions/proof.ts';
import { functionPolicies } from '../permissions/role-policies.ts';
import { type Account, account, region } from './account.ts';
import { cluster } from './installation.ts';

/** One line for each call that the role of its function refuses, and each right that none used. */
export function rightsProblems(aws: Account, prefix: string, files: readonly string[]): string[] {
  const template = synthesize(
    `clusters:\n  - { name: ${cluster}, region: ${region}, mode: act }\n`,
    account,
  )[`nodegap-${account}-${region}`];
  if (template === undefined) throw new Error('the stack is missing');
  const policies = functionPolicies(template, { account, region, prefix });
  const ofFiles = [...policies].filter(([name]) => files.some((file) => name.endsWith(`-${file}`)));
  const names = ofFiles.map(([name]) => name);
  const called = {
    id: account,
    machineOf: (token: string) => aws.recorder.machineOf(token),
    groupOf: () => ({ name: 'general', tags: { 'eks:cluster-name': cluster } }),
  };
  const calls = aws.recorder.calls.filter(({ caller }) => names.includes(caller));
  const excused = exceptions.filter(({ functions }) => names.some((name) => functions.test(name)));
  return [
    ...refusedCalls(calls, { of: (name) => policies.get(name) }, called),
    ...unusedRights(
      ofFiles.flatMap(([name, statements]) => rightsOf(name, statements)),
      calls,
      excused,
      called,
    ),
  ];
}
