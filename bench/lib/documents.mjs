// Puts measured sections into docs/performance.md, and the picture beside it. What is shown is kept in published.json, so
// that the page can always be made again from it; a section that was not measured this time stays as it was.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { pictureOf } from './picture.mjs';
import { machineText, sectionMarkdown } from './results.mjs';

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
export const FILES = {
  published: at('../published.json'),
  page: at('../../docs/performance.md'),
  picture: at('../../docs/performance.svg'),
};

/** The page with the parts between `<!-- bench:NAME -->` and `<!-- /bench:NAME -->` made from the sections of that name. */
export function fillPage(page, sections) {
  return page.replace(
    /(<!-- bench:([\w-]+) -->\n)[\s\S]*?(<!-- \/bench:\2 -->)/g,
    (whole, open, name, close) =>
      sections[name] === undefined ? whole : `${open}\n${sectionMarkdown(sections[name])}\n\n${close}`,
  );
}

/** What of a section is worth keeping: without the samples, and with where it comes from. */
export function publishable(section, { at: time, machine }) {
  const { title, tables, rows, notes } = section;
  const source = section.source ?? `${time.slice(0, 10)}: ${machineText(machine)}`;
  return { title, source, tables, ...(rows && { rows }), ...(notes?.length && { notes }) };
}

export class NotForShowing extends Error {
  constructor() {
    super(
      'These are results of a quick run, of another size or of some of the systems: they are not for showing',
    );
  }
}

/** Answers the names of the sections that are now in the documents. */
export function writeDocuments(results, files = FILES) {
  if (!results.isForShowing) throw new NotForShowing();
  const published = JSON.parse(readFileSync(files.published, 'utf8'));
  const written = [];
  for (const [name, section] of Object.entries(results.sections)) {
    // A section that broke off, or in which something was wrong, is not for showing.
    if (section.tables === undefined || section.isUnsound) continue;
    published[name] = publishable(section, results);
    written.push(name);
  }
  writeFileSync(files.published, `${JSON.stringify(published, null, 2)}\n`);
  renderDocuments(files);
  return written;
}

/** Makes page and picture anew from what is published. */
export function renderDocuments(files = FILES) {
  const published = JSON.parse(readFileSync(files.published, 'utf8'));
  writeFileSync(files.page, fillPage(readFileSync(files.page, 'utf8'), published));
  const picture = pictureOf(published);
  if (picture !== undefined) writeFileSync(files.picture, picture);
}
