#!/bin/sh
# Whether the socket of a node's network agent is there: cni-socket.sh SOCKET
# Exit codes as node-problem-detector reads them: 0 it is, 1 it is not, 2 nothing can be said.
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

if [ $# -ne 1 ]; then
  echo "usage: cni-socket.sh SOCKET"
  exit 2
fi
socket=${HOST_ROOT-/host}$1
mounted=$(dirname "$(dirname "$socket")")
# Without the mount every socket would seem to be missing, on every node at once.
if [ ! -x "$mounted" ]; then
  echo "$mounted cannot be looked into: is it mounted?"
  exit 2
fi
if [ -S "$socket" ]; then
  echo "socket $1 is there"
  exit 0
fi
if [ -e "$socket" ]; then
  echo "$1 is no socket"
else
  echo "socket $1 is missing"
fi
exit 1
