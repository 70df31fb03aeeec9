/**
 * What a registration says after workers have come or gone. Pure.
 *
 * 1. A catalog is the union of what its members have; while there are none, what the last ones had.
 * 2. Where several have a workflow of one name, that of the newest code counts: of the version that was first seen last.
 */
import type { RegisteredWorkflow } from '../../core/catalog.js';
import type { RegisteredVersion, Registration } from '../cluster/conventions.js';

/** A group of worker processes that are started and stopped together. */
export interface Member {
  pool: string;
  version: RegisteredVersion;
  workflows: RegisteredWorkflow[];
}

/** Versions whose age is remembered. */
const MAX_VERSIONS = 50;

const NOTHING: Registration = { workflows: [], resultFormat: 'current' };

/** With the member, and without members whose version nobody polls for any more. */
export function joined(
  before: Registration | undefined,
  { pool, version, workflows }: Member,
  isPolledFor: (versionId: string) => boolean,
): Registration {
  const { members = [], versions = [], ...rest } = before ?? NOTHING;
  const others = members.filter((member) => member.pool !== pool && isPolledFor(member.version));
  const present = new Set(others.map((member) => member.version));
  const kept = allOf(rest).filter(({ version: of }) => of && of.id !== version.id && present.has(of.id));
  const { id, name } = version;
  const own = workflows.map((workflow) => ({ ...workflow, version: { id, name } }));
  const known = versions.some((each) => each.id === id)
    ? versions.map((each) => (each.id === id ? version : each))
    : [...versions, version].slice(-MAX_VERSIONS);
  return united([...kept, ...own], known, [...others, { pool, version: id }]);
}

/** Without the member, unless it is the last. */
export function left(before: Registration, pool: string): Registration {
  const { members = [], versions = [], ...rest } = before;
  const others = members.filter((member) => member.pool !== pool);
  if (others.length === members.length) return before;
  if (others.length === 0) return { ...before, members: [] };
  const present = new Set(others.map((member) => member.version));
  const kept = allOf(rest).filter(({ version }) => version && present.has(version.id));
  return united(kept, versions, others);
}

export const isMember = ({ members = [] }: Registration, pool: string): boolean =>
  members.some((member) => member.pool === pool);

const allOf = ({ workflows, hidden = [] }: Pick<Registration, 'workflows' | 'hidden'>) => [
  ...workflows,
  ...hidden,
];

function united(
  all: readonly RegisteredWorkflow[],
  versions: RegisteredVersion[],
  members: NonNullable<Registration['members']>,
): Registration {
  const age = (id: string | undefined) => versions.findIndex((version) => version.id === id);
  const newestFirst = [...all].sort((a, b) => age(b.version?.id) - age(a.version?.id));
  const byName = new Map<string, RegisteredWorkflow>();
  const hidden: RegisteredWorkflow[] = [];
  for (const workflow of newestFirst) {
    const { name } = workflow.entry;
    if (byName.has(name)) hidden.push(workflow);
    else byName.set(name, workflow);
  }
  const present = new Set(members.map((member) => member.version));
  const newest = versions.filter(({ id }) => present.has(id)).at(-1);
  return {
    workflows: [...byName.values()],
    hidden,
    versions,
    members,
    resultFormat: newest?.resultFormat ?? 'current',
    ...(newest?.traces && { traces: newest.traces }),
  };
}
