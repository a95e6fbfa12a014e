import { CfnAccessEntry } from 'aws-cdk-lib/aws-eks';
import type { Role } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import type { ClusterConfig } from '../../lib/config/model.ts';
import { type ClusterRole, rbacGroups } from '../functions.ts';

export interface AccessEntriesProps {
  cluster: ClusterConfig;
  /** The roles that call the cluster, by the name of their function. */
  roles: Map<string, { role: Role; as: ClusterRole }>;
}

/**
 * Lets the functions of a set into one cluster, as members of the groups that the manifest of
 * `nodegap rbac` binds. No access policy of EKS is attached: none is narrow enough.
 */
export class AccessEntries extends Construct {
  constructor(scope: Construct, id: string, { cluster, roles }: AccessEntriesProps) {
    super(scope, id);
    for (const [name, { role, as }] of roles) {
      new CfnAccessEntry(this, name, {
        clusterName: cluster.name,
        principalArn: role.roleArn,
        kubernetesGroups: [rbacGroups[as]],
        type: 'STANDARD',
      });
    }
  }
}
