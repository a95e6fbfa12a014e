/** Detail types of nodegap's own events. Apart from the router's schemas, which a scan need not load. */
export const gapFound = 'Node Gap Found';
export const nodeRequested = 'Node Requested';
export const admissionWanted = 'Admission Wanted';
export const conditionTaintsDue = 'Condition Taints Due';
