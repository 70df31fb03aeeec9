/**
 * Every attack that was thought of, by the number it has on the list of faults: the tests that show what comes of it, each
 * by its file and a part of its title, or the reason why it cannot be tried here. `checklist.test.ts` holds the two
 * together: a test that is renamed or removed is missed.
 */
import { FAULTS } from './faults.js';
import type { Row } from './row.js';

const AUTH = 'src/http/door/auth.test.ts';
const SERVER = 'src/http/server.test.ts';
const ADMISSION = 'src/http/door/admission.test.ts';
const CALLBACKS = 'src/http/door/callbacks.test.ts';
const DOOR = 'test/security/door.test.ts';
const HTTP_DOOR = 'test/http/door.test.ts';
const INSIDE = 'test/security/inside.test.ts';
const FORGED = 'test/security/forged.test.ts';
const LANGUAGES = 'test/security/languages.test.ts';
const OUTBOUND = 'src/sdk/outbound/outbound.test.ts';
const HTTP_STEPS = 'src/sdk/http-steps.test.ts';
const LINK = 'src/link/link.test.ts';
const STREAM = 'test/stream/stream.test.ts';
const LOAD = 'test/stream/load.test.ts';
const TRACES = 'test/trace/traces.test.ts';
const FAULTY_STORE = 'test/trace/faulty-store.test.ts';
const LIMITS = 'test/contract/cases/limits.ts';
const SCENARIOS = 'test/overload/scenarios.ts';

export const AUTHENTICATION: Record<string, Row> = {
  A01: {
    attack: 'no credentials, wrong ones, of another scheme, far too long',
    shown: [
      [AUTH, 'refuses %s'],
      [AUTH, 'a lower-case scheme'],
      [DOOR, 'a header of a megabyte'],
    ],
  },
  A02: { attack: 'the token without a scheme', shown: [[AUTH, 'the token without a scheme']] },
  A03: {
    attack: 'guessing by the time of the refusal',
    shown: [[AUTH, 'a part of the token']],
    because:
      'digests of one length are compared by timingSafeEqual; a measured time would prove nothing on a busy machine',
  },
  A04: { attack: 'a body before it is known who calls', shown: [[AUTH, 'refuses before it reads the body']] },
  A05: {
    attack: 'a route that was forgotten',
    shown: [
      [DOOR, 'no route of the table answers'],
      [DOOR, 'no way of writing a path leads in'],
      [HTTP_DOOR, 'are asked for on every route but the probes, the callbacks and the page'],
    ],
  },
  A07: {
    attack: 'a server without a token that others reach',
    shown: [
      ['src/cli/cli.test.ts', 'is an address that others reach'],
      ['src/cli/cli.test.ts', 'is production without a token'],
    ],
  },
  A08: {
    attack: 'a weak token, and one that has to be replaced',
    shown: [
      [AUTH, 'accepts both of two tokens'],
      [HTTP_DOOR, 'may be either of two tokens'],
    ],
    because:
      'a token of fewer than 32 characters is warned of at the start; the removal of one takes a restart',
  },
  A10: {
    attack: 'guessing tokens',
    shown: [
      [DOOR, 'guesses are told to come back'],
      ['src/http/door/wrong-tokens.test.ts', 'are counted per address'],
      [LINK, 'says when to come back to whoever guesses'],
    ],
  },
  A11: {
    attack: 'the token in a query, a cookie, a log',
    shown: [
      [DOOR, 'does not count'],
      [INSIDE, 'of ours is in no place at all'],
      ['test/stream/operations.test.ts', 'has no secret and no payload'],
    ],
  },
  A12: {
    attack: "another tenant's run",
    because: 'there are no tenants: who has the token may see all runs',
  },
  A13: {
    attack: 'changing something with the right to read',
    because: 'there is one right; put a proxy in front of it to give less',
  },
  A14: {
    attack: 'a web page of another origin',
    shown: [
      [HTTP_DOOR, 'is off unless origins are listed'],
      [HTTP_DOOR, 'lets a listed origin read answers and errors, and no other'],
    ],
  },
  A15: {
    attack: 'a name that points here (DNS rebinding)',
    shown: [[AUTH, 'answers requests for the host']],
  },
  A16: {
    attack: 'the address of a callback that is forged, guessed, of another workflow or of another server',
    shown: [
      [CALLBACKS, 'is refused with %s, before a body is read'],
      [CALLBACKS, 'that do not exist are counted as wrong tokens are'],
      ['test/http/cases/callbacks.ts', 'is 404 for an address that nobody has made'],
      ['test/contract/cases/callbacks.ts', 'a token of another key is good for nothing'],
    ],
  },
  A17: {
    attack:
      'the address of a callback used for something else, again and again, after its run, or read in a log',
    shown: [
      [CALLBACKS, 'opens nothing else'],
      [CALLBACKS, 'is in no line of the log'],
      ['test/http/cases/callbacks.ts', 'a repeat changes nothing'],
      ['test/contract/cases/callbacks.ts', 'one of a run that has gone on as another is refused'],
    ],
    because: 'it stands in the history and the trace of its run, as a part of what the step was given',
  },
};

