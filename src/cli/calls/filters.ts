/** `--filter KEY=VALUE`: which runs, in the words of `GET /workflow/runs`. What a value may be, the server says. */
import { InvalidArgumentError, Option } from 'commander';
import type { RunFilter } from '../../client/index.js';
import { nearestName } from '../../core/values/nearest.js';

/** Written down, since reading them from the schemas would load those with every command; a test holds them together. */
export const FILTER_KEYS = [
  ...['workflowType', 'catalog', 'status', 'workflowId', 'workflowIdPrefix', 'startedAfter', 'startedBefore'],
  ...['heldBack', 'paused'],
];

export const filterOption = () =>
  new Option(
    '--filter <key=value>',
    `runs of which this holds, may be repeated: ${FILTER_KEYS.join(', ')}`,
  ).argParser(addFilter);

function addFilter(text: string, before: RunFilter = {}): RunFilter {
  const equals = text.indexOf('=');
  const key = text.slice(0, equals);
  if (equals < 1) throw new InvalidArgumentError('It must be KEY=VALUE, such as status=failed.');
  // All of them hold of the runs that are meant, and no run has two values of one: the last would act on others than the first says.
  if (Object.hasOwn(before, key)) throw new InvalidArgumentError(`There is a filter by ${key} already.`);
  if (FILTER_KEYS.includes(key)) return { ...before, [key]: text.slice(equals + 1) };
  const nearest = nearestName(key, FILTER_KEYS);
  throw new InvalidArgumentError(
    nearest ? `There is no ${key}; did you mean ${nearest}?` : `There is ${FILTER_KEYS.join(', ')}.`,
  );
}
