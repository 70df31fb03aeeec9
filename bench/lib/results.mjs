// What a run of the benchmark leaves: one file of everything for later comparison, the tables in Markdown and the picture.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pictureOf } from './picture.mjs';
import { markdownTable, number } from './table.mjs';

const FOLDER = fileURLToPath(new URL('../results/', import.meta.url));

export function machine() {
  return {
    processors: cpus().length,
    processor: cpus()[0]?.model,
    memoryBytes: totalmem(),
    system: `${process.platform} ${process.arch}`,
    kernel: release(),
    node: process.version,
  };
}

export const machineText = ({ processors, processor, memoryBytes, system, node }) =>
  `${processors} × ${processor}, ${number(memoryBytes / 2 ** 30)} GB, ${system}, Node ${node}`;

/** A section as Markdown: its tables, what was noticed, and when and where it was measured. */
export function sectionMarkdown(section) {
  const tables = section.tables.map(({ caption, ...table }) =>
    [...(caption ? [`${caption}:`, ''] : []), markdownTable(table)].join('\n'),
  );
  const notes = (section.notes ?? []).map((note) => `- ${note}`).join('\n');
  return [...tables, ...(notes ? [notes] : []), `_${section.source}_`].join('\n\n');
}

/** Answers the paths of what it wrote. */
export function saveResults(sections, { systems, isForShowing, folder = FOLDER }) {
  const at = new Date().toISOString();
  const name = at.replaceAll(':', '-');
  mkdirSync(folder, { recursive: true });
  const path = (extension) => join(folder, `${name}.${extension}`);
  const described = systems.map(({ name, what, durability, versions }) => ({
    name,
    what,
    durability,
    versions: versions?.(),
  }));
  const results = { at, machine: machine(), isForShowing, systems: described, sections };
  const markdown = Object.values(sections).map(
    (section) => `## ${section.title}\n\n${section.tables ? sectionMarkdown(section) : 'It broke off.'}\n`,
  );
  const picture = pictureOf(sections);
  const files = [
    [path('json'), `${JSON.stringify(results, null, 2)}\n`],
    [path('md'), `# Results of ${at}\n\n${machineText(results.machine)}\n\n${markdown.join('\n')}`],
    ...(picture === undefined ? [] : [[path('svg'), picture]]),
  ];
  for (const [file, text] of files) writeFileSync(file, text);
  return files.map(([file]) => file);
}

export const readResults = (file) => JSON.parse(readFileSync(file, 'utf8'));
