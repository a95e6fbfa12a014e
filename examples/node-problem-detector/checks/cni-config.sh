#!/bin/sh
# Whether a node has the configuration of a network plugin: cni-config.sh DIRECTORY [FILE]
# Without FILE any will do that the container runtime would read. The agent writes it when it can
# give addresses to pods.
# Exit codes as node-problem-detector reads them: 0 it has, 1 it has not, 2 nothing can be said.
# HOST_ROOT: where directories of the node are mounted. CHECK_SECONDS: how long it may take.
set -u
seconds=${CHECK_SECONDS:-3}

# A stuck file system must not keep the detector waiting.
if [ "${CHECK_IS_TIMED:-}" != yes ]; then
  CHECK_IS_TIMED=yes timeout "$seconds" sh "$0" "$@"
  code=$?
  [ "$code" -eq 124 ] && echo "the check did not end within $seconds s"
  [ "$code" -le 1 ] || code=2
  exit "$code"
fi

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  echo "usage: cni-config.sh DIRECTORY [FILE]"
  exit 2
fi
folder=${HOST_ROOT-/host}$1
mounted=$(dirname "$folder")
# Without the mount the file would seem to be missing, on every node at once.
if [ ! -x "$mounted" ]; then
  echo "$mounted cannot be looked into: is it mounted?"
  exit 2
fi

# Every network plugin has a type. A file that was cut off in writing has none, or is empty.
has_plugin() {
  [ -f "$1" ] && grep -q '"type"' "$1"
}

if [ $# -eq 2 ]; then
  if has_plugin "$folder/$2"; then
    echo "$1/$2 is there"
    exit 0
  fi
  echo "$1/$2 is missing or names no plugin"
  exit 1
fi
for file in "$folder"/*.conflist "$folder"/*.conf "$folder"/*.json; do
  if has_plugin "$file"; then
    echo "$1/$(basename "$file") is there"
    exit 0
  fi
done
echo "no file in $1 names a plugin"
exit 1
