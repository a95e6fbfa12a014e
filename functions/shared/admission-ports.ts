import { SFNClient } from '@aws-sdk/client-sfn';
import { StepFunctionsAdmissions } from '../../lib/aws/step-functions-admissions.ts';
import type { AdmissionWorkflow } from '../../lib/prevention/admit/workflow.ts';
import type { CorePorts } from './aws-ports.ts';

/** Starts `admit-nodes` in the set of a cluster's network. */
export function admissions({ environment, clusterOf }: CorePorts): AdmissionWorkflow {
  return new StepFunctionsAdmissions(new SFNClient({}), {
    networkOf: async (name) => (await clusterOf(name)).network,
    machines: environment.ADMIT_MACHINES ?? {},
  });
}
