/** `perdure config`: what is in force, and where each value came from. */
import type { Command } from 'commander';
import { out } from '../colours.js';
import { settingsOf } from './connection.js';
import { printJson, table } from './screen.js';

export async function config(command: Command, json?: boolean): Promise<void> {
  const settings = await settingsOf(command);
  const shown = Object.entries(settings).map(([name, { value, source }]) => ({
    name,
    value: name === 'token' && value !== undefined ? masked(value) : (value ?? null),
    source,
  }));
  if (json)
    return printJson(Object.fromEntries(shown.map(({ name, value, source }) => [name, { value, source }])));
  const rows = shown.map(({ name, value, source }) => [name, value ?? out.dim('not set'), out.dim(source)]);
  process.stdout.write(`${table(['SETTING', 'VALUE', 'FROM'], rows)}\n`);
}

/** Enough to tell two apart, and not enough to use one. */
const masked = (token: string): string => (token.length < 16 ? '***' : `${token.slice(0, 3)}***`);
