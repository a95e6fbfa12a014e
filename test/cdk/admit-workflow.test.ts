import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { longestFunctionTimeoutSeconds } from '../../lib/aws/function-timeouts.ts';
import {
  admitWorkflowFile,
  functionArn,
  synthesizeAdmitWorkflow,
  synthesizeWorkflow,
} from '../../scripts/workflow-definition.ts';

// The package has no types of its own.
const aslValidator = createRequire(import.meta.url)('asl-validator') as (definition: object) => {
  isValid: boolean;
  errorsText(): string;
};

const text = synthesizeAdmitWorkflow();
const { StartAt, States } = JSON.parse(text);

describe('the machine admit-nodes', () => {
  it('is shipped as the construct makes it (else: npm run build:workflow)', () => {
    const file = new URL(`../../${admitWorkflowFile}`, import.meta.url);
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('is valid Amazon States Language, JSONPath throughout', () => {
    const { isValid, errorsText } = aslValidator(JSON.parse(text));
    expect(isValid, errorsText()).toBe(true);
    expect(text).not.toMatch(/"(QueryLanguage|Assign|Arguments|Output)"/);
  });

  it('goes from pass to pass until one says otherwise', () => {
    expect(StartAt).toBe('AdmitPass');
    expect(States.AdmitPass).toMatchObject({
      Resource: functionArn('admit-nodes'),
      ResultPath: '$.pass',
      Next: 'AfterAdmitPass',
    });
    expect(States.AfterAdmitPass).toMatchObject({
      Choices: [{ Variable: '$.pass.next', StringEquals: 'again', Next: 'WaitForPass' }],
      Default: 'Done',
    });
    expect(States.WaitForPass).toMatchObject({
      SecondsPath: '$.pass.waitSeconds',
      Next: 'AdmitPass',
    });
    expect(Object.keys(States).sort()).toEqual(
      ['AdmitPass', 'AfterAdmitPass', 'Done', 'Failed', 'WaitForPass'].sort(),
    );
  });

  it('tries a pass again as the other machine tries its tasks, outlives its function and fails with the code', () => {
    const { States: others } = JSON.parse(synthesizeWorkflow());
    expect(States.AdmitPass.Retry).toEqual(others.ConfirmGap.Retry);
    expect(States.AdmitPass.TimeoutSeconds).toBeGreaterThan(longestFunctionTimeoutSeconds);
    expect(States.AdmitPass.Catch).toEqual([
      { ErrorEquals: ['States.ALL'], ResultPath: '$.failure', Next: 'Failed' },
    ]);
    expect(States.Failed).toMatchObject({ Type: 'Fail', ErrorPath: '$.failure.Error' });
  });
});
