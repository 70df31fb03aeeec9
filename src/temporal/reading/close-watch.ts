/**
 * Waiting for runs to close. However many wait for one run, the cluster is asked once; when the last of them has left,
 * it is not asked any more.
 */
import { type Abort, PlainAbort } from '../../core/abort.js';
import type { HistoryEvent } from '../../core/history/event.js';
import { STATUS_OF_CLOSE_EVENT } from '../../core/run/run.js';
import type { RunRef } from '../../engine.js';
import type { Cluster } from '../cluster/connection.js';
import { CODE, errorOfRun, isRefused } from '../cluster/errors.js';
import { Shared } from '../cluster/shared.js';
import { eventFromProto, type ProtoEvent } from '../translate/event.js';
import type { Runs } from './runs.js';

/** The event that closed a run, as it is and as the cluster has it. */
export interface Close {
  event: HistoryEvent;
  proto: ProtoEvent;
}

interface Watch {
  waiting: number;
  abort: PlainAbort;
  closed: Promise<Close>;
  /** The cluster has answered, so there is nothing left to call off. */
  isAnswered: boolean;
}

/** Of Temporal's HistoryEventFilterType enum. */
const CLOSE_EVENT = 2;
/** The cluster ends a poll by itself after 20 s. */
const POLL_MS = 30_000;

export class CloseWatch {
  readonly #watches = new Map<string, Watch>();
  readonly #looks = new Shared<boolean>();

  constructor(
    private readonly cluster: Cluster,
    private readonly runs: Runs,
  ) {}

  /** Undefined when the run is still open after that time, or the caller has left. @throws WorkflowNotFoundError */
  async wait(run: RunRef, waitMs: number, abort: Abort | undefined): Promise<Close | undefined> {
    const close = waitMs > 0 ? await this.#join(run, waitMs, abort) : undefined;
    if (close || abort?.aborted) return close;
    // The time is up; a look decides, since the news may be on its way.
    return (await this.#isClosed(run)) ? this.#join(run, POLL_MS, abort) : undefined;
  }

  #isClosed(run: RunRef): Promise<boolean> {
    return this.#looks.get(keyOf(run), async () => (await this.runs.look(run)).status !== 'running');
  }

  async #join(run: RunRef, waitMs: number, abort: Abort | undefined): Promise<Close | undefined> {
    if (abort?.aborted) return undefined;
    const watch = this.#watch(run);
    watch.waiting++;
    let leave!: () => void;
    const left = new Promise<undefined>((resolve) => {
      leave = () => resolve(undefined);
    });
    const timer = setTimeout(leave, waitMs);
    abort?.addEventListener('abort', leave, { once: true });
    try {
      return await Promise.race([watch.closed, left]);
    } finally {
      clearTimeout(timer);
      abort?.removeEventListener('abort', leave);
      if (--watch.waiting === 0) this.#end(run, watch);
    }
  }

  #watch(run: RunRef): Watch {
    const known = this.#watches.get(keyOf(run));
    if (known) return known;
    const abort = new PlainAbort();
    const watch = { waiting: 0, abort, closed: this.#poll(run, abort), isAnswered: false };
    watch.closed.then(
      () => {
        watch.isAnswered = true;
      },
      // Whoever waits hears of it; nobody else has to.
      () => this.#end(run, watch),
    );
    this.#watches.set(keyOf(run), watch);
    return watch;
  }

  #end(run: RunRef, watch: Watch): void {
    if (!watch.isAnswered) watch.abort.abort();
    if (this.#watches.get(keyOf(run)) === watch) this.#watches.delete(keyOf(run));
  }

  async #poll({ workflowId, runId }: RunRef, abort: Abort): Promise<Close> {
    const { namespace } = this.cluster;
    let token: Uint8Array | undefined;
    for (;;) {
      try {
        const { history, nextPageToken } = await this.cluster.call(
          (service) =>
            service.getWorkflowExecutionHistory({
              namespace,
              execution: { workflowId, runId },
              historyEventFilterType: CLOSE_EVENT,
              waitNewEvent: true,
              nextPageToken: token,
            }),
          { timeoutMs: POLL_MS, isPoll: true, abort },
        );
        const proto = history?.events?.at(-1);
        const event = proto && eventFromProto(proto, new Map());
        if (event && STATUS_OF_CLOSE_EVENT[event.type]) return { event, proto };
        token = nextPageToken?.length ? nextPageToken : undefined;
      } catch (error) {
        if (!isRefused(error, CODE.DEADLINE_EXCEEDED)) throw errorOfRun(error, { workflowId, runId });
      }
    }
  }
}

const keyOf = ({ workflowId, runId }: RunRef): string => `${runId}/${workflowId}`;
