/** The names by which ids are called that an engine makes up: who a run is, seen from the first one of its family. */
import { type RunView, siteIn } from './run-view.js';

export class Names {
  readonly #replacements: [string, string][] = [];
  readonly #who = new Map<string, string>();

  constructor(runs: readonly RunView[], catalog: string) {
    const callers = new Map([[runs[0]!.workflowId, 'main']]);
    const calls = new Map<number, number>();
    const links = new Map<string, number>();
    for (const run of runs) {
      for (const event of run.own) {
        if (event.type !== 'START_CHILD_WORKFLOW_EXECUTION_INITIATED') continue;
        if (callers.has(event.attributes.workflowId)) continue;
        // A statement calls several children when its workflow is tried again.
        const site = siteIn(event.attributes.input)!;
        const call = (calls.get(site) ?? 0) + 1;
        calls.set(site, call);
        callers.set(event.attributes.workflowId, `child of ${site}${call > 1 ? ` (${call}.)` : ''}`);
      }
    }
    for (const [workflowId, caller] of callers) this.#replacements.push([workflowId, `<${caller}>`]);
    for (const run of runs) {
      const caller = callers.get(run.workflowId)!;
      const link = (links.get(run.workflowId) ?? 0) + 1;
      links.set(run.workflowId, link);
      this.#replacements.push([run.runId, `<run ${link} of ${caller}>`]);
      this.#who.set(run.runId, `${caller}, run ${link}`);
    }
    // Ids that contain others come first.
    this.#replacements.sort(([one], [other]) => other.length - one.length);
    this.#replacements.push([`"catalog":"${catalog}"`, '"catalog":"<catalog>"']);
  }

  who(run: RunView): string {
    return this.#who.get(run.runId)!;
  }

  replaceIn<T>(value: T): T {
    let text = JSON.stringify(value);
    if (text === undefined) return value;
    for (const [id, name] of this.#replacements) text = text.replaceAll(id, name);
    return JSON.parse(text) as T;
  }
}
