/** Parts of objects whose form nobody has checked: what is not of the kind wanted counts as absent. Pure. */

export type Raw = Record<string, unknown>;

/** The three parts of an object of the API server. */
export function parts(object: unknown): { metadata: Raw; spec: Raw; status: Raw } {
  const { metadata, spec, status } = asRaw(object);
  return { metadata: asRaw(metadata), spec: asRaw(spec), status: asRaw(status) };
}

/** The lists of those names, item by item; those that are absent stay so. */
export function each(names: string[], of: Raw, project: (item: Raw) => Raw): Raw {
  const lists = names.flatMap((name) => {
    const items = of[name];
    return Array.isArray(items) ? [[name, items.map((item) => project(asRaw(item)))]] : [];
  });
  return Object.fromEntries(lists);
}

/** An object as it is; anything else is an empty one. */
export function asRaw(value: unknown): Raw {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Raw) : {};
}

/** Those fields of it that are there. */
export function pick(source: Raw, keys: readonly string[]): Raw {
  const picked: Raw = {};
  for (const key of keys) {
    const value = source[key];
    if (value !== undefined && value !== null) picked[key] = value;
  }
  return picked;
}
