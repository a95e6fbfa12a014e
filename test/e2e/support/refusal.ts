import { ApiError } from '../harness/client.ts';

/** The refusal of a request; an error when it was granted. */
export async function refusalOf(request: Promise<unknown>): Promise<ApiError> {
  const outcome = await request.then(
    () => 'it was granted',
    (error: unknown) => error,
  );
  if (outcome instanceof ApiError) return outcome;
  throw new Error(`not refused by the API server: ${outcome}`);
}
