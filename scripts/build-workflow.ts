/** `npm run build:workflow`: synthesizes the state machines and writes what runners and CLI read. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  admitWorkflowFile,
  synthesizeAdmitWorkflow,
  synthesizeWorkflow,
  workflowFile,
} from './workflow-definition.ts';

for (const [name, text] of [
  [workflowFile, synthesizeWorkflow()],
  [admitWorkflowFile, synthesizeAdmitWorkflow()],
] as const) {
  const file = join(import.meta.dirname, '..', name);
  mkdirSync(dirname(file), { recursive: true });
  // Others may read it at this very moment: they get the old text or the new one, never a part.
  const unfinished = `${file}.${process.pid}.tmp`;
  writeFileSync(unfinished, text);
  renameSync(unfinished, file);
}
