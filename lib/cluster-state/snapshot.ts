/** Reads objects at one moment at which no transaction is under way. */
import { NodegapError } from '../errors.ts';
import { complete } from './complete.ts';
import { type Journal, journalFrom } from './journal.ts';
import type { Part, Place } from './layout.ts';
import { JOURNAL, type Objects, type StateObject } from './objects.ts';
import type { Patience } from './patience.ts';

export interface Snapshot {
  journal: Journal;
  /** All but the journal. */
  objects: StateObject[];
  find(place: Place): StateObject | undefined;
}

export interface SnapshotReader {
  objects: Objects;
  installation: string;
  patience: Patience;
}

/** How often somebody else's transaction is seen before it is taken for left behind. */
const SIGHTINGS = 4;
/** More names than that make a selector too long. */
const MAX_NAMES = 40;

/** Completes the transaction in the journal, if there is one, and reads what is wanted after it. */
export function readSnapshot(
  reader: SnapshotReader,
  wanted: { places: Place[] } | { parts: Part[] },
): Promise<Snapshot> {
  let sightings = { mark: '', count: 0 };
  return reader.patience.until('reading', async () => {
    const { journal, configMaps } = await readConfigMaps(reader, wanted);
    if (journal.transaction !== undefined) {
      const { mark } = journal.transaction;
      sightings = { mark, count: sightings.mark === mark ? sightings.count + 1 : 1 };
      // Its writer, if alive, is quicker alone.
      if (sightings.count >= SIGHTINGS) await complete(reader.objects, journal);
      return undefined;
    }
    if (!needsLeases(wanted)) return snapshotOf(journal, configMaps);
    const leases = await reader.objects.listSlots();
    const after = await reader.objects.get('configmap', JOURNAL);
    if (after?.resourceVersion !== journal.object.resourceVersion) return undefined;
    return snapshotOf(journal, [...configMaps, ...leases]);
  });
}

async function readConfigMaps(
  { objects, installation }: SnapshotReader,
  wanted: { places: Place[] } | { parts: Part[] },
): Promise<{ journal: Journal; configMaps: StateObject[] }> {
  const all = await listConfigMaps(objects, wanted);
  const found = all.find(({ name }) => name === JOURNAL);
  if (found === undefined) throw noJournal(objects.namespace);
  return {
    journal: journalFrom(found, objects.namespace, installation),
    configMaps: all.filter((object) => object !== found),
  };
}

async function listConfigMaps(
  objects: Objects,
  wanted: { places: Place[] } | { parts: Part[] },
): Promise<StateObject[]> {
  if ('parts' in wanted) {
    return objects.listParts(['journal', ...wanted.parts.filter((part) => part !== 'slot')]);
  }
  const places = wanted.places.filter(({ part }) => part !== 'slot');
  const names = [...new Set(places.map(({ name }) => name))];
  if (names.length <= MAX_NAMES) return objects.listNames([JOURNAL, ...names]);
  return objects.listParts(['journal', ...new Set(places.map(({ part }) => part))]);
}

function needsLeases(wanted: { places: Place[] } | { parts: Part[] }): boolean {
  const parts = 'parts' in wanted ? wanted.parts : wanted.places.map(({ part }) => part);
  return parts.includes('slot');
}

function snapshotOf(journal: Journal, objects: StateObject[]): Snapshot {
  const byName = new Map(objects.map((object) => [`${object.kind} ${object.name}`, object]));
  return {
    journal,
    objects,
    find: ({ part, name }) => byName.get(`${part === 'slot' ? 'lease' : 'configmap'} ${name}`),
  };
}

function noJournal(namespace: string): NodegapError {
  const what = `ConfigMap ${namespace}/${JOURNAL} is not there any more`;
  return new NodegapError('State.Gone', what, {
    hint: 'the state was removed while this ran; run the command again',
  });
}
