/** A cluster whose every name and message tries to become something else in a page. */
import type { ClusterFacts } from '../../lib/gap/model.ts';
import * as build from '../gap/build.ts';
import { factsOf } from './html-fleet.ts';

export const hostileTexts = [
  `</script><script>window.hacked = 1</script>`,
  `<!--<script>window.hacked = 2`,
  `"><img src=x onerror="window.hacked = 3">`,
  `'; window.hacked = 4; //\u2028window.hacked = 5`,
  `]]></style><svg/onload=window.hacked=6>`,
  `javascript:window.hacked=7`,
  `&lt;b&gt; &amp; \\u003c \\" %3Cscript%3E`,
  `\u202egnp.exe \u0000 \u001b[31m \ufeff`,
  `\ue000\ue001\ue002 \${window.hacked = 8} {{window.hacked}}`,
  `$& $1 $\` __proto__ constructor`,
];

/** A node for each text, that bears it wherever something may stand. */
export function hostileFacts(): ClusterFacts {
  const daemonSets = hostileTexts.map((text, index) =>
    build.daemonSet(`ds-${index}`, {
      metadata: { name: `ds-${index} ${text}`, namespace: text },
      template: {
        tolerations: [{ operator: 'Exists' }],
        nodeSelector: index % 2 === 0 ? {} : { [text]: text },
      },
    }),
  );
  const nodes = hostileTexts.map((text, index) =>
    build.node(`n${index} ${text}`, {
      labels: { 'karpenter.sh/nodepool': text, 'topology.kubernetes.io/zone': text, [text]: text },
    }),
  );
  const pods = nodes.flatMap(({ metadata: { name } }, index) => {
    const text = hostileTexts[index] ?? '';
    const state = { waiting: { reason: 'ImagePullBackOff', message: text } };
    return build.pod(name, {
      owner: `ds-0`,
      age: build.hour,
      metadata: { name: `pod-${index} ${text}` },
      status: build.unreadyStatus(build.hour, [build.container(state, { image: text })]),
    });
  });
  return factsOf({
    cluster: hostileTexts.join(' '),
    nodes,
    daemonSets,
    pods,
    events: { ok: false, reason: hostileTexts.join(' ') },
  });
}
