import { accessSync, constants, existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** A Go module of which the harness needs one or more programs. */
export interface Tool {
  name: ToolName;
  /** The module whose version names the cache folder. */
  module: string;
  /** Program name to main package. */
  programs: Partial<Record<Program, string>>;
  /** Folders and files of the module that are copied to `assets/`, relative to the module. */
  assets: string[];
  /** `-X` linker settings that stamp the version into the programs. */
  stamp: (version: string) => Record<string, string>;
  /** Build tags, for a smaller program. */
  tags?: string[];
}

export type ToolName = 'etcd' | 'kubernetes' | 'kwok' | 'karpenter' | 'promtool';

export type Program =
  | 'etcd'
  | 'kube-apiserver'
  | 'kube-controller-manager'
  | 'kube-scheduler'
  | 'kubectl'
  | 'kwok'
  | 'karpenter'
  | 'promtool';

/** Everything the harness runs. The versions are in the go.mod of `test/e2e/tools/NAME/`. */
export const TOOLS: readonly Tool[] = [
  {
    name: 'etcd',
    module: 'go.etcd.io/etcd/server/v3',
    programs: { etcd: 'go.etcd.io/etcd/server/v3' },
    assets: [],
    stamp: () => ({}),
  },
  {
    name: 'kubernetes',
    module: 'k8s.io/kubernetes',
    programs: {
      'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
      'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
      'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
      kubectl: 'k8s.io/kubernetes/cmd/kubectl',
    },
    assets: [],
    // Without these the API server reports v0.0.0, which clients take for too old.
    stamp: (version) => {
      const [, major = '', minor = ''] = /^v(\d+)\.(\d+)\./.exec(version) ?? [];
      return {
        'k8s.io/component-base/version.gitVersion': version,
        'k8s.io/component-base/version.gitMajor': major,
        'k8s.io/component-base/version.gitMinor': minor,
      };
    },
  },
  {
    name: 'kwok',
    module: 'sigs.k8s.io/kwok',
    programs: { kwok: 'sigs.k8s.io/kwok/cmd/kwok' },
    assets: [
      'kustomize/stage/node/fast/node-initialize.yaml',
      'kustomize/stage/node/heartbeat-with-lease/node-heartbeat-with-lease.yaml',
      'kustomize/stage/pod/fast/pod-ready.yaml',
      'kustomize/stage/pod/fast/pod-complete.yaml',
      'kustomize/stage/pod/fast/pod-delete.yaml',
    ],
    stamp: () => ({}),
  },
  {
    name: 'karpenter',
    module: 'sigs.k8s.io/karpenter',
    programs: { karpenter: 'sigs.k8s.io/karpenter/kwok' },
    assets: [
      'pkg/apis/crds/karpenter.sh_nodepools.yaml',
      'pkg/apis/crds/karpenter.sh_nodeclaims.yaml',
      'pkg/apis/crds/karpenter.sh_nodeoverlays.yaml',
      'pkg/apis/crds/autoscaling.x-k8s.io_capacitybuffers.yaml',
      'kwok/apis/crds/karpenter.kwok.sh_kwoknodeclasses.yaml',
    ],
    stamp: (version) => ({ 'sigs.k8s.io/karpenter/pkg/operator.Version': version }),
  },
  {
    name: 'promtool',
    module: 'github.com/prometheus/prometheus',
    programs: { promtool: 'github.com/prometheus/prometheus/cmd/promtool' },
    assets: [],
    stamp: (version) => ({ 'github.com/prometheus/common/version.Version': version }),
    // Rules need no service discovery, which is most of it.
    tags: ['remove_all_sd'],
  },
];

const TOOLS_FOLDER = join(import.meta.dirname, '..', 'tools');

/**
 * The folder of a tool's go.mod. `NODEGAP_KUBERNETES` chooses another Kubernetes than the newest:
 * with `older`, that of `tools/kubernetes-older`.
 */
export function toolFolder(name: ToolName, env: NodeJS.ProcessEnv = process.env): string {
  const choice = env.NODEGAP_KUBERNETES;
  if (name !== 'kubernetes' || !choice) return join(TOOLS_FOLDER, name);
  const folder = join(TOOLS_FOLDER, `kubernetes-${choice}`);
  if (existsSync(join(folder, 'go.mod'))) return folder;
  const choices = readdirSync(TOOLS_FOLDER)
    .filter((entry) => entry.startsWith('kubernetes-'))
    .map((entry) => entry.slice('kubernetes-'.length));
  throw new Error(
    `NODEGAP_KUBERNETES=${choice} is none of ${choices.join(', ')}: choose one, or unset it for the newest`,
  );
}

/** The version of `module` that this go.mod text requires. */
export function requiredVersion(goMod: string, module: string): string {
  const line = goMod
    .split('\n')
    .map((text) => text.trim().replace(/^require /, ''))
    .find((text) => text.startsWith(`${module} v`));
  const version = line?.split(' ')[1];
  if (version === undefined) throw new Error(`go.mod does not require ${module}`);
  return version;
}

/** The version of a tool, from its go.mod: the one place where it is written. */
export function toolVersion(tool: Tool, env: NodeJS.ProcessEnv = process.env): string {
  const goMod = readFileSync(join(toolFolder(tool.name, env), 'go.mod'), 'utf8');
  return requiredVersion(goMod, tool.module);
}

/** Where built tools are kept: outside the work tree, so that they outlive a clean checkout. */
export function cacheRoot(env: NodeJS.ProcessEnv): string {
  const base =
    env.NODEGAP_CACHE ?? join(env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'nodegap');
  return join(base, 'tools');
}

/** The cache folder of a tool at its present version. It exists only when the build is whole. */
export function toolCache(tool: Tool, env: NodeJS.ProcessEnv = process.env): string {
  return join(cacheRoot(env), `${tool.name}-${toolVersion(tool, env)}`);
}

/**
 * The program in the user's envtest folder (`KUBEBUILDER_ASSETS`), if there is such a folder.
 * A folder without a program that can be run is an error: to use another one without a word would
 * test something else than what the user asked for.
 */
export function userProvided(
  program: Program,
  env: NodeJS.ProcessEnv = process.env,
): string | undefined {
  const overridable = program === 'etcd' || program === 'kube-apiserver';
  const folder = env.KUBEBUILDER_ASSETS;
  if (!overridable || !folder) return undefined;
  const path = join(folder, program);
  const trouble = troubleWith(path);
  if (trouble === undefined) return path;
  throw new Error(
    `KUBEBUILDER_ASSETS=${folder}: ${program} ${trouble}; put one there, or unset the variable to use the one that is built`,
  );
}

function troubleWith(path: string): string | undefined {
  if (!existsSync(path)) return 'is not there';
  if (!statSync(path).isFile()) return 'is no file';
  try {
    accessSync(path, constants.X_OK);
  } catch {
    return 'may not be executed';
  }
  return undefined;
}

/** The path of a program: the user's own, or the built one (which `buildTools` puts there). */
export function programPath(program: Program, env: NodeJS.ProcessEnv = process.env): string {
  return userProvided(program, env) ?? join(toolCache(toolOf(program), env), program);
}

/** The path of a file which a tool's module brings along, by its base name. */
export function assetPath(
  name: ToolName,
  file: string,
  env: NodeJS.ProcessEnv = process.env,
): string {
  const tool = TOOLS.find((candidate) => candidate.name === name);
  if (tool === undefined) throw new Error(`no tool is named ${name}`);
  return join(toolCache(tool, env), 'assets', file);
}

function toolOf(program: Program): Tool {
  const tool = TOOLS.find((candidate) => candidate.programs[program] !== undefined);
  if (tool === undefined) throw new Error(`no tool brings ${program}`);
  return tool;
}
