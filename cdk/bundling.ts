/**
 * How the code of every function is bundled, once for the deployment and once, with the same
 * options in esbuild's own words, for what tests and measures the bundles.
 *
 * Gotchas
 * - CommonJS, not ES modules: importing a built-in module as an ES module reads all of its exports,
 *   and one of those of `node:http` is the WebSocket of Node's own undici, which is loaded for it.
 *   `require` reads only what is asked for, which saves a quarter of a start (bench/import.ts).
 * - esbuild sheds nothing of what is imported dynamically, nor of what that imports.
 */
import { type BundlingOptions, LogLevel, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import type { BuildOptions } from 'esbuild';
import { sheddableClients } from './sheddable-clients.ts';

const mainFields = ['module', 'main'];

/** Packages that others stand in for, paths from the root of the project. */
const alias = {
  ...sheddableClients(),
  '@aws-sdk/credential-provider-node': './functions/shared/lambda-credentials.ts',
  '@aws-sdk/endpoint-cache': './functions/shared/no-endpoint-discovery.ts',
  '@smithy/core/event-streams': './functions/shared/no-event-streams.ts',
};

/** For the CDK. No source map: reading one costs a start more than a shorter stack trace does. */
export const bundling: BundlingOptions = {
  format: OutputFormat.CJS,
  mainFields,
  minify: true,
  sourceMap: false,
  // The clients are those that were tested, not those that the runtime happens to have.
  bundleAwsSDK: true,
  esbuildArgs: { '--alias': Object.entries(alias).map(([name, file]) => `${name}=${file}`) },
  // The sizes of all bundles are no news, and esbuild marks them with a warning sign.
  logLevel: LogLevel.WARNING,
};

/** The same for esbuild itself, but where to write. `absWorkingDir` is the root of the project. */
export const esbuildOptions = {
  bundle: true,
  platform: 'node',
  target: 'node24',
  format: 'cjs',
  mainFields,
  minify: true,
  alias,
} satisfies BuildOptions;
