import type { App } from 'aws-cdk-lib';
import { loadConfig } from '../lib/config/load.ts';
import { installations } from './installations.ts';
import { NodegapStack } from './nodegap-stack.ts';

export interface StacksProps {
  /** The text of nodegap.yaml. */
  text: string;
  /** How errors and the published document name it. */
  fileName: string;
  /** The account that is deployed to, when it is known. */
  deployingAccount?: string | undefined;
}

/** Adds one stack per account and region of the configuration. Throws UsageError when it is bad. */
export function addStacks(app: App, props: StacksProps): NodegapStack[] {
  const { text, fileName, deployingAccount } = props;
  const { config, sha256 } = loadConfig(text, fileName);
  return installations(config, deployingAccount).map((installation) => {
    const { account, region } = installation;
    const id = ['nodegap', account, region].filter((part) => part !== undefined).join('-');
    return new NodegapStack(app, id, {
      // One per account and region, so the same name everywhere: all names in AWS begin with it.
      stackName: 'nodegap',
      env: { ...(account === undefined ? {} : { account }), region },
      installation,
      timings: config.timings,
      evidence: config.evidence,
      approvalLink: config.approvals.link,
      document: { text, fileName, sha256 },
    });
  });
}