export const TRANSPORT: Record<string, Row> = {
  T01: { attack: 'a length and chunks', shown: [[DOOR, 'a length and chunks']] },
  T02: { attack: 'two lengths', shown: [[DOOR, 'two lengths']] },
  T03: {
    attack: 'encodings that are read in two ways',
    shown: [
      [DOOR, 'a space before the colon'],
      [DOOR, 'an encoding that is none'],
      [DOOR, 'an extension of a chunk with a line feed'],
    ],
  },
  T04: {
    attack: 'bare line feeds, NUL, no host',
    shown: [
      [DOOR, 'a line that ends with a line feed alone'],
      [DOOR, 'a NUL in a header'],
      [DOOR, 'a request without a host'],
    ],
  },
  T05: {
    attack: 'too much of headers',
    shown: [
      [DOOR, 'two thousand headers'],
      [SERVER, 'too many headers'],
    ],
  },
  T06: {
    attack: 'slow headers, slow bodies',
    shown: [
      [HTTP_DOOR, 'who is slow to send %s is cut off'],
      [SERVER, 'does not wait for ever for'],
      [SCENARIOS, 'callers who stop in the middle'],
    ],
  },
  T07: { attack: 'a length of 100 GB', shown: [[DOOR, 'a body of a hundred gigabytes']] },
  T08: { attack: 'a body beyond the limit, without a length', shown: [[SERVER, 'also without a length']] },
  T09: { attack: 'compressed bodies', shown: [[SERVER, 'refuses a compressed body']] },
  T10: { attack: 'other types of content', shown: [[SERVER, 'content type %s gives']] },
  T12: { attack: 'malformed JSON', shown: [[SERVER, 'refuses a body %s']] },
  T13: {
    attack: 'keys that reach a prototype',
    shown: [
      [SERVER, 'with a prototype key'],
      [INSIDE, 'is refused wherever it may stand'],
      [INSIDE, 'changes nothing in the workflow, the step, a handler and a replay'],
    ],
  },
  T14: { attack: 'JSON nested 100,000 deep', shown: [[SERVER, 'a hundred thousand levels']] },
  T15: { attack: 'half a million values', shown: [[SERVER, 'half a million values']] },
  T16: {
    attack: 'percent encodings',
    shown: [
      [SERVER, 'refuses the path number'],
      [DOOR, 'paths of callers lead to no file'],
    ],
  },
  T17: {
    attack: 'other methods and protocols',
    shown: [
      [DOOR, 'gets nowhere, and the connection ends'],
      [SERVER, 'hands WebSocket upgrades to whoever takes them'],
    ],
  },
  T18: {
    attack: 'a thousand requests in a row, and nonsense',
    shown: [[DOOR, 'a thousand requests on one connection']],
  },
  T20: {
    attack: 'waits and streams without end',
    shown: [
      ['src/http/routes/runs.test.ts', 'limits the calls that wait'],
      [STREAM, 'is told why, as JSON'],
    ],
    because: 'per process and not per token: there is one token',
  },
  T21: {
    attack: 'a flood of synchronous runs',
    shown: [
      [SCENARIOS, 'synchronous runs of a second at once'],
      [HTTP_DOOR, 'calls beyond those that may wait are 429'],
    ],
  },
};

