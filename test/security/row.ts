/** What the checklist says of one attack or fault. */
export type Shown = readonly [file: string, title: string];
export interface Row {
  attack: string;
  shown?: readonly Shown[];
  /** Why it does not apply, or what of it is not promised. */
  because?: string;
}
