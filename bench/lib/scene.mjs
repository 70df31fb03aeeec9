// A perdure on a folder of its own, for scenarios that look at nothing else.
import { startPerdure, untilWorkflowsRun } from '../systems/perdure.mjs';
import {
  get,
  load,
  post,
  removeFolder,
  runningServers,
  stopServer,
  temporaryFolder,
  until,
} from './processes.mjs';

export class Scene {
  #server;
  #others = runningServers();

  constructor(name) {
    this.folder = temporaryFolder(name);
  }

  /** Starts the server on what is in the folder; answers how long it took to be ready and to serve a first run. */
  async start({ flags, readyMs } = {}) {
    const startedAt = performance.now();
    const started = await startPerdure({ folder: this.folder, flags, readyMs });
    const readyAfterMs = performance.now() - startedAt;
    this.#server = started.server;
    this.url = started.baseUrl;
    this.port = started.port;
    await untilWorkflowsRun(started);
    return { readyAfterMs, firstRunAfterMs: performance.now() - startedAt };
  }

  get server() {
    return this.#server;
  }

  async stop(signal) {
    if (this.#server === undefined) return undefined;
    const server = this.#server;
    this.#server = undefined;
    return stopServer(server, signal);
  }

  async end() {
    await this.stop();
    // One that did not come up is nobody's yet.
    for (const server of runningServers(this.#others)) await stopServer(server);
    removeFolder(this.folder);
  }

  get(path) {
    return get(`${this.url}${path}`);
  }

  post(path, body) {
    return post(`${this.url}${path}`, body);
  }

  until(what, attempt, timeoutMs) {
    return until(this.#server, what, attempt, timeoutMs);
  }

  /** Load on this server; an answer that is not right breaks the scenario off. */
  async load(options) {
    const measured = await load({ port: this.port, ...options });
    if (measured.wrongAnswers > 0 || measured.unanswered > 0) {
      throw new Error(
        `${measured.wrongAnswers} wrong answers and ${measured.unanswered} missing ones for ${options.path}, the first:\n${measured.firstWrongAnswer}`,
      );
    }
    return measured;
  }

  /** Runs `use` on a scene and leaves nothing of it behind. */
  static async play(name, use) {
    const scene = new Scene(name);
    try {
      return await use(scene);
    } finally {
      await scene.end();
    }
  }
}