export const STREAMS: Record<string, Row> = {
  S01: {
    attack: 'a reader that does not read',
    shown: [[LOAD, 'hold at most a frame each, are dropped, and can resume']],
  },
  S02: {
    attack: 'streams without end',
    shown: [[STREAM, 'is told why, as JSON']],
    because: 'a cap per process; there is one token',
  },
  S03: {
    attack: 'a stream that lasts for ever',
    because: 'it lasts as long as its run: it costs some kilobytes, and ends when its reader does',
  },
  S04: {
    attack: 'a reader that is gone without a word',
    shown: [
      [ADMISSION, 'cost the connection after a time'],
      [STREAM, 'is kept open by comments'],
    ],
  },
  S05: { attack: 'a copy of each event for each reader', shown: [[LOAD, 'read each new batch once']] },
  S06: {
    attack: 'a forged Last-Event-ID',
    shown: [[STREAM, 'with a cursor of another run than the pinned one is refused']],
  },
  S07: {
    attack: 'a stream that is kept or taken for something else',
    shown: [[DOOR, 'every answer says that it is to be taken for nothing else']],
    because: 'a stream says no-cache, as its contract has it',
  },
  S08: { attack: 'a payload that looks like a frame', shown: [[STREAM, 'cannot be forged by a payload']] },
  S09: { attack: 'an error within a stream', shown: [[STREAM, 'tells of an error and ends']] },
  S10: {
    attack: 'payloads that were not asked for',
    shown: [
      [STREAM, 'carries payloads only when asked'],
      ['test/http/cases/history.ts', 'carry no payloads unless asked for'],
    ],
  },
};

export const INPUT: Record<string, Row> = {
  N01: {
    attack: 'names that are code elsewhere',
    shown: [
      ['src/http/routes/start.test.ts', "])('refuses %s'"],
      [LANGUAGES, 'an id stays a text'],
    ],
  },
  N02: {
    attack: "Temporal's query language",
    shown: [[LANGUAGES, 'an id stays a text, or is not in the query at all']],
  },
  N03: {
    attack: 'SQL',
    shown: [
      [LANGUAGES, 'is never put together from what callers send'],
      [LANGUAGES, 'finds the id %s as it is'],
    ],
  },
  N04: {
    attack: 'forged tokens of pages',
    shown: [['test/http/cases/history.ts', 'refuses tokens that are malformed, changed or of another run']],
  },
  N06: {
    attack: 'keys of stored data',
    shown: [
      [INSIDE, 'comes back as it was'],
      ['src/link/protocol.test.ts', 'keep a property named __proto__'],
    ],
  },
  N07: {
    attack: 'fields that nobody asked for',
    shown: [[INSIDE, 'in a query changes nothing either']],
    because: 'only fields of the schema reach the engine',
  },
  N08: {
    attack: 'regular expressions that take for ever',
    shown: [
      ['src/http/wire/hostile-texts.test.ts', 'holds up nobody'],
      ['src/http/schema/pattern.test.ts', 'takes time in proportion to the text'],
      ['test/expressions.test.ts', 'expressions are found'],
    ],
  },
  N09: {
    attack: 'hostile JSON Schemas',
    shown: [
      ['src/http/hostile-schemas.test.ts', 'leaves the server answering'],
      ['src/http/routes/start.test.ts', 'fetches no reference'],
    ],
  },
  N10: {
    attack: 'lines forged in the log',
    shown: [
      [INSIDE, 'that callers send is in no line of the log'],
      ['src/cli/sentences.test.ts', 'leaves a line of user code alone'],
    ],
  },
  N11: {
    attack: 'answers that a browser takes for a page',
    shown: [
      [DOOR, 'every answer says that it is to be taken for nothing else'],
      ['test/http/openapi.test.ts', 'loads nothing from elsewhere'],
    ],
  },
};

