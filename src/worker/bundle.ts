/**
 * What the loader hands to the sandbox: the workflow side of a folder as CommonJS texts.
 *
 * A workflow's own files are evaluated anew for every run, so module state belongs to one run; packages from
 * node_modules are evaluated once per worker (`LibraryBundle`). Steps are references here, never their code.
 */
export interface WorkflowBundle {
  workflowType: string;
  /** For stack traces, relative to the folder that was loaded. */
  filename: string;
  /** Export of the module that holds the definition: `default` or a name. */
  exportName: string;
  /**
   * The body of a CommonJS module: uses `exports`, `module` and `require`. What it requires is `perdure`,
   * `perdure/internal` (step references) or a package of the library bundle; nothing else.
   */
  code: string;
  /** No file of it keeps state at module level, so that all runs may share one evaluation. */
  stateless: boolean;
}

export interface LibraryBundle {
  /** The body of a CommonJS module whose exports map each specifier to its namespace. */
  code: string;
}

/**
 * Whether all runs may share one evaluation. Code that names the global object could keep state there, which the
 * loader does not look for.
 */
export const isShareable = (bundle: WorkflowBundle): boolean =>
  bundle.stateless && !/\bglobalThis\b/.test(bundle.code);
