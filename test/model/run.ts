/** Carries a schedule out, and looks at the end whether anything is left. */
import type { Node, Taint } from '../../lib/kubernetes/objects.ts';
import { Holds } from '../../lib/safety/holds.ts';
import { Installation, Violation } from './installation.ts';
import { nothingIsLeft } from './invariants.ts';
import type { Pick, Schedule, Step } from './schedule.ts';
import { cluster, configOf, daemonSets } from './setup.ts';

const minute = 60_000;

/** Carries it out. Throws a Violation with the history for the first finding. */
export async function runSchedule(schedule: Schedule): Promise<Installation> {
  const model = new Installation(schedule.setup);
  const play = new Play(model);
  try {
    for (const step of schedule.steps) await play.step(step);
    await play.end(schedule.holdsStay);
  } catch (error) {
    const history = model.log.slice(-80).join('\n');
    if (!(error instanceof Violation)) {
      throw new Error(`${(error as Error).stack}\n${history}`);
    }
    throw new Violation(`${error.message}\n${history}`);
  }
  return model;
}

class Play {
  readonly #model: Installation;
  readonly #holds: Holds;
  /** Faults of DaemonSets, zones, pools and images, to be taken back. */
  readonly #wide: { target: Parameters<Installation['cluster']['setFault']>[0] }[] = [];
  #rot: { daemonSet: string; kind: 'crash-loop' | 'image-pull' | 'never-ready' } | undefined;
  readonly #spoilt: { node: string; daemonSet: string }[] = [];
  #images = 0;

  constructor(model: Installation) {
    this.#model = model;
    this.#holds = new Holds(model.table, model.clock);
    model.cluster.onChange((happening) => {
      // Before it starts: whatever brought the pod, it reads what has gone bad.
      if (happening.kind !== 'pod-bound') return;
      if (happening.daemonSet === this.#rot?.daemonSet) this.#spoil(happening.node);
    });
  }

  async step(step: Step): Promise<void> {
    const model = this.#model;
    model.cluster.advanceTo(model.clock.now());
    const isQuiet = step.do === 'wait' || step.do === 'trouble';
    if (!isQuiet) model.say(`* ${JSON.stringify(step)}`);
    switch (step.do) {
      case 'wait':
        return this.#wait(step.minutes, step.scans);
      case 'jump':
        model.isDisturbed = true;
        model.clock.jump(step.seconds * 1000);
        return model.pass(1000);
      case 'trouble':
        model.troubles.arm(step.trouble);
        model.say(`* ${JSON.stringify(step.trouble)}`);
        return;
      case 'outage':
        model.isDisturbed = true;
        model.troubles.outage = step.status;
        await this.#wait(step.minutes, 'each');
        model.troubles.outage = undefined;
        return;
      case 'die':
        model.isDisturbed = true;
        model.diesAt = step.at;
        return;
      case 'twice':
        model.twice = { times: step.times, together: step.together };
        return;
      case 'stop':
        model.stopAt = step.at;
        model.janitor = step.janitor;
        return;
      case 'when':
        model.when = { at: step.at, run: (node) => this.#meet(node, step.act) };
        return;
      case 'redrive':
        return this.#redrive(step.which, step.from);
      case 'straggle': {
        const old = at(model.recorded, step.which);
        if (old !== undefined) model.callAgain(old);
        return;
      }
      case 'answer': {
        const asked = (await model.questions()).at(-1);
        if (asked !== undefined) await model.decide(asked.id, asked.execution, step.decision);
        return;
      }
      case 'hold':
        return this.#hold(step.what);
      case 'mode':
        model.config = configOf(model.setup, step.mode);
        if (step.mode === 'act') model.watch.held.delete('observe');
        else this.#holdsSince('observe');
        return;
      case 'mend':
        return this.#mend();
      case 'capacity':
        model.cluster.operations.setCapacity('general', step.isThere);
        return;
      default:
        this.#inCluster(step);
    }
  }

  /** Stops all that goes wrong, lets enough scans pass, and looks at what is left. */
  async end(holdsStay: boolean): Promise<void> {
    const model = this.#model;
    model.say('* faults and errors stop');
    model.troubles.clear();
    model.stopAt = undefined;
    model.when = undefined;
    model.diesAt = 0;
    model.twice = { times: 0, together: false };
    model.cluster.advanceTo(model.clock.now());
    this.#mend();
    for (const [index, { name }] of model.truth.present.entries()) {
      this.#heal(name);
      this.#endDisruption(name, index % 2 === 0);
    }
    model.cluster.operations.setCapacity('general', true);
    model.config = configOf(model.setup, 'act');
    model.watch.held.delete('observe');
    if (!holdsStay) {
      await this.#hold('resume');
      await this.#hold('reset');
    }
    const end = model.clock.now() + 6 * 60 * minute;
    await this.#wait(12, 'each');
    let left = nothingIsLeft(await model.leftovers());
    while (left.length > 0 && model.clock.now() < end) {
      // Attempts are an hour apart at most, and minutes of waiting for one are all alike.
      this.#freeBudgets();
      model.scan();
      await model.pass(5 * minute);
      left = nothingIsLeft(await model.leftovers());
    }
    if (left.length > 0) throw new Violation(`nothingIsLeft: ${left.join('; ')}`);
  }

  /** A person takes away the pods whose budget holds up the end of a node. */
  #freeBudgets(): void {
    const { truth, cluster: simulated } = this.#model;
    for (const { name, leavingSince } of truth.present) {
      const taints = simulated.get('nodes', name)?.spec.taints ?? [];
      const isTainted = taints.some(({ key }) => key === 'nodegap.dev/daemonset-gap');
      if (leavingSince === undefined && !isTainted) continue;
      for (const { metadata } of simulated.podsOn(name)) {
        if (!metadata.name.startsWith('db-')) continue;
        simulated.operations.deletePod(`${metadata.namespace}/${metadata.name}`);
      }
    }
  }

  /** Karpenter goes on with what it has announced, or thinks better of it. */
  #endDisruption(name: string, goesOn: boolean): void {
    const { operations } = this.#model.cluster;
    const node = this.#model.cluster.get('nodes', name);
    const isAnnounced =
      node?.metadata.deletionTimestamp === undefined && node?.spec.taints?.some(isDisruption);
    if (isAnnounced !== true) return;
    if (goesOn) operations.deleteNodeClaimOf(name);
    else operations.editNode(name, (edited) => setDisrupted(edited, false));
  }

