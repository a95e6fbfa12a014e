#!/bin/sh
# Whether an agent of the node answers that it is well: agent-http.sh URL [HEADER]
# Any 2xx answer is well. The URL is http:// with an address of the node, a port and a path.
# Exit codes as node-problem-detector reads them: 0 well, 1 not, 2 nothing can be said.
# CHECK_SECONDS: how long the agent may take.
set -u
seconds=${CHECK_SECONDS:-3}

if [ $# -lt 1 ] || [ $# -gt 2 ]; then
  echo "usage: agent-http.sh URL [HEADER]"
  exit 2
fi
url=$1
header=${2-}
rest=${url#http://}
place=${rest%%/*}
host=${place%:*}
port=${place##*:}
path=/
case $rest in */*) path=/${rest#*/} ;; esac

usable=yes
[ "$rest" != "$url" ] || usable=no
case $port in '' | *[!0-9]*) usable=no ;; esac
# No names: whether one can be resolved says nothing about the agent.
case $host in '' | *[!0-9.]*) [ "$host" = localhost ] || usable=no ;; esac
if [ "$usable" = no ]; then
  echo "$url is not http://ADDRESS:PORT/PATH"
  exit 2
fi

if command -v curl >/dev/null; then
  status=$(curl -q -s -o /dev/null -w '%{http_code}' --noproxy '*' --max-time "$seconds" \
    -H "${header:-Accept: */*}" "$url")
  code=$?
  # Refused, cut off, or not in time: that is the agent. Anything else is curl.
  case $code in 0 | 7 | 28 | 52 | 56) ;; *)
    echo "curl failed with code $code"
    exit 2
    ;;
  esac
elif command -v bash >/dev/null; then
  # The image of node-problem-detector has no curl.
  # shellcheck disable=SC2016 # bash expands it
  status=$(timeout "$seconds" bash -c '
    exec 3<>"/dev/tcp/$1/$2"
    {
      printf "GET %s HTTP/1.0\r\nHost: %s:%s\r\n" "$3" "$1" "$2"
      [ -z "$4" ] || printf "%s\r\n" "$4"
      printf "\r\n"
    } >&3
    read -r _ status _ <&3
    printf %s "$status"
  ' agent-http "$host" "$port" "$path" "$header" 2>/dev/null)
  # No bash, no timeout: nothing was asked.
  case $? in 126 | 127)
    echo "bash or timeout cannot be run"
    exit 2
    ;;
  esac
else
  echo "neither curl nor bash is there to ask with"
  exit 2
fi

case $status in
  2[0-9][0-9])
    echo "the agent answers $status"
    exit 0
    ;;
  [1345][0-9][0-9])
    echo "the agent answers $status"
    exit 1
    ;;
esac
echo "no answer from $url within $seconds s"
exit 1
