/**
 * What bundles have in place of the SDK's default credential chain (cdk/bundling.ts): Lambda gives
 * a function its credentials in the environment and nowhere else, and keeps them for as long as
 * the instance lives. The chain's other links (profiles, SSO, web identity, instance metadata) are
 * 100 KiB that could never answer.
 * https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
 */
export { fromEnv as defaultProvider } from '@aws-sdk/credential-provider-env';
