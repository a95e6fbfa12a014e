/** A patch of one object: strategic merge, or merge for a NodePool. */
export interface ObjectPatch {
  kind: 'DaemonSet' | 'Deployment' | 'NodePool';
  apiVersion: string;
  namespace?: string;
  name: string;
  spec: Record<string, unknown>;
  /** What it does and why, a line each. */
  comments: string[];
}
