/**
 * Named places at which the crash tests end the process (test/crash/points). In a released build they are empty: there
 * is no option, variable or file that could make anything of them. What happens at a place is put there by code that is
 * loaded into the process before this one, under a symbol of its own; whoever can load code into the process needs no
 * fault point to end it. It is looked up once, so that a place costs a call of an empty function.
 */
export type FaultPoint =
  | 'start'
  | 'signal'
  | 'updateAccepted'
  | 'updateCompleted'
  | 'stop'
  | 'terminate'
  | 'pause'
  | 'resume'
  | 'budget'
  | 'reset'
  | 'continueAsNew'
  | 'turnSent'
  | 'turnAnswered'
  | 'stepGoesOut'
  | 'stepIsOut'
  | 'stepCompleted'
  | 'timerDue'
  | 'childStart'
  | 'childClosed'
  | 'parentCloses'
  | 'external'
  | 'retention'
  | 'catalog'
  | 'commitWritten'
  | 'commitReturned'
  | 'drainWorkers'
  | 'drainLink'
  | 'drainServer'
  | 'drainTraces'
  | 'drainEngine'
  | 'workerTurn'
  | 'workerReplay'
  | 'workerStepDone';

type Happens = (name: FaultPoint) => void;

const hook = (globalThis as { [key: symbol]: Happens | undefined })[Symbol.for('perdure.faultPoint')];

/** The process may end here, in tests. */
export const faultPoint: Happens = hook ?? (() => {});