  async #wait(minutes: number, scans: 'each' | 'none' | 'double'): Promise<void> {
    const model = this.#model;
    for (let passed = 0; passed < minutes; passed += 1) {
      if (scans !== 'none') model.scan();
      if (scans === 'double') model.scan();
      await model.pass(minute);
    }
  }

  #redrive(which: number, from: 'end' | number): void {
    const model = this.#model;
    const ended = model.machine.executions.filter(
      ({ status }) => status.kind === 'ended' && (from !== 'end' || status.status !== 'SUCCEEDED'),
    );
    const execution = at(ended, which);
    if (execution === undefined) return;
    model.isDisturbed = true;
    model.say(`redriven: ${execution.arn}`);
    if (from === 'end') {
      model.machine.redrive(execution);
      return;
    }
    const entered = model.recorded.filter((one) => one.execution === execution);
    const back = at(entered, from);
    if (back === undefined) return;
    const state = Object.entries(stateOf).find(([, name]) => name === back.name)?.[0];
    if (state === undefined) return;
    model.machine.redrive(execution, { state, data: back.event.state as Record<string, unknown> });
  }

  async #hold(what: 'pause' | 'resume' | 'trip' | 'reset'): Promise<void> {
    const scope = { kind: 'cluster' as const, name: 'cluster' };
    if (what === 'pause') {
      this.#holdsSince('paused');
      await this.#holds.pause({ cluster, reason: 'work', by: 'ann' });
    } else if (what === 'trip') {
      this.#holdsSince('tripped');
      await this.#holds.trip({ cluster, scope, reason: 'work', by: 'ann' });
    } else if (what === 'resume') {
      await this.#holds.resume({ cluster });
      this.#model.watch.held.delete('paused');
    } else {
      await this.#holds.reset({ cluster, scope });
      this.#model.watch.held.delete('tripped');
    }
  }

  #holdsSince(what: 'paused' | 'tripped' | 'observe'): void {
    const { held } = this.#model.watch;
    if (!held.has(what)) held.set(what, this.#model.truth.now);
  }

  #inCluster(
    step: Extract<
      Step,
      {
        do:
          | 'fault'
          | 'others-fault'
          | 'heal'
          | 'wide'
          | 'rollout'
          | 'rot'
          | 'human'
          | 'karpenter'
          | 'kubelet';
      }
    >,
  ): void {
    const model = this.#model;
    const daemonSet = daemonSets['daemonSet' in step ? step.daemonSet : 0] ?? daemonSets[0];
    if (step.do === 'wide') {
      const targets = {
        daemonset: { daemonSet },
        zone: { zone: 'eu-west-1a', daemonSet },
        pool: { pool: 'general', daemonSet },
      };
      const target = targets[step.scope];
      this.#wide.push({ target });
      model.truth.widespread.add(daemonSet);
      model.cluster.setFault(target, { kind: step.kind });
      return;
    }
    if (step.do === 'rollout') {
      this.#images += 1;
      const image = `registry.example.com/new:v${this.#images}`;
      if (!step.isGood) {
        this.#wide.push({ target: { image } });
        model.cluster.setImageFault(image, { kind: 'image-pull' });
      }
      model.cluster.operations.setDaemonSetImage(daemonSet, image);
      return;
    }
    if (step.do === 'rot') {
      this.#rot = { daemonSet, kind: step.kind };
      return;
    }
    const node = this.#pick(step.node);
    if (node === undefined) return;
    model.say(`  … ${node}`);
    const { operations } = model.cluster;
    switch (step.do) {
      case 'fault':
      case 'others-fault': {
        const healsAfter = step.do === 'fault' ? step.healsAfter : 0;
        const healsAt = healsAfter > 0 ? model.clock.now() + healsAfter * minute : undefined;
        const cured = step.do === 'fault' && step.curedByRestart;
        if (step.do === 'fault') model.truth.inject(node, daemonSet, healsAt);
        else model.truth.takeBack(node, daemonSet);
        model.cluster.setFault(
          { node, daemonSet },
          {
            kind: step.kind,
            ...(healsAt === undefined ? {} : { healsAt }),
            ...(cured ? { curedByRestart: true } : {}),
          },
        );
        return;
      }
      case 'heal':
        this.#heal(node);
        return;
      case 'karpenter':
        this.#karpenter(step.act, node);
        return;
      case 'kubelet':
        if (step.act === 'stop') operations.stopKubelet(node);
        else operations.startKubelet(node);
        return;
      case 'human':
        this.#human(step.act, node, daemonSet);
        model.truth.refresh(node);
    }
  }

  #meet(node: string, act: Extract<Step, { do: 'when' }>['act']): void {
    const model = this.#model;
    if (model.truth.named(node) === undefined) return;
    model.say(`* ${act} ${node}`);
    model.truth.isBefore = true;
    try {
      this.#meetBefore(node, act);
    } finally {
      model.truth.isBefore = false;
    }
  }

  #meetBefore(node: string, act: Extract<Step, { do: 'when' }>['act']): void {
    const model = this.#model;
    switch (act) {
      case 'heal':
        this.#heal(node);
        return;
      case 'pause':
      case 'trip':
        void this.#hold(act);
        return;
      case 'others-fail':
        for (const { name } of model.truth.present) {
          if (name === node || model.truth.hasFault(name, daemonSets[1])) continue;
          model.truth.inject(name, daemonSets[1]);
          model.cluster.setFault({ node: name, daemonSet: daemonSets[1] }, { kind: 'sandbox' });
        }
        return;
      case 'delete-claim':
      case 'disrupt':
      case 'register-again':
        this.#karpenter(act, node);
        return;
      default:
        this.#human(act, node, daemonSets[0]);
        model.truth.refresh(node);
    }
  }

  #karpenter(act: Extract<Step, { do: 'karpenter' }>['act'], node: string): void {
    const { operations } = this.#model.cluster;
    if (act === 'delete-claim') operations.deleteNodeClaimOf(node);
    else if (act === 'register-again') operations.registerAgain(node);
    else operations.editNode(node, (edited) => setDisrupted(edited, true));
  }

  #human(act: Extract<Step, { do: 'human' }>['act'], node: string, daemonSet: string): void {
    const { cluster: simulated, truth } = this.#model;
    const { operations } = simulated;
    const known = truth.named(node);
    const object = simulated.get('nodes', node);
    if (known === undefined || object === undefined) return;
    const isMarked = object.metadata.annotations?.['nodegap.dev/isolation'] !== undefined;
    const undone = () => {
      if (isMarked && truth.unready(known.uid).length > 0) known.undoneAt ??= truth.now;
    };
    switch (act) {
      case 'cordon':
      case 'drain': {
        if (object.spec.unschedulable !== true) {
          operations.editNode(node, ({ spec }) => {
            spec.unschedulable = true;
          });
          known.cordonBy = isMarked ? 'either' : 'person';
        }
        if (act === 'cordon') return;
        for (const { metadata } of simulated.podsOn(node)) {
          if (metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet')) continue;
          operations.deletePod(`${metadata.namespace}/${metadata.name}`);
        }
        return;
      }
      case 'uncordon':
        if (object.spec.unschedulable !== true) return;
        if (known.cordonBy !== 'person') undone();
        operations.editNode(node, ({ spec }) => {
          delete spec.unschedulable;
        });
        return;
      case 'take-off-mark':
        if (!isMarked) return;
        undone();
        known.undoneFor = executionOf(object);
        if (known.cordonBy !== 'nobody') known.cordonBy = 'person';
        operations.editNode(node, ({ metadata }) => {
          delete metadata.annotations?.['nodegap.dev/isolation'];
        });
        return;
      case 'skip':
        operations.editNode(node, ({ metadata }) => {
          metadata.annotations = { ...metadata.annotations, 'nodegap.dev/skip': 'mine' };
        });
        return;
      case 'unskip':
        operations.editNode(node, ({ metadata }) => {
          delete metadata.annotations?.['nodegap.dev/skip'];
        });
        return;
      case 'taint':
        operations.editNode(node, ({ spec }) => {
          const others = (spec.taints ?? []).filter(({ key }) => key !== 'team');
          spec.taints = [...others, { key: 'team', value: 'mine', effect: 'PreferNoSchedule' }];
        });
        return;
      case 'untaint':
        operations.editNode(node, ({ spec }) => {
          spec.taints = (spec.taints ?? []).filter(({ key }) => key !== 'team');
          if (spec.taints.length === 0) delete spec.taints;
        });
        return;
      case 'delete-pod': {
        const name = daemonSet.split('/')[1] ?? '';
        const pod = simulated.podsOn(node).find(({ metadata }) => metadata.name.startsWith(name));
        if (pod !== undefined) operations.deletePod(`kube-system/${pod.metadata.name}`);
        return;
      }
      case 'remove-node':
        operations.removeNode(node);
    }
  }

  #pick({ of, index }: Pick): string | undefined {
    const { truth, cluster: simulated } = this.#model;
    const all = truth.present;
    const some =
      of === 'marked'
        ? all.filter(
            ({ name }) =>
              simulated.get('nodes', name)?.metadata.annotations?.['nodegap.dev/isolation'] !==
              undefined,
          )
        : of === 'ill'
          ? all.filter(({ uid }) => truth.unready(uid).length > 0)
          : all;
    return at(some.length > 0 ? some : all, index)?.name;
  }

  #heal(node: string): void {
    const { cluster: simulated, truth } = this.#model;
    for (const daemonSet of daemonSets) {
      simulated.clearFault({ node, daemonSet });
      truth.takeBack(node, daemonSet);
    }
    const isSilent = simulated
      .instances()
      .some((machine) => machine.node === node && !machine.kubeletRuns);
    if (isSilent) simulated.operations.startKubelet(node);
  }

  #mend(): void {
    const { cluster: simulated, truth } = this.#model;
    for (const { target } of this.#wide.splice(0)) simulated.clearFault(target);
    truth.widespread.clear();
    for (const { node, daemonSet } of this.#spoilt.splice(0)) {
      if (!truth.hasFault(node, daemonSet)) simulated.clearFault({ node, daemonSet });
    }
    this.#rot = undefined;
  }

  /** What a node's next pods will fail for, once a ConfigMap or image has gone bad. */
  #spoil(node: string | undefined): void {
    const { cluster: simulated, truth } = this.#model;
    if (this.#rot === undefined || node === undefined) return;
    const { daemonSet, kind } = this.#rot;
    if (truth.hasFault(node, daemonSet)) return;
    this.#spoilt.push({ node, daemonSet });
    simulated.setFault({ node, daemonSet }, { kind });
  }
}

