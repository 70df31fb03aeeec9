/**
 * Every attack that was thought of, by the number it has on the list of faults: the tests that show what comes of it, each
 * by its file and a part of its title, or the reason why it cannot be tried here. `checklist.test.ts` holds the two
 * together: a test that is renamed or removed is missed.
 */
export type Shown = readonly [file: string, title: string];
export interface Row {
  attack: string;
  shown?: readonly Shown[];
  /** Why it does not apply, or what of it is not promised. */
  because?: string;
}

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
const LIMITS = 'test/contract/cases/limits.ts';
const ISOLATION = 'test/contract/cases/isolation.ts';
const BLAME = 'src/worker/supervision/blame.test.ts';
const CRASH = 'test/crash/crash.test.ts';
const CRASH_ROWS = 'test/crash/rows.ts';
const DAMAGE = 'src/embedded/damage.test.ts';
const DATABASE = 'src/embedded/store/folder/database.test.ts';
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
      [LINK, 'keep a property named __proto__'],
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
  N10: { attack: 'lines forged in the log', shown: [[INSIDE, 'that callers send is in no line of the log']] },
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
      [LINK, 'an unknown kind'],
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
      ['src/embedded/memory.test.ts', 'reads a history of large events in parts'],
      ['src/embedded/engine.test.ts', 'looks through a bounded number of runs a page'],
    ],
  },
  R03: {
    attack: 'a disk that fills up',
    shown: [['src/embedded/full-disk.test.ts', 'starts and messages are refused, reads go on']],
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

export const FAULTS: Record<string, Row> = {
  F01: {
    attack: 'kill -9 at every named place',
    shown: [
      [CRASH, 'loses nothing, and each place is reached'],
      [CRASH_ROWS, 'C32 killed while the first catalog is registered'],
    ],
  },
  F02: {
    attack: 'kill -9 at any time, under load',
    shown: [[CRASH, 'nothing acknowledged is lost or applied twice']],
  },
  F03: { attack: 'kill -9 during recovery', shown: [['test/crash/campaign.ts', 'F03: twenty in a row']] },
  F04: {
    attack: 'power cuts',
    shown: [
      [CRASH, 'lose nothing that was acknowledged, and the server goes on'],
      [CRASH, 'lose acknowledged operations where the log is not synced'],
    ],
  },
  F05: {
    attack: 'a torn log',
    shown: [[DAMAGE, 'are not suspected when a power cut has torn the last one']],
  },
  F06: {
    attack: 'bits flipped in the log',
    shown: [[DAMAGE, 'wherever a bit of the write-ahead log has flipped']],
  },
  F07: {
    attack: 'bits flipped in the database',
    shown: [
      [DAMAGE, 'a page of the file that is damaged'],
      ['test/recovery/damage.test.ts', 'concerns nobody else: one run, and one catalog'],
    ],
  },
  F08: {
    attack: 'files that are removed, replaced or older',
    shown: [
      [DAMAGE, 'are missed in an older copy of the database'],
      [DAMAGE, 'stops it, and nothing is written to another timeline'],
    ],
  },
  F09: { attack: 'a sync that fails', shown: [[CRASH_ROWS, 'F09 sync']] },
  F10: {
    attack: 'a full disk',
    shown: [
      ['test/recovery/damage.test.ts', 'keeps the program neither from running nor from starting'],
      ['src/embedded/full-disk.test.ts', 'starts and messages are refused, reads go on'],
    ],
  },
  F11: {
    attack: 'a folder that cannot be written to',
    shown: [[DATABASE, 'says in words why a folder cannot be opened']],
  },
  F12: {
    attack: 'somebody else who has the file',
    shown: [
      ['test/store-faults/engine.test.ts', 'that fails now and then is made again, and nobody notices'],
    ],
    because: 'the lock is exclusive, so no reader of another process can hold up a checkpoint',
  },
  F15: {
    attack: 'a second process',
    shown: [['test/recovery/recovery.test.ts', 'that a second process cannot take']],
  },
  F16: {
    attack: 'a second SQLite in the process',
    shown: [['test/architecture.test.ts', 'open the database with one library']],
  },
  F17: {
    attack: 'an SQLite with a known bug',
    shown: [[DATABASE, 'refuses an SQLite with a known corruption bug']],
  },
  F18: {
    attack: 'a clock that is set',
    shown: [
      ['src/embedded/upkeep/waking.test.ts', 'does not keep anything from becoming due'],
      ['src/embedded/upkeep/retention.test.ts', 'does not follow a jump forward'],
      ['test/temporal/engine.test.ts', 'a clock that is set back makes nobody wait longer'],
    ],
  },
  F19: { attack: 'a step that loops', shown: [[ISOLATION, 'a step that loops loses its time']] },
  F20: { attack: 'a step that loops by promises', shown: [[BLAME, "'microtasks'"]] },
  F21: { attack: 'a step that fills the heap', shown: [[ISOLATION, "'memory'"]] },
  F22: {
    attack: 'a step that fills memory outside of the heap',
    shown: [['src/worker/supervision/replacing.test.ts', 'buffers beyond the limit']],
  },
  F23: { attack: 'a step that ends its process', shown: [[ISOLATION, "'exitCleanly'"]] },
  F24: {
    attack: 'errors after the end of a step',
    shown: [[ISOLATION, 'an error after the step has returned']],
  },
  F25: {
    attack: 'output without end, forged messages',
    shown: [
      ['src/worker/supervision/supervisor.test.ts', 'may print without end'],
      [FORGED, 'changes nothing, and the honest worker goes on'],
    ],
  },
  F26: {
    attack: 'a step that takes processes, descriptors or files',
    because:
      'a step has the rights of the user that runs its worker; who does not trust it gives workers a user and limits of their own',
  },
  F27: {
    attack: 'a workflow that loops, or changes built-ins',
    shown: [
      [ISOLATION, 'a turn that never ends is given up'],
      ['test/contract/cases/meddling.ts', 'changes to what runs share do not reach another run'],
    ],
  },
  F29: { attack: 'workers that all hang', shown: [['test/recovery/hostile.test.ts', 'frozen process']] },
  F30: {
    attack: 'a thousand slow readers',
    shown: [
      [SCENARIOS, 'half of which are not read'],
      [LOAD, 'hold at most a frame each'],
    ],
  },
  F31: {
    attack: 'connections that come and go, and half of them',
    shown: [
      [SCENARIOS, 'whose callers hang up'],
      [SCENARIOS, 'callers who stop in the middle'],
      [LOAD, 'leave nothing behind when they hang up'],
    ],
  },
  F32: {
    attack: 'ten thousand synchronous runs',
    shown: [[SCENARIOS, 'synchronous runs of a second at once']],
  },
  F33: {
    attack: 'many open runs',
    shown: [['src/embedded/memory.test.ts', 'holds no more of their inputs than it may']],
  },
  F34: {
    attack: 'bodies of every size',
    shown: [
      [SERVER, 'takes a body up to the limit'],
      [ADMISSION, 'beyond the bound are told to come back'],
      [SCENARIOS, 'starts of 2 MB at once'],
    ],
  },
  F35: {
    attack: 'a long history',
    shown: [
      ['src/embedded/memory.test.ts', 'reads a history of large events in parts'],
      [LIMITS, 'a history that grows without end'],
    ],
  },
  F36: {
    attack: 'JSON of every kind',
    shown: [
      [SERVER, 'refuses bytes that are no UTF-8'],
      [SERVER, 'a number beyond a double'],
      ['test/temporal/ill-formed-texts.test.ts', 'in a result, an input and a signal'],
    ],
  },
  F38: {
    attack: 'files of other versions',
    shown: [
      ['src/embedded/store/folder/schema.test.ts', 'takes over the file of the version before'],
      [DAMAGE, 'says in words that a schema version of %d does not fit'],
    ],
  },
  F39: {
    attack: 'a migration that is cut off',
    shown: [[CRASH_ROWS, 'C29 killed at each statement of the migrations']],
  },
  F40: {
    attack: 'a backup during writes',
    shown: [[CRASH_ROWS, 'F40 backup during writes, and its restore']],
  },
  F41: {
    attack: 'a cluster that comes and goes',
    shown: [['test/temporal/chaos.test.ts', 'loses and doubles nothing over']],
  },
  F42: {
    attack: 'engines that differ',
    shown: [['test/differential/differential.test.ts', 'come out the same on both engines']],
  },
  F44: {
    attack: 'an end under load',
    shown: [['test/stream/shutdown.test.ts', 'ends in order, and goes on after the next start']],
  },
  F45: {
    attack: 'little memory',
    shown: [
      [ADMISSION, 'beyond the bound keep others out'],
      ['test/overload/stage.ts', 'RSS_BUDGET_BYTES'],
    ],
    because:
      'what callers can make grow has bounds in bytes, whose sum is the budget of npm run overload; a cgroup is not tried',
  },
  F46: {
    attack: 'no descriptors left',
    shown: [
      ['test/overload/descriptors.test.ts', 'refuses connections before it runs out of descriptors'],
      [ADMISSION, 'connections beyond the bound are told to come back'],
    ],
  },
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
