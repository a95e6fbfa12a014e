/** What starts executions of `admit-nodes`. */

/** The whole input of an execution: everything else is read. */
export interface AdmissionInput {
  cluster: string;
  /** Of the execution: the cluster's next one has the next number. */
  number: number;
}

/** Step Functions, or the local runner. */
export interface AdmissionWorkflow {
  /** Starts under a fixed name. An execution of that name that exists already is no error. */
  start(cluster: string, name: string, input: AdmissionInput): Promise<'started' | 'exists'>;
}
