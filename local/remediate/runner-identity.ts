/**
 * Who runs an execution of `nodegap remediate`: it stands in the name of the execution, and so in
 * the mark on the node and in the slot, for everybody to see.
 */
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { hostname, userInfo } from 'node:os';

export interface Runner {
  user: string;
  host: string;
  pid: number;
  /** Tells computers and containers apart that call themselves the same. */
  machine: string;
  /** Tells processes apart that had the same number one after the other. */
  run: string;
}

const scheme = 'nodegap-cli';
const run = randomBytes(4).toString('hex');

/** This process. */
export function thisRunner(): Runner {
  return { user: userName(), host: hostname(), pid: process.pid, machine: machineId(), run };
}

/** `anna@laptop/4711/1f0c2a9e.77aa`, unlike that of any other process. */
export function identityOf({ user, host, pid, machine, run }: Runner): string {
  return `${plain(user)}@${plain(host)}/${pid}/${machine}.${run}`;
}

/** An execution by that name, run by that process. */
export function executionOf(runner: Runner, name: string): string {
  return `${scheme}:${identityOf(runner)}:${name}`;
}

/** Who runs an execution, or undefined when it is no execution of the command line. */
export function runnerOf(execution: string): Runner | undefined {
  const [prefix, identity = '', ...name] = execution.split(':');
  return prefix === scheme && name.length > 0 ? runnerFrom(identity) : undefined;
}

/** Who an identity is of, as `identityOf` writes it. */
export function runnerFrom(identity: string): Runner | undefined {
  const match =
    /^(?<user>[^@/:]*)@(?<host>[^@/:]*)\/(?<pid>\d+)\/(?<machine>\w+)\.(?<run>\w+)$/.exec(identity);
  if (match?.groups === undefined) return undefined;
  const { user = '', host = '', pid = '', machine = '', run = '' } = match.groups;
  return { user, host, pid: Number(pid), machine, run };
}

/** `anna on laptop, process 4711`. */
export function runnerText({ user, host, pid }: Runner): string {
  return `${user} on ${host}, process ${pid}`;
}

/**
 * Whether the process is known to have ended: only of the computer that asks, and only `true` is
 * sure, since the number may be another process's by now.
 */
export function hasEnded(runner: Runner, own: Runner = thisRunner()): boolean {
  if (runner.machine !== own.machine || runner.host !== plain(own.host)) return false;
  try {
    process.kill(runner.pid, 0);
    return false;
  } catch (error) {
    // EPERM: it lives, and is another user's.
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a number that no user has.
    return `uid-${process.getuid?.() ?? 'unknown'}`;
  }
}

/** What separates the parts of an execution's name cannot stand in them. */
function plain(word: string): string {
  return word.replace(/[^\w.-]/g, '-') || 'unknown';
}

function machineId(): string {
  const parts = [
    hostname(),
    firstOf(() => readFileSync('/proc/sys/kernel/random/boot_id', 'utf8')),
    firstOf(() => readlinkSync('/proc/self/ns/pid')),
  ];
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 8);
}

/** Linux alone tells them; elsewhere the name of the host must do. */
function firstOf(read: () => string): string {
  try {
    return read().trim();
  } catch {
    return '';
  }
}
