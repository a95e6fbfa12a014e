/**
 * Port of what AWS itself is doing to a cluster and its zones. Part of ports.ts. Adapter:
 * lib/aws/aws-work.ts. Where nothing can ask AWS (the CLI, a dump, the demo) there is no such port,
 * and nothing is held for what is not asked.
 */

/**
 * Traffic that is moved away from a zone at this moment. ARC's practice runs are such shifts too:
 * the capacity of the zone is as good as gone while they last.
 */
export interface ZonalShift {
  kind: 'zonal-shift' | 'practice-run' | 'autoshift';
  /** The zone's id, for example `euw1-az1`. */
  awayFrom: string;
  /** ARN of the resource that is shifted; an autoshift is of the whole region. */
  resource?: string;
  /** Epoch ms. */
  until?: number;
}

/** Every call asks anew: the answers decide whether a node is acted on. */
export interface AwsWork {
  /** The active shifts of the cluster's account and region. @throws NodegapError. */
  zonalShifts(cluster: string): Promise<ZonalShift[]>;
  /** ARN and status (`ACTIVE`, `UPDATING`, …) of the EKS cluster. @throws NodegapError. */
  clusterStatus(cluster: string): Promise<{ arn: string; status: string }>;
  /** Status of a managed node group; undefined when EKS has none of that name. @throws NodegapError. */
  nodeGroupStatus(cluster: string, nodeGroup: string): Promise<string | undefined>;
}
