/** A trace as JSON text, a node at a time: the text as a whole is never in memory. */
import { RawJson, type Trace } from './nodes.js';

/** Small nodes go out together; a write for each would cost more than the nodes. */
const CHUNK_LENGTH = 64 * 1024;

export function* traceText({ children, ...trace }: Trace): Generator<string> {
  let chunk = `${objectText(trace).slice(0, -1)},"children":[`;
  let separator = '';
  for (const node of children) {
    chunk += separator + objectText(node);
    separator = ',';
    if (chunk.length < CHUNK_LENGTH) continue;
    yield chunk;
    chunk = '';
  }
  yield `${chunk}]}\n`;
}

/** Users' values stand only among the members of a node, never deeper. */
function objectText(object: object): string {
  const members: string[] = [];
  for (const [key, value] of Object.entries(object)) {
    if (value === undefined) continue;
    const text: string = value instanceof RawJson ? value.text : JSON.stringify(value);
    members.push(`${JSON.stringify(key)}:${text}`);
  }
  return `{${members.join(',')}}`;
}
