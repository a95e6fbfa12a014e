/**
 * Events on nodes, over the transport alone: functions that change nothing else need no client-node.
 *
 * How it works: the name of an Event is made of what it says, so that saying it again meets it. It is
 * then counted up, with the message and time of now, as kubelet and scheduler do with theirs.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { isKubernetesError } from '../errors.ts';
import type { ClusterWriter, NodeEvent } from '../ports.ts';
import { cutTo, printableLines } from '../printable.ts';
import { errorFromAnswer } from './errors.ts';
import { createReader } from './reader.ts';
import type { Method, Transport } from './transport.ts';

const component = 'nodegap';
/** Events about nodes, which have no namespace, are kept in this one. */
const namespace = 'default';
const path = `/api/v1/namespaces/${namespace}/events`;
/** k8s.io/kubernetes pkg/apis/core/validation/events.go */
const maxMessage = 1024;
const maxObjectName = 253;

export type NodeEventWriter = Pick<ClusterWriter, 'createNodeEvent'>;

/** `clock` dates the Events. What the API server refuses is thrown as KubernetesError. */
export function createNodeEventWriter(transport: Transport, clock: Clock): NodeEventWriter {
  const reader = createReader(transport);

  async function send(method: Method, path: string, type: string, body: object): Promise<void> {
    const line = { method, path };
    const answer = await transport.request({
      ...line,
      headers: { 'content-type': type },
      body: JSON.stringify(body),
    });
    if (answer.status < 200 || answer.status > 299) throw errorFromAnswer(line, answer);
  }

  async function createNodeEvent(event: NodeEvent): Promise<void> {
    const name = eventName(event);
    const now = new Date(clock.now()).toISOString();
    const message = cutTo(printableLines(event.message), maxMessage);
    try {
      await send('POST', path, 'application/json', {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name, namespace },
        involvedObject: { apiVersion: 'v1', kind: 'Node', name: event.node, uid: event.nodeUid },
        type: event.type,
        reason: event.reason,
        message,
        source: { component },
        reportingComponent: component,
        reportingInstance: component,
        firstTimestamp: now,
        lastTimestamp: now,
        count: 1,
      });
    } catch (error) {
      if (!isKubernetesError(error, 'conflict')) throw error;
      const events = await reader.listEventsOf(event.nodeUid);
      const before = events.find(({ metadata }) => metadata.name === name);
      const count = (before?.count ?? 1) + 1;
      const patch = { message, lastTimestamp: now, count };
      await send('PATCH', `${path}/${name}`, 'application/merge-patch+json', patch);
    }
  }

  return { createNodeEvent };
}

/** The same for what belongs together: the events of one series, or the same message. */
function eventName({ node, nodeUid, type, reason, message, series }: NodeEvent): string {
  const said = series === undefined ? [message] : ['series', series];
  const hash = createHash('sha256')
    .update(JSON.stringify([nodeUid, type, reason, ...said]))
    .digest('hex')
    .slice(0, 16);
  const room = maxObjectName - hash.length - 1;
  return `${node.slice(0, room).replace(/[.-]+$/, '')}.${hash}`;
}
