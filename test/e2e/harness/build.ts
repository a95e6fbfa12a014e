import { spawn } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import {
  type Program,
  TOOLS,
  type Tool,
  type ToolName,
  toolCache,
  toolFolder,
  toolVersion,
  userProvided,
} from './tools.ts';

export interface BuildReport {
  tool: string;
  version: string;
  /** False when the cache had it. */
  built: boolean;
  seconds: number;
}

/**
 * Builds every tool, or `only` those, that the cache does not have at its present version. Needs Go only when
 * something is missing. Two runs at once are safe: the one that finishes second drops its copy.
 */
export async function buildTools(
  log: (line: string) => void,
  env: NodeJS.ProcessEnv = process.env,
  only?: readonly ToolName[],
): Promise<BuildReport[]> {
  const reports: BuildReport[] = [];
  const tools = TOOLS.filter(({ name }) => only === undefined || only.includes(name));
  // One after the other: a Go build already uses all cores, and memory.
  for (const tool of tools) reports.push(await buildTool(tool, log, env));
  return reports;
}

async function buildTool(
  tool: Tool,
  log: (line: string) => void,
  env: NodeJS.ProcessEnv,
): Promise<BuildReport> {
  const version = toolVersion(tool, env);
  const target = toolCache(tool, env);
  // Asked even when all is built: what the user named and cannot be run is said before anything starts.
  const provided = isUserProvided(tool, env);
  if (existsSync(target) || provided) {
    return { tool: tool.name, version, built: false, seconds: 0 };
  }
  log(`building ${tool.name} ${version} (once, then cached in ${target})`);
  const started = Date.now();
  mkdirSync(dirname(target), { recursive: true });
  const staging = mkdtempSync(join(dirname(target), `.${tool.name}-`));
  try {
    await compile(tool, version, staging, env);
    await copyAssets(tool, join(staging, 'assets'), env);
    publish(staging, target);
  } finally {
    // Go makes what it downloads read-only, but not what it builds: plain removal is enough.
    rmSync(staging, { recursive: true, force: true });
  }
  const seconds = Math.round((Date.now() - started) / 1000);
  log(`built ${tool.name} ${version} in ${seconds} s`);
  return { tool: tool.name, version, built: true, seconds };
}

async function compile(
  tool: Tool,
  version: string,
  into: string,
  env: NodeJS.ProcessEnv,
): Promise<void> {
  const folder = toolFolder(tool.name, env);
  if (tool.name === 'kubernetes') checkStagingVersions(version, folder);
  const stamps = Object.entries(tool.stamp(version)).map(([name, value]) => `-X ${name}=${value}`);
  for (const [program, mainPackage] of Object.entries(tool.programs)) {
    await run(
      'go',
      [
        'build',
        '-trimpath',
        '-buildvcs=false',
        `-tags=${(tool.tags ?? []).join(',')}`,
        `-ldflags=${['-s', '-w', ...stamps].join(' ')}`,
        '-o',
        join(into, program),
        mainPackage,
      ],
      folder,
    );
  }
}

/**
 * Kubernetes replaces its staging modules by folders of its own repository, which a module cannot
 * bring along; our go.mod names the published copies instead, and they must be of the same release.
 */
function checkStagingVersions(version: string, folder: string): void {
  const goMod = readFileSync(join(folder, 'go.mod'), 'utf8');
  const expected = version.replace(/^v1\./, 'v0.');
  const wrong = goMod
    .split('\n')
    .filter((line) => line.includes(' => ') && !line.endsWith(` ${expected}`));
  if (wrong.length > 0) {
    throw new Error(
      `${basename(folder)}/go.mod must replace with ${expected}:\n${wrong.join('\n')}`,
    );
  }
}

async function copyAssets(tool: Tool, into: string, env: NodeJS.ProcessEnv): Promise<void> {
  if (tool.assets.length === 0) return;
  const folder = await run(
    'go',
    ['list', '-m', '-f', '{{.Dir}}', tool.module],
    toolFolder(tool.name, env),
  );
  mkdirSync(into);
  for (const asset of tool.assets) {
    const copy = join(into, basename(asset));
    copyFileSync(join(folder.trim(), asset), copy);
    // The module cache is read-only; the copy must be removable.
    chmodSync(copy, 0o644);
  }
}

/** Makes a whole build visible in one step, unless another run was faster. */
function publish(staging: string, target: string): void {
  try {
    renameSync(staging, target);
  } catch (error) {
    if (!existsSync(target)) throw error;
  }
}

/** Whether the user brings every program of the tool. */
function isUserProvided(tool: Tool, env: NodeJS.ProcessEnv): boolean {
  const programs = Object.keys(tool.programs) as Program[];
  return programs.map((program) => userProvided(program, env)).every((path) => path !== undefined);
}

function run(command: string, args: string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      env: { ...process.env, CGO_ENABLED: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    child.on('error', (error) => {
      reject(new Error(`cannot run ${command}; is Go installed and on PATH?`, { cause: error }));
    });
    child.on('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${command} ${args.join(' ')} ended with ${code}`));
    });
  });
}

if (import.meta.main) {
  try {
    const reports = await buildTools((line) => console.error(line));
    for (const { tool, version, built, seconds } of reports) {
      console.log(`${tool} ${version} ${built ? `built in ${seconds} s` : 'ready'}`);
    }
  } catch (error) {
    console.error(`error: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  }
}
