import { workflow } from 'perdure';
import { refuse } from '../steps.js';

export default workflow({ name: 'fails', fn: async () => refuse() });
