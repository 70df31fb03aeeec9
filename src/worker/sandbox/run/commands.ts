/**
 * The commands of one turn while it runs.
 *
 * 1. What is asked for and taken back within one turn leaves no trace.
 * 2. The command that closes the run is the last one; after it only outcomes of updates are added, before it.
 */
import type { CloseCommand, Command } from '../../../core/history/command.js';

export class TurnCommands {
  #commands: (Command | undefined)[] = [];
  #close: CloseCommand | undefined;
  /** Counts turns, so that an operation knows whether its command was sent already. */
  turn = 0;

  get closed(): boolean {
    return this.#close !== undefined;
  }

  add(command: Command): void {
    if (this.#close && command.kind !== 'completeUpdate' && command.kind !== 'rejectUpdate') return;
    this.#commands.push(command);
  }

  retract(command: Command): void {
    const at = this.#commands.indexOf(command);
    if (at >= 0) this.#commands[at] = undefined;
  }

  close(command: CloseCommand): void {
    this.#close ??= command;
  }

  begin(): void {
    this.turn++;
    this.#commands = [];
  }

  /** The commands of the turn that ends, in order. */
  end(): Command[] {
    const commands = this.#commands.filter((command) => command !== undefined);
    if (this.#close) commands.push(this.#close);
    return commands;
  }
}
