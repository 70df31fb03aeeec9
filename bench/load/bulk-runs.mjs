// Makes many runs quickly and honestly: the embedded engine itself, opened on a data folder, with a worker in the same
// process that answers every turn at once. Every run goes through the same transitions, tables and commits as one that was
// started over HTTP; only HTTP and the link to a worker process are left out.
//
// argv[2]: JSON { dataDir, count }. Of a thousand runs nine hundred and eighty-nine are completed, ten failed and one open;
// ten runs in all are held back. Prints one line of JSON.
import { EmbeddedEngine } from '../../dist/embedded/index.js';

const { dataDir, count } = JSON.parse(process.argv[2]);
const IN_FLIGHT = 2_000;
const CATALOGS = { default: 'default', other: 'other' };
const TYPES = ['order', 'invoice', 'rare'];

const numberOf = (workflowId) => Number(workflowId.slice(workflowId.lastIndexOf('-') + 1));
const HELD_BACK_EVERY = Math.max(1, Math.floor(count / 10));

const isHeldBack = (number) => number % HELD_BACK_EVERY === 1;
const isOpen = (number) => number % 1_000 === 500;
const isFailed = (number) => number % 100 === 7;
const typeOf = (number) => (number % 10_000 === 3 ? 'rare' : number % 10 === 0 ? 'invoice' : 'order');
const catalogOf = (number) => (number % 100 === 9 ? CATALOGS.other : CATALOGS.default);

const failure = { kind: 'application', type: 'CardError', message: 'the card was declined' };

function answerTo({ turnId, runId, workflowId }) {
  const number = numberOf(workflowId);
  const answer = { turnId, runId };
  if (isHeldBack(number)) {
    return { kind: 'turnFailed', ...answer, cause: 'WORKFLOW_WORKER_UNHANDLED_FAILURE', failure };
  }
  const close = isFailed(number)
    ? { kind: 'failRun', failure }
    : { kind: 'completeRun', result: '{"ok":true}' };
  return { kind: 'turnCompleted', ...answer, commands: isOpen(number) ? [] : [close], answers: [] };
}

const workflow = (name) => ({
  entry: {
    name,
    description: null,
    path: `${name}/workflow.ts`,
    inputSchema: null,
    outputSchema: null,
    aliases: [],
    steps: [],
    signals: [],
    queries: [],
    updates: [],
  },
  settings: {},
  declaresSignals: false,
});

function connectWorker(engine, catalog) {
  const session = engine.connect((message) => {
    if (message.kind === 'turn') setImmediate(() => session.receive(answerTo(message)));
    if (message.kind === 'ping') setImmediate(() => session.receive({ kind: 'pong' }));
  });
  session.receive({
    kind: 'register',
    catalog,
    workflows: TYPES.map(workflow),
    slots: { turns: IN_FLIGHT, steps: 1 },
    resultFormat: 'current',
    identity: 'bulk',
    codeId: 'bulk',
  });
}

const startedAt = Date.now();
let halfwayAt;
let next = 1;
const engine = EmbeddedEngine.open({ dataDir });
for (const catalog of Object.values(CATALOGS)) connectWorker(engine, catalog);

async function startInTurn() {
  while (next <= count) {
    const number = next++;
    if (number === Math.ceil(count / 2)) halfwayAt = Date.now();
    const workflowId = `${typeOf(number)}-${number}`;
    const ref = await engine.start({
      workflowType: typeOf(number),
      catalog: catalogOf(number),
      input: [`{"number":${number}}`],
      workflowId,
    });
    // One that is still under way would be taken up by the next server, and there is nobody there for it.
    if (!isOpen(number) && !isHeldBack(number)) await engine.outcome(ref, { waitMs: 120_000 });
  }
}

await Promise.all(Array.from({ length: Math.min(IN_FLIGHT, count) }, startInTurn));
await engine.close();
process.stdout.write(`${JSON.stringify({ count, halfwayAt, seconds: (Date.now() - startedAt) / 1_000 })}\n`);
process.exit(0);
