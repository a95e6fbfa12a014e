/**
 * A MicroTime of Kubernetes: six digits after the second, or the API server refuses it.
 * `micros` are those beyond the millisecond.
 */
export function microTime(epochMs: number, micros = 0): string {
  const digits = String(micros).padStart(3, '0');
  return new Date(epochMs).toISOString().replace('Z', `${digits}Z`);
}
