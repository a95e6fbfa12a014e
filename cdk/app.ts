/**
 * The CDK app: one stack per AWS account and region in nodegap.yaml. Run by `npx cdk`; the file can
 * be named with `-c config=PATH`.
 */
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Annotations, App, Validations } from 'aws-cdk-lib';
import { AwsSolutionsChecks } from 'cdk-nag';
import { NodegapError, UsageError } from '../lib/errors.ts';
import { addStacks } from './stacks.ts';

const projectRoot = join(import.meta.dirname, '..');
const example = join(projectRoot, 'examples/nodegap.yaml');

try {
  const app = new App();
  Validations.of(app).addPlugins(new AwsSolutionsChecks(app));
  const file = configFile(app.node.tryGetContext('config'));
  const stacks = addStacks(app, {
    text: readFileSync(file, 'utf8'),
    fileName: basename(file),
    deployingAccount: process.env.CDK_DEFAULT_ACCOUNT,
  });
  if (file === example) stacks.forEach(warnOfExample);
} catch (error) {
  if (!(error instanceof NodegapError)) throw error;
  process.stderr.write(`${error.message}\n${error.hint === undefined ? '' : `${error.hint}\n`}`);
  process.exitCode = 1;
}

/** The named file, else nodegap.yaml of the project, else the example. */
function configFile(named: unknown): string {
  if (named === undefined) {
    const own = join(projectRoot, 'nodegap.yaml');
    return existsSync(own) ? own : example;
  }
  if (typeof named !== 'string' || !existsSync(named)) {
    throw new UsageError(`there is no configuration file ${String(named)}`, {
      hint: 'give its path with -c config=PATH',
    });
  }
  return named;
}

function warnOfExample(stack: Parameters<typeof Annotations.of>[0]): void {
  Annotations.of(stack).addWarningV2(
    'nodegap:example-configuration',
    'there is no nodegap.yaml, so this is examples/nodegap.yaml: copy it and name your clusters before you deploy',
  );
}
