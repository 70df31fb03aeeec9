/** The addresses of the page. The first view comes with the page, the others right after it. */
import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  redirect,
} from '@tanstack/react-router';
import { loadMessageDialog } from '../act/load-dialog.js';
import { catalogSearch } from '../catalog/search.js';
import { compareSearch } from '../compare/search.js';
import { Broken } from '../frame/Broken.js';
import { Frame } from '../frame/Frame.js';
import { NotFound } from '../frame/NotFound.js';
import { runSearch } from '../run/search.js';
import { RunsPage } from '../runs/RunsPage.js';
import { runsSearch } from '../runs/search.js';
import { startSearch } from '../start/search.js';
import { pagePath } from './api.js';
import { idOfPageParam, pageParam } from './ids.js';

const root = createRootRoute({ component: Frame, notFoundComponent: NotFound, errorComponent: Broken });
const at = <const Path extends string>(path: Path) => ({ getParentRoute: () => root, path });

const laters: (() => unknown)[] = [];

/** A view that is no part of what is loaded first. */
const later = ((load: () => Promise<Record<string, never>>, name: string) => {
  const component = lazyRouteComponent(load, name);
  laters.push(() => component.preload?.());
  return component;
}) as typeof lazyRouteComponent;

/** So that every view can be opened, also while the server is away. */
export function loadLaterViews(): void {
  for (const load of laters) load();
  // What cannot be had now is asked for when it is opened.
  loadMessageDialog().catch(() => undefined);
}

const index = createRoute({
  ...at('/'),
  beforeLoad: () => {
    throw redirect({ to: '/runs', replace: true });
  },
});

export const runsRoute = createRoute({ ...at('/runs'), validateSearch: runsSearch, component: RunsPage });

const latestRun = createRoute({
  ...at('/runs/$workflowId'),
  params: {
    parse: ({ workflowId }) => ({ workflowId: idOfPageParam(workflowId) }),
    stringify: ({ workflowId }) => ({ workflowId: pageParam(workflowId) }),
  },
  validateSearch: runSearch,
  component: later(() => import('../run/LatestRun.js'), 'LatestRun'),
});

export const runRoute = createRoute({
  ...at('/runs/$workflowId/$runId'),
  params: {
    parse: ({ workflowId, runId }) => ({ workflowId: idOfPageParam(workflowId), runId }),
    stringify: ({ workflowId, runId }) => ({ workflowId: pageParam(workflowId), runId }),
  },
  validateSearch: runSearch,
  component: later(() => import('../run/RunPage.js'), 'RunPage'),
});

const start = createRoute({
  ...at('/start'),
  validateSearch: startSearch,
  component: later(() => import('../start/StartPage.js'), 'StartPage'),
});

const catalog = createRoute({
  ...at('/catalog'),
  validateSearch: catalogSearch,
  component: later(() => import('../catalog/CatalogPage.js'), 'CatalogPage'),
});

const workers = createRoute({
  ...at('/workers'),
  component: later(() => import('../workers/WorkersPage.js'), 'WorkersPage'),
});

const compare = createRoute({
  ...at('/compare'),
  validateSearch: compareSearch,
  component: later(() => import('../compare/ComparePage.js'), 'ComparePage'),
});

function addressOf(search: Record<string, unknown>): string {
  const known = Object.entries(search).filter(([, value]) => value !== undefined);
  const text = new URLSearchParams(known.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}

export const router = createRouter({
  routeTree: root.addChildren([index, runsRoute, latestRun, runRoute, start, catalog, workers, compare]),
  basepath: pagePath,
  // As plain texts, for people to read and write; the router's own way puts numbers in quotation marks.
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: addressOf,
  // Back is where one was, and a link begins at the top.
  scrollRestoration: true,
  scrollToTopSelectors: ['.view'],
  defaultPreload: 'intent',
  defaultPendingMs: 300,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