export const FILES: Record<string, Row> = {
  P01: { attack: 'an id that is a path', shown: [[DOOR, 'paths of callers lead to no file']] },
  P02: {
    attack: 'links and folders in place of files',
    shown: [
      [TRACES, 'a link in place of the folder is refused'],
      [TRACES, 'a folder in place of a file'],
    ],
  },
  P03: {
    attack: 'paths of the server in answers',
    because: 'the contract of trace-log answers the path of the local file; nothing else does',
    shown: [[INSIDE, 'of an error of ours is not told']],
  },
  P04: {
    attack: 'a trace that a result points to',
    shown: [['test/trace/object-store.test.ts', 'does not follow from what a workflow returned']],
  },
  P05: {
    attack: 'files that others can read',
    shown: [
      [INSIDE, 'is in files that belong to their owner alone'],
      [TRACES, 'keeps folder and files to their owner'],
    ],
  },
  P06: {
    attack: 'traces that outlive their runs',
    shown: [
      [TRACES, 'takes the file with the run'],
      [TRACES, 'is made up for at the next start'],
      [FAULTY_STORE, 'that were given up are made later, without a start'],
      [FAULTY_STORE, 'is swept although something in it cannot be removed'],
    ],
  },
  P07: {
    attack: 'an object store that lies, hangs or never ends, or whoever answers in its place',
    shown: [
      [FAULTY_STORE, 'is no trace: %s'],
      [FAULTY_STORE, 'is not read on when the refusal has no end'],
      [FAULTY_STORE, 'is none unless a store has taken it'],
      [FAULTY_STORE, 'that hangs is waited for once by all who ask'],
    ],
  },
};

export const OUTGOING: Record<string, Row> = {
  O01: {
    attack: 'other protocols, credentials in addresses',
    shown: [[HTTP_STEPS, 'refuses %s']],
    because: 'any port: which of a public machine is meant is for its owner to say',
  },
  O02: {
    attack: 'a name that changes its mind',
    shown: [
      [OUTBOUND, 'is not reached when a name changes its mind'],
      [OUTBOUND, 'behind a name is not reached'],
    ],
  },
  O03: {
    attack: 'private addresses in every form',
    shown: [
      [OUTBOUND, '%s is not reached'],
      ['src/sdk/outbound/tls.test.ts', 'a private address is not reached either'],
    ],
  },
  O04: {
    attack: 'redirects',
    shown: [
      [OUTBOUND, 'is not reached through a redirect'],
      [HTTP_STEPS, 'drops credentials on the way to another origin'],
      ['src/sdk/outbound/tls.test.ts', 'a redirect to plain HTTP is refused'],
    ],
  },
  O05: {
    attack: 'answers without end',
    shown: [
      [HTTP_STEPS, 'an answer that is too large'],
      [OUTBOUND, 'counted as what it becomes'],
    ],
  },
  O06: {
    attack: 'forged callbacks',
    because: 'feedback needs the token; requests carry an idempotency key and are not signed',
  },
  O07: {
    attack: 'what third parties answer',
    shown: [
      [HTTP_STEPS, 'keeps of the answer what was asked for'],
      [LIMITS, 'a result that is too large fails the step'],
    ],
  },
  O08: {
    attack: 'private addresses that are wanted',
    shown: [
      [OUTBOUND, 'is reached where the operator allows it'],
      [OUTBOUND, 'may be allowed by its network'],
    ],
  },
  O09: {
    attack: 'secrets in errors of requests',
    shown: [
      [HTTP_STEPS, 'a secret of the environment with %s in it is not told'],
      [HTTP_STEPS, 'messages of errors have no query in them'],
    ],
    because: 'what a service says in its answer is kept as it is, also if it repeats what it was sent',
  },
};

