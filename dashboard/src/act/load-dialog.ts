/** With the forms and their validator, which few who look at a run need. */
export const loadMessageDialog = () => import('./MessageDialog.js');
