import type { LabelSelector } from './objects.ts';

/**
 * A label selector in the form that a list takes it (k8s.io/apimachinery labels.Parse).
 * @throws RangeError for an operator that label selectors do not have.
 */
export function selectorText({ matchLabels = {}, matchExpressions = [] }: LabelSelector): string {
  return [
    ...Object.entries(matchLabels).map(([key, value]) => `${key}=${value}`),
    ...matchExpressions.map(({ key, operator, values = [] }) => {
      switch (operator) {
        case 'In':
          return `${key} in (${values.join(',')})`;
        case 'NotIn':
          return `${key} notin (${values.join(',')})`;
        case 'Exists':
          return key;
        case 'DoesNotExist':
          return `!${key}`;
        default:
          throw new RangeError(`label selectors have no operator ${operator}`);
      }
    }),
  ].join(',');
}
