/** What a person who asks for a node is told up front. Pure. */
import { faultWithCause } from '../gap/fault.ts';
import type { Judgement } from './judge.ts';

export type Forecast =
  | { kind: 'act'; message: string }
  /** The attempt is made all the same, since it reads everything anew, and will most likely do nothing. */
  | { kind: 'idle'; message: string }
  /** No attempt could do anything before a person changes something. */
  | { kind: 'refused'; message: string; hint: string };

/** What an attempt that began now would come to. */
export function forecastOf(judgement: Judgement, cluster: string): Forecast {
  switch (judgement.kind) {
    case 'act': {
      const { primary, reach } = judgement;
      const furthest = reach === 'replace' ? 'replaced' : 'isolated';
      const message = `${faultWithCause(primary)}: the node may be ${furthest}`;
      return { kind: 'act', message };
    }
    case 'healthy':
      return {
        kind: 'idle',
        message:
          'the node has no fault that nodegap acts on, so the attempt will most likely end as recovered and do nothing',
      };
    case 'gone':
      return { kind: 'refused', message: judgement.message, hint: 'kubectl get nodes' };
    case 'refuse':
      if (judgement.code === 'paused') {
        const hint = `nodegap resume --cluster ${cluster}, with the --pool that is paused`;
        return { kind: 'refused', message: judgement.message, hint };
      }
      return idle(judgement);
    case 'wait':
      return idle(judgement);
  }
}

function idle({ code, message }: { code: string; message: string }): Forecast {
  const unless = 'unless that passes, the attempt will end without doing anything to the node';
  return { kind: 'idle', message: `${code}: ${message}; ${unless}` };
}
