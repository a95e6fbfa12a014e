/** What processes use, by Linux's own books. */
import { readFileSync } from 'node:fs';

export interface Usage {
  /** The largest resident memory since the process began, in bytes. */
  peakRss: number;
  /** User and system time since then, in ms. */
  cpuMs: number;
}

/** Of /proc: USER_HZ, which Linux fixes at 100 for programs. */
const tickMs = 10;

/** Reads it of a process that runs. */
export function usageOf(pid: number): Usage {
  return usageIn(read(pid, 'status'), read(pid, 'stat'));
}

/** The same of the texts of `/proc/PID/status` and `/proc/PID/stat`. */
export function usageIn(status: string, stat: string): Usage {
  const kibibytes = /^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1];
  // The second field is the program's name in parentheses, which may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    peakRss: Number(kibibytes ?? 0) * 1024,
    cpuMs: (Number(fields[11]) + Number(fields[12])) * tickMs,
  };
}

function read(pid: number, file: string): string {
  return readFileSync(`/proc/${pid}/${file}`, 'utf8');
}
