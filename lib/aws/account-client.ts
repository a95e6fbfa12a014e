import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { GetCallerIdentityCommand, STSClient } from '@aws-sdk/client-sts';
import { NodegapError } from '../errors.ts';

export interface AccountClientOptions {
  region?: string;
  functionName: string;
}

/** Asks a function of the account's stack, under the caller's own IAM identity. */
export class AccountClient {
  readonly #lambda: LambdaClient;
  readonly #sts: STSClient;
  readonly #functionName: string;

  constructor(
    options: AccountClientOptions,
    clients: { lambda?: LambdaClient; sts?: STSClient } = {},
  ) {
    const config = options.region === undefined ? {} : { region: options.region };
    this.#lambda = clients.lambda ?? new LambdaClient(config);
    this.#sts = clients.sts ?? new STSClient(config);
    this.#functionName = options.functionName;
  }

  /** The ARN of whoever the credentials belong to. */
  async identity(): Promise<string> {
    const identity = await this.#sts.send(new GetCallerIdentityCommand({}));
    return identity.Arn ?? 'unknown';
  }

  /**
   * Sends one request and returns the answer.
   * @throws NodegapError `AnswerFunctionFailed` with what the function said.
   */
  async ask(request: Record<string, unknown>): Promise<Record<string, unknown>> {
    const response = await this.#lambda.send(
      new InvokeCommand({
        FunctionName: this.#functionName,
        Payload: Buffer.from(JSON.stringify(request)),
      }),
    );
    const payload = JSON.parse(Buffer.from(response.Payload ?? []).toString() || 'null');
    if (response.FunctionError !== undefined || payload === null) {
      throw new NodegapError(
        'AnswerFunctionFailed',
        `${this.#functionName}: ${String(payload?.errorMessage ?? response.FunctionError ?? 'no answer')}`,
      );
    }
    return payload;
  }
}
