/**
 * What the turn of a run, or its reset, does to other workflows: signals, cancels, ends. To a few it is done in the commit of the
 * turn; to thousands piece by piece, since reading all of their histories would keep everybody waiting.
 *
 * 1. What is on disk with the turn is which of its events others have still to hear of. Each goes with the commit in which that
 *    one hears of it and the sender of that; what the last process has left is looked for at the start.
 * 2. Nothing gets ahead of what is on its way: whoever takes up a workflow finds that it has arrived first. So none closes
 *    before it, and messages of one sender stay in order.
 * 3. The sender makes its next turn when all have heard: it finds what became of everything, and never has more than what one
 *    turn can ask for on the way.
 */
import type { EventOf, HistoryEvent } from '../../core/history/event.js';
import type { Kernel } from '../kernel.js';
import type { ActiveRun } from '../store/active-run.js';
import type { Closings } from './closings.js';
import type { Damage } from './damage.js';
import type { Lifecycle } from './lifecycle.js';
import { Piece, type Piecemeal } from './piecemeal.js';
import type { Relations } from './relations.js';

/** Of a child's start: that the child ends, since a reset of its parent has cut it off. */
export type Outgoing =
  | EventOf<'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED'>
  | EventOf<'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED'>
  | EventOf<'START_CHILD_WORKFLOW_EXECUTION_INITIATED'>;

/** Whose event it is. */
export interface Sender {
  key: number;
  runId: string;
  workflowId: string;
}

interface Message {
  sender: Sender;
  event: Outgoing;
}

export class Outbox {
  /** What is on its way, in the order in which it was sent. */
  readonly #waiting = new Set<Message>();
  readonly #byTarget = new Map<string, Set<Message>>();
  readonly #bySender = new Map<string, Set<Message>>();
  /** Workflows that are taken up to hear of something: the next comes after it. */
  readonly #hearing = new Set<string>();
  #isGoingOn = false;

  constructor(
    private readonly kernel: Kernel,
    private readonly lifecycle: Lifecycle,
    private readonly relations: Relations,
    private readonly closings: Closings,
    private readonly damage: Damage,
    private readonly piecemeal: Piecemeal,
  ) {}

  /** Before any other run is taken up: something may be on its way to it. */
  start(): void {
    const { tables } = this.kernel;
    for (const [key, ids] of this.damage.contain(() => tables.outbox.all()) ?? []) {
      this.damage.contain(() => this.#sendsOn(key, new Set(ids)));
    }
    this.#goOn();
  }

  #sendsOn(key: number, ids: ReadonlySet<number>): void {
    const { tables } = this.kernel;
    const row = tables.runs.byKey(key);
    if (!row) return;
    const sender = { key, runId: row.run_id, workflowId: row.workflow_id };
    for (const event of tables.history.read(key, 0)) {
      if (ids.has(event.id) && isOutgoing(event)) this.#add({ sender, event });
    }
  }

  /** What may be sent in one commit. */
  piece(): Piece {
    return new Piece(this.kernel.limits.messagesSentAtOnce);
  }

  /**
   * Sends what an event asks for, at once while the piece has room for it. It belongs to what changes of the run; the event may
   * be one of an earlier run.
   */
  send(run: ActiveRun, event: Outgoing, piece: Piece, of: Sender = senderOf(run)): void {
    const { runs, commit, tables } = this.kernel;
    const target = event.attributes.workflowId;
    // Whoever is not there, or has closed, has nothing to hear.
    const isForSomebody = target !== of.workflowId && runs.glance(target)?.isClosed === false;
    if (!piece.isFull || !isForSomebody) {
      this.#deliver(event, run, piece);
      return;
    }
    this.#add({ sender: of, event });
    commit.write(() => tables.outbox.insert(of.key, event.id), run);
    this.#goOn();
  }