export const WORKERS: Record<string, Row> = {
  W01: {
    attack: 'user code that looks around',
    shown: [
      ['src/worker/supervision/supervisor.test.ts', 'keeps what is the server’s from user code'],
      ['src/cli/token.test.ts', 'finds no token that was given by a file'],
    ],
    because: 'it runs as the same user unless workers are run as another one; see SECURITY.md',
  },
  W02: {
    attack: 'forged messages of a worker',
    shown: [
      [FORGED, 'changes nothing, and the honest worker goes on'],
      ['src/link/misbehaving-worker.test.ts', 'an unknown kind'],
      [LINK, 'refuses %s before the handshake'],
    ],
  },
  W03: {
    attack: 'workflow code that escapes its sandbox',
    because: 'node:vm is no boundary of security; see SECURITY.md',
  },
  W04: {
    attack: 'insides in errors',
    shown: [
      [SERVER, 'tells nothing of an unexpected error but the request id'],
      [INSIDE, 'of an error of ours is not told'],
    ],
  },
  W05: {
    attack: 'secrets that are kept somewhere',
    shown: [
      [INSIDE, 'of ours is in no place at all'],
      [INSIDE, 'which shows that these tests would find one'],
    ],
  },
  W06: {
    attack: 'queries and validators that write or never end',
    shown: [
      ['src/worker/sandbox/run/reads-only.test.ts', 'can only read'],
      ['test/recovery/hostile.test.ts', 'endless query'],
    ],
  },
};

export const RESOURCES: Record<string, Row> = {
  R01: {
    attack: 'more than a run takes',
    shown: [
      [LIMITS, 'a signal too many is refused'],
      [LIMITS, 'an update too many at a time is refused'],
      [LIMITS, 'a pending step too many'],
      [SCENARIOS, 'bursts:'],
    ],
    because: 'bounds per run and in sum; no rate per token, since there is one',
  },
  R02: {
    attack: 'lists and histories without end',
    shown: [
      ['src/embedded/whole/memory.test.ts', 'reads a history of large events in parts'],
      ['src/embedded/whole/run-list.test.ts', 'looks through a bounded number of runs a page'],
    ],
  },
  R03: {
    attack: 'a disk that fills up',
    shown: [['src/embedded/whole/damaged/full-disk.test.ts', 'starts and messages are refused, reads go on']],
  },
  R04: {
    attack: 'storms on one id',
    shown: [['test/http/cases/starting.ts', 'with one id make one run and 999 answers 409']],
  },
  R05: {
    attack: 'recursion',
    shown: [
      [LIMITS, 'children of children without end'],
      ['src/embedded/life/relations.test.ts', 'that goes on without end is slowed down'],
    ],
  },
  R06: {
    attack: 'durations that are none',
    shown: [['test/contract/cases/timers.ts', 'a duration that is none is an error']],
  },
};

export const INVENTORY: Record<string, Row> = {
  V01: {
    attack: 'a route that nobody knows of',
    shown: [['test/http/openapi.test.ts', 'has every route that is served, and no other']],
  },
  V02: {
    attack: 'deprecated routes',
    shown: [
      ['test/http/openapi.test.ts', 'marks what is deprecated'],
      [DOOR, 'no route of the table answers'],
    ],
  },
  V03: {
    attack: 'a port for debugging',
    shown: [['test/stream/operations.test.ts', 'need the token']],
    because: 'none is opened; what NODE_OPTIONS says is for the operator',
  },
  V04: {
    attack: 'packages',
    shown: [['test/package.test.ts', 'is bound to no registry']],
    because: 'exact versions and a lock file; an audit needs a registry',
  },
  V05: {
    attack: 'headers that tell or allow too much',
    shown: [
      [SERVER, 'puts security headers on every answer'],
      [DOOR, 'every answer says that it is to be taken for nothing else'],
    ],
  },
  V06: { attack: 'plain HTTP', because: 'TLS is for a proxy in front of the server; see SECURITY.md' },
};

export const CHECKLIST = {
  ...AUTHENTICATION,
  ...TRANSPORT,
  ...STREAMS,
  ...INPUT,
  ...FILES,
  ...OUTGOING,
  ...WORKERS,
  ...RESOURCES,
  ...INVENTORY,
  ...FAULTS,
};
