import { type ControlPlane, startControlPlane } from '../harness/control-plane.ts';
import { prepare } from './rbac.ts';

/** A flag of kube-controller-manager: no node is NotReady because its lease is late for once. */
export const patientNodes = '--node-monitor-grace-period=180s';

export interface SceneClusterOptions {
  patient?: boolean;
  /** Options of `nodegap rbac`. */
  rbac?: string[];
}

/** A cluster with Karpenter and the rights of the product, for the scenes of one file. */
export async function startForScenes(options: SceneClusterOptions = {}): Promise<ControlPlane> {
  const flags = { 'kube-controller-manager': [patientNodes] };
  const cluster = await startControlPlane({
    karpenter: true,
    ...(options.patient === true ? { flags } : {}),
  });
  try {
    await prepare(cluster, options.rbac);
  } catch (error) {
    await cluster.stop();
    throw error;
  }
  return cluster;
}
