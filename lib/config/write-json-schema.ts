/** `npm run schema`: writes the editor schema of nodegap.yaml to docs/nodegap.schema.json. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { configJsonSchema } from './schema.ts';

const file = join(import.meta.dirname, '../../docs/nodegap.schema.json');
writeFileSync(file, `${JSON.stringify(configJsonSchema(), null, 2)}\n`);
