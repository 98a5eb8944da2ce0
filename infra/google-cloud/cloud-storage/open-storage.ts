import { EventEmitter } from 'node:events';
import { Storage, type StorageOptions } from '@google-cloud/storage';
import { RETRY_OPTIONS } from '#infra/google-cloud/cloud-storage/retries.ts';

/** For each download the library adds 11 listeners to one stream; Node warns about a leak at more than 10. */
const LISTENERS_COUNT_MAX = 20;

/** Cloud Storage's client, without that warning. It reads STORAGE_EMULATOR_HOST from the environment itself. */
export function openStorage(options: StorageOptions): Storage {
  EventEmitter.defaultMaxListeners = Math.max(EventEmitter.defaultMaxListeners, LISTENERS_COUNT_MAX);
  return new Storage({ ...options, retryOptions: { ...RETRY_OPTIONS, ...options.retryOptions } });
}
