/** `npm run build:workflow`: synthesizes the state machine and writes what runners and CLI read. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { synthesizeWorkflow, workflowFile } from './workflow-definition.ts';

const file = join(import.meta.dirname, '..', workflowFile);
mkdirSync(dirname(file), { recursive: true });
// Others may read it at this very moment: they get the old text or the new one, never a part.
const unfinished = `${file}.${process.pid}.tmp`;
writeFileSync(unfinished, synthesizeWorkflow());
renameSync(unfinished, file);
