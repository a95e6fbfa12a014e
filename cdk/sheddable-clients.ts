/**
 * The SDK's clients in a form of which a bundle holds only the operations that are called.
 *
 * How it works: a client describes all its operations in one module, and writes the keys of those
 * descriptions as constants: `{ [_ht]: … }`. esbuild keeps whatever has a computed key, so a bundle
 * with one operation of EKS held the descriptions of all, 40 KiB; those of EC2 are 550. The copies
 * made here have the keys written out, and of package.json only what is used. Nothing else differs,
 * which test/cdk/sheddable-clients.test.ts checks.
 */
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';

const root = join(import.meta.dirname, '..');
const packages = join(root, 'node_modules');
const cache = join(packages, '.cache', 'nodegap');

/** Clients that functions use. */
export const clientNames = [
  'client-auto-scaling',
  'client-dynamodb',
  'client-eks',
  'client-eventbridge',
  'client-lambda',
  'client-s3',
  'client-sfn',
  'client-sns',
] as const;

/** Aliases for esbuild, from each client to its copy; missing copies are made first. */
export function sheddableClients(): Record<string, string> {
  return Object.fromEntries(
    clientNames.map((name) => [`@aws-sdk/${name}`, `./${relative(root, copyOf(name))}`]),
  );
}

interface Manifest {
  name: string;
  version: string;
}

/** The entry of the copy, which is named by the version that it was made of. */
function copyOf(client: string): string {
  const source = join(packages, '@aws-sdk', client);
  const { name, version } = JSON.parse(
    readFileSync(join(source, 'package.json'), 'utf8'),
  ) as Manifest;
  if (existsSync(join(source, 'node_modules'))) {
    // What the client finds there, its copy would not.
    throw new Error(`${name} has packages of its own; run npm dedupe`);
  }
  const copy = join(cache, `${client}-${version}`);
  if (!existsSync(copy)) makeCopy(source, copy, { name, version });
  return join(copy, 'dist-es', 'index.js');
}

/** Others may make the same copy at the same time: it appears at once and as a whole. */
function makeCopy(source: string, copy: string, manifest: Manifest): void {
  mkdirSync(cache, { recursive: true });
  const draft = mkdtempSync(join(cache, 'draft-'));
  cpSync(join(source, 'dist-es'), join(draft, 'dist-es'), { recursive: true });
  writeFileSync(
    join(draft, 'package.json'),
    JSON.stringify({ ...manifest, sideEffects: false, type: 'module' }),
  );
  const schemas = join(draft, 'dist-es', 'schemas');
  for (const file of readdirSync(schemas)) {
    const path = join(schemas, file);
    writeFileSync(path, withPlainKeys(readFileSync(path, 'utf8')));
  }
  try {
    renameSync(draft, copy);
  } catch (error) {
    rmSync(draft, { recursive: true });
    if (!existsSync(copy)) throw error;
  }
}

/** Writes out the keys that are constants of the module. */
export function withPlainKeys(module: string): string {
  const constants = new Map<string, string>();
  for (const [, name = '', value = ''] of module.matchAll(/^const (\w+) = ("[^"\\]*");$/gm)) {
    constants.set(name, value);
  }
  return module.replace(/\[(\w+)\]:/g, (key, name: string) => {
    const value = constants.get(name);
    return value === undefined ? key : `${value}:`;
  });
}
