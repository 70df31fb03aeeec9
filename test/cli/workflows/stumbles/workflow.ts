import { workflow } from 'perdure';
import { stumble } from '../steps.js';

/** Is tried again and again, until it is ended. */
export default workflow({ name: 'stumbles', fn: async () => stumble() });
