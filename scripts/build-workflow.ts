/** `npm run build:workflow`: synthesizes the state machine and writes what runners and CLI read. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { synthesizeWorkflow, workflowFile } from './workflow-definition.ts';

const file = join(import.meta.dirname, '..', workflowFile);
mkdirSync(dirname(file), { recursive: true });
writeFileSync(file, synthesizeWorkflow());
