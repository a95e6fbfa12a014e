import { checkSchedules } from './check.ts';

checkSchedules(0);