  /** Somebody takes the run up. */
  taken(run: ActiveRun): void {
    if (this.#byTarget.size === 0 || run.isClosed) return;
    const messages = this.#byTarget.get(run.state.workflowId);
    if (!messages || this.#hearing.has(run.state.workflowId)) return;
    const piece = new Piece(Number.POSITIVE_INFINITY);
    for (const message of [...messages]) this.#sendNext(message, piece);
  }

  /** Whether something that the run has sent is still on its way. */
  isSending(runId: string): boolean {
    return this.#bySender.has(runId);
  }

  /** The same, of any run of the workflow. */
  isSendingFor(workflowId: string): boolean {
    for (const [first] of this.#bySender.values()) if (first?.sender.workflowId === workflowId) return true;
    return false;
  }

  #sendSome(): void {
    const piece = new Piece(Math.max(1, this.kernel.limits.messagesSentAtOnce));
    this.closings.gather(() => {
      for (const message of this.#waiting) {
        if (piece.isFull) break;
        this.damage.contain(() => this.#sendNext(message, piece));
      }
    });
    this.#goOn();
  }

  #sendNext(message: Message, piece: Piece): void {
    if (!this.#waiting.has(message)) return;
    const isLast = this.#remove(message);
    const { sender, event } = message;
    const run = this.kernel.runs.get(sender.runId);
    // It is set apart; the next start tries again.
    if (!run) return;
    const { commit, tables } = this.kernel;
    // What says that it is on its way may go with the next commit, so this is not kept back.
    commit.hurry();
    const { workflowId } = event.attributes;
    this.#hearing.add(workflowId);
    try {
      this.#deliver(event, run, piece);
      commit.write(() => tables.outbox.delete(sender.key, event.id), run);
    } finally {
      this.#hearing.delete(workflowId);
      if (isLast) this.lifecycle.goOn(run);
    }
  }

  #deliver(event: Outgoing, run: ActiveRun, piece: Piece): void {
    const { runs } = this.kernel;
    const { workflowId } = event.attributes;
    const wasThere = runs.latestInMemory(workflowId) !== undefined;
    switch (event.type) {
      case 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED':
        this.relations.signalExternal(run, event);
        break;
      case 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED':
        this.relations.cancelExternal(run, event);
        break;
      case 'START_CHILD_WORKFLOW_EXECUTION_INITIATED':
        this.#endChild(event, run);
        break;
    }
    piece.took(wasThere ? 0 : (runs.latestInMemory(workflowId)?.readingCost ?? 0));
  }

  /** Nobody else can have the id: a child that something is on its way to does not close before. */
  #endChild({ attributes }: EventOf<'START_CHILD_WORKFLOW_EXECUTION_INITIATED'>, run: ActiveRun): void {
    const child = this.kernel.runs.open(attributes.workflowId);
    if (!child) return;
    this.kernel.commit.together(run, child);
    this.lifecycle.endFromOutside(child, {
      type: 'WORKFLOW_EXECUTION_TERMINATED',
      attributes: { reason: 'the parent was reset' },
    });
  }

  #add(message: Message): void {
    this.#waiting.add(message);
    addTo(this.#byTarget, message.event.attributes.workflowId, message);
    addTo(this.#bySender, message.sender.runId, message);
  }

  /** Returns whether it was the last of its sender. */
  #remove(message: Message): boolean {
    this.#waiting.delete(message);
    removeFrom(this.#byTarget, message.event.attributes.workflowId, message);
    return removeFrom(this.#bySender, message.sender.runId, message);
  }

  #goOn(): void {
    if (this.#isGoingOn || this.#waiting.size === 0) return;
    this.#isGoingOn = true;
    this.piecemeal.goOn(() => {
      this.#isGoingOn = false;
      this.#sendSome();
    });
  }
}

const senderOf = ({ key, state: { runId, workflowId } }: ActiveRun): Sender => ({ key, runId, workflowId });

function addTo(map: Map<string, Set<Message>>, key: string, message: Message): void {
  const messages = map.get(key);
  if (messages) messages.add(message);
  else map.set(key, new Set([message]));
}

/** Returns whether nothing is left there. */
function removeFrom(map: Map<string, Set<Message>>, key: string, message: Message): boolean {
  const messages = map.get(key);
  messages?.delete(message);
  if (messages?.size !== 0) return false;
  return map.delete(key);
}

const isOutgoing = (event: HistoryEvent): event is Outgoing =>
  event.type === 'SIGNAL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED' ||
  event.type === 'REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION_INITIATED' ||
  event.type === 'START_CHILD_WORKFLOW_EXECUTION_INITIATED';
