/** What is wrong with a value, in words that go on from the name of its field. */
import type { JsonSchema } from './schema.js';

const FORMATS: Record<string, string> = {
  email: 'an email address',
  uri: 'an address such as https://example.com',
  url: 'an address such as https://example.com',
  uuid: 'a UUID',
  date: 'a date such as 2026-01-31',
  time: 'a time such as 13:45:00Z',
  'date-time': 'a time such as 2026-01-31T13:45:00Z',
  duration: 'a duration such as PT15M',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
  hostname: 'a host name',
};

const TYPES: Record<string, string> = {
  string: 'text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
};

export function problemText(keyword: string, schema: JsonSchema, value: unknown): string | undefined {
  const limit = schema[keyword];
  switch (keyword) {
    case 'type':
      return `must be ${listed((Array.isArray(limit) ? limit : [limit]).map((type) => TYPES[String(type)] ?? String(type)))}`;
    case 'enum':
      return Array.isArray(limit) ? `must be ${listed(limit.map((one) => JSON.stringify(one)))}` : undefined;
    case 'const':
      return `must be ${JSON.stringify(limit)}`;
    case 'minLength':
      return value === '' ? 'must not be empty' : `must have at least ${counted(limit, 'character')}`;
    case 'maxLength':
      return `must have at most ${counted(limit, 'character')}`;
    case 'pattern': {
      // A format is said in words; its pattern would only repeat it.
      const format = FORMATS[String(schema.format)];
      return format ? `must be ${format}` : `must match ${String(limit)}`;
    }
    case 'format':
      return `must be ${FORMATS[String(limit)] ?? `in the format ${String(limit)}`}`;
    case 'minimum':
      return `must be at least ${String(limit)}`;
    case 'exclusiveMinimum':
      return `must be more than ${String(limit)}`;
    case 'maximum':
      return `must be at most ${String(limit)}`;
    case 'exclusiveMaximum':
      return `must be less than ${String(limit)}`;
    case 'multipleOf':
      return `must be a multiple of ${String(limit)}`;
    case 'minItems':
      return `must have at least ${counted(limit, 'item')}`;
    case 'maxItems':
      return `must have at most ${counted(limit, 'item')}`;
    case 'uniqueItems':
      return 'must not have the same item twice';
    case 'minProperties':
      return `must have at least ${counted(limit, 'entry', 'entries')}`;
    case 'maxProperties':
      return `must have at most ${counted(limit, 'entry', 'entries')}`;
    case 'anyOf':
    case 'oneOf':
      return 'fits none of the forms that are allowed here';
    case 'not':
      return 'is a value that is not allowed here';
    case 'false':
      return 'is not known here';
    default:
      return undefined;
  }
}

const counted = (limit: unknown, one: string, many = `${one}s`): string =>
  `${String(limit)} ${limit === 1 ? one : many}`;

function listed(texts: string[]): string {
  return texts.length < 2 ? (texts[0] ?? '') : `${texts.slice(0, -1).join(', ')} or ${texts.at(-1)}`;
}
