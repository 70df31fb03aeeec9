/**
 * What the loader hands to the sandbox: the workflow side of a folder as CommonJS texts.
 *
 * A workflow's own files and the packages they use (`LibraryBundle`) are evaluated anew for every run, so module state
 * belongs to one run; files that provably have none are evaluated once. Steps are references here, never their code.
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
  /** The body of a CommonJS module whose exports map each specifier to a function that evaluates it to its namespace. */
  code: string;
}

/**
 * Whether all runs may share one evaluation. Code that names the global object could keep state there, which the
 * loader does not look for.
 */
export const isShareable = (bundle: WorkflowBundle): boolean =>
  bundle.stateless && !/\bglobalThis\b/.test(bundle.code);
