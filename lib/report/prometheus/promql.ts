/** Pieces of PromQL that survive any name. */

/** Which clusters the rules are for, in a Prometheus that may hold several. */
export interface Scope {
  /** Label that tells clusters apart; none when there is one only. */
  clusterLabel?: string;
  /** Value of that label for the one cluster that the rules are made for. */
  clusterValue?: string;
}

export interface Matcher {
  label: string;
  op: '=' | '!=' | '=~' | '!~';
  value: string;
}

/** A string between double quotes; PromQL escapes as Go does, of which JSON's form is a part. */
export function promString(text: string): string {
  return JSON.stringify(text);
}

/** Text that stands for itself in a regular expression of Prometheus (RE2). */
export function regexLiteral(text: string): string {
  return text.replace(/[\\.+*?()|[\]{}^$]/g, '\\$&');
}

/** A regular expression, anchored by Prometheus, that matches exactly these words. */
export function anyOf(words: readonly string[]): string {
  return words.map(regexLiteral).join('|');
}

/** `metric{a="b"}`, with the matcher of the cluster where the rules are for one of several. */
export function selector(scope: Scope, metric: string, matchers: readonly Matcher[] = []): string {
  const own: Matcher[] =
    scope.clusterLabel === undefined || scope.clusterValue === undefined
      ? []
      : [{ label: scope.clusterLabel, op: '=', value: scope.clusterValue }];
  const all = [...own, ...matchers].map(
    ({ label, op, value }) => `${label}${op}${promString(value)}`,
  );
  return all.length === 0 ? metric : `${metric}{${all.join(',')}}`;
}

/** `(cluster, node)`, or less. */
export function labelsOf(scope: Scope, ...more: string[]): string {
  const labels = scope.clusterLabel === undefined ? more : [scope.clusterLabel, ...more];
  return `(${labels.join(', ')})`;
}

/** One sample for each node, however many kube-state-metrics tell of it. */
export function perNode(scope: Scope, expression: string): string {
  return `max by ${labelsOf(scope, 'node')} (${expression})`;
}

/** One sample for each cluster. */
export function perCluster(scope: Scope, expression: string): string {
  return `max by ${labelsOf(scope)} (${expression})`;
}

/**
 * The label of `kube_node_labels` for a label of nodes, as kube-state-metrics names it
 * (internal/store/utils.go: every other character becomes `_`, then camelCase becomes snake_case).
 * Two labels that become the same name get a suffix there, which cannot be foretold.
 */
export function nodeLabelName(key: string): string {
  const word = key.replace(/[^a-zA-Z0-9_]/g, '_');
  return `label_${word.replace(/([a-z0-9])([A-Z])/g, '$1_$2').toLowerCase()}`;
}

/** What the group of nodes has recorded of the scope. */
export function recordedNodes(scope: Scope, what: string): string {
  return selector(scope, `node:nodegap_${what}:max`);
}

/** An expression on one line: strings hold no line breaks, so these are only between words. */
export function oneLine(expression: string): string {
  return expression.replace(/\s*\n\s*/g, ' ');
}
