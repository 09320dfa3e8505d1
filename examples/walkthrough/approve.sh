#!/usr/bin/env bash
# Signs in and allows a request as a person does with a browser, for scripts that have neither. It is a command for
# run.sh --browser-command, and needs curl.
#
#   SIGN_IN_USER=shin SIGN_IN_PASSWORD=… approve.sh URL
#
# URL is the address that "aws sso login", "aws configure sso" or "muster login" shows. The last page goes to standard
# output. CURL_CA_BUNDLE names the CA of a service with TLS.
set -euo pipefail

url=${1:?the address that the sign-in shows is missing}
: "${SIGN_IN_USER:?}" "${SIGN_IN_PASSWORD:?}"
service=$(grep -Eo '^https?://[^/]+' <<<"$url")
cookies=$(mktemp)
trap 'rm -f "$cookies"' EXIT
browse() { curl --silent --show-error --fail --location --max-time 30 --cookie "$cookies" --cookie-jar "$cookies" "$@"; }

browse --output /dev/null --data-urlencode "name=$SIGN_IN_USER" --data-urlencode "password=$SIGN_IN_PASSWORD" "$service/signin/in"
consent=$(browse "$url")

# The form's action is an attribute: its & and + are escaped.
action=$(sed -n 's/.*<form method="post" action="\(\/[^"]*\)".*/\1/p' <<<"$consent" | grep -v '^/signin/' | head -n 1 |
  sed 's/&amp;/\&/g; s/&#43;/+/g')
[ "$action" ] || { printf 'the page asks for no consent:\n%s\n' "$consent" >&2 && exit 1; }
browse --data-urlencode "user=$SIGN_IN_USER" --data decision=allow "$service$action"