function executionOf({ metadata }: Node): string {
  const mark = JSON.parse(metadata.annotations?.['nodegap.dev/isolation'] ?? '{}');
  return String((mark as { execution?: string }).execution);
}

function isDisruption({ key }: Taint): boolean {
  return key === 'karpenter.sh/disrupted';
}

function setDisrupted({ spec }: Node, isDisrupted: boolean): void {
  const others = (spec.taints ?? []).filter((taint) => !isDisruption(taint));
  const taint: Taint = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };
  const taints = isDisrupted ? [...others, taint] : others;
  if (taints.length > 0) spec.taints = taints;
  else delete spec.taints;
}

/** The states that call each function first, for a redrive from there. */
const stateOf: Record<string, string> = {
  ConfirmGap: 'confirm-gap',
  AcquireSlot: 'acquire-slot',
  IsolateNode: 'isolate-node',
  CheckRecovery: 'check-recovery',
  RestartDaemonPod: 'restart-daemon-pod',
  TaintNode: 'taint-node',
  DrainNode: 'drain-node',
  ReplaceNode: 'replace-node',
  VerifyReplacement: 'verify-replacement',
  ReleaseNode: 'release-node',
  ReleaseSlot: 'release-slot',
  Report: 'report',
};

function at<T>(items: readonly T[], index: number): T | undefined {
  return items.length === 0 ? undefined : items[index % items.length];
}
