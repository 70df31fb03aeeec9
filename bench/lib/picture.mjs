// The picture that README.md and docs/performance.md show: runs a second, side by side, of what was measured with `sync`.
import { barChart } from './chart.mjs';
import { number } from './table.mjs';

const SHOWN = [
  { cell: '3 steps, 128 connections', name: 'Three steps, 128 connections: runs a second' },
  { cell: '0 steps, 128 connections', name: 'No steps, 128 connections: runs a second' },
];
const IN_PICTURE = ['perdure', 'restate', 'dbos', 'temporal', 'openworkflow'];
const LABELS = {
  perdure: 'perdure',
  restate: 'Restate',
  dbos: 'DBOS, PostgreSQL',
  temporal: 'Temporal, dev server',
  openworkflow: 'OpenWorkflow, SQLite',
};

/** Undefined where there is nothing to show. */
export function pictureOf(sections) {
  const rows = sections.sync?.rows ?? [];
  const groups = SHOWN.map(({ cell, name }) => ({
    name,
    bars: IN_PICTURE.flatMap((system) => {
      const row = rows.find((candidate) => candidate.cell === cell && candidate.system === system);
      if (row === undefined) return [];
      return [
        {
          label: LABELS[system],
          value: row.perSecond,
          text: `${number(row.perSecond, row.perSecond < 100 ? 1 : 0)}/s`,
          isOurs: system === 'perdure',
        },
      ];
    }),
  })).filter(({ bars }) => bars.length > 0);
  if (groups.length === 0) return undefined;
  return barChart({
    title: 'Durable runs a second on one machine',
    subtitle: 'Started over HTTP and waited for; every step on disk before the next one begins',
    note: sections.sync.source,
    groups,
  });
}
