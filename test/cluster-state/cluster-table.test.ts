import { describeStateTable } from '../local/table-contract.ts';
import { emptyCluster, openState } from './support.ts';

describeStateTable('ClusterTable', async () => (await openState(emptyCluster().transport())).table);
