// How results read: tables for people, one file per run for later comparison.
import { mkdirSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

export const number = (value, digits = 0) =>
  value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });

export const ratio = (value) => (Number.isFinite(value) ? number(value, 2) : '–');

/** Prints rows under a head, with an empty line after every `group` rows. */
export function printTable(head, rows, group = rows.length) {
  const texts = rows.map((row) => row.map(String));
  const widths = head.map((title, column) =>
    Math.max(title.length, ...texts.map((row) => row[column].length)),
  );
  const line = (cells) => cells.map((cell, column) => cell.padStart(widths[column])).join('  ');
  console.log(`\n${line(head)}\n${widths.map((width) => '─'.repeat(width)).join('  ')}`);
  for (const [index, row] of texts.entries()) {
    console.log(line(row));
    if ((index + 1) % group === 0) console.log();
  }
}

/** Prints each expectation with what was seen, and answers whether all were met. */
export function printChecks(checks) {
  for (const { what, met } of checks) console.log(`${met ? '✔' : '✘'} ${what}`);
  return checks.every(({ met }) => met);
}

export function saveResults(results) {
  const now = new Date().toISOString();
  const file = fileURLToPath(new URL(`results/${now.replaceAll(':', '-')}.json`, import.meta.url));
  mkdirSync(fileURLToPath(new URL('results/', import.meta.url)), { recursive: true });
  const machine = {
    processors: cpus().length,
    processor: cpus()[0]?.model,
    memoryBytes: totalmem(),
    system: `${process.platform} ${release()} ${process.arch}`,
    node: process.version,
  };
  writeFileSync(file, `${JSON.stringify({ at: now, machine, ...results }, null, 2)}\n`);
  return file;
}
