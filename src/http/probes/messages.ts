/** What the main thread and the thread of the probes tell each other. */

export interface ProbeThreadData {
  host: string;
  port: number;
}

/** To the main thread. It is asked only when somebody probes, so that a server that nobody probes is not woken. */
export type ToMain =
  | { kind: 'listening'; url: string }
  | { kind: 'failed'; error: { code?: string; message: string } }
  | { kind: 'ask' };

/** `alive` says that it turns, and is sent at once; whether it is ready may take longer to find out. */
export type FromMain = { kind: 'alive' } | { kind: 'readiness'; whyNot?: string } | { kind: 'close' };
