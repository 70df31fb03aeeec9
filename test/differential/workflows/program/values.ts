import type { Value } from '../../program.js';

export function valueFrom(value: Value): unknown {
  if ('json' in value) return value.json;
  switch (value.odd) {
    case 'undefined':
      return undefined;
    case 'nan':
      return { ratio: Number.NaN };
    case 'bigint':
      return [1, { b: 10n }];
    case 'date':
      return { at: new Date(0) };
    case 'map':
      return new Map([['a', 1]]);
    case 'hole':
      return [1, undefined, 3];
    case 'property':
      return { kept: 1, left: undefined };
  }
}
