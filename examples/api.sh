#!/bin/sh
# The API by curl: put a property, change it without overwriting anybody, see how far it is.
#   CRM_API=https://crm.example.com/api/v1 CRM_TOKEN=crm_… sh examples/api.sh MH-2002
set -eu
reference=${1:?the reference of a property, percent-encoded}

# The token comes from a file descriptor: in the arguments every user of the machine could read it.
call() {
    method=$1 path=$2
    shift 2
    curl --silent --show-error --fail-with-body --max-time 30 --request "$method" \
        --config - --header "Content-Type: application/json" "$@" "$CRM_API$path" <<CONFIG
header = "Authorization: Bearer $CRM_TOKEN"
CONFIG
}

headers=$(mktemp)
trap 'rm -f "$headers"' EXIT

echo "put:"
call PUT "/properties/$reference" --dump-header "$headers" \
    --data '{"title": "House with a garden", "propertyType": "HOUSE"}'
echo

# Only at the revision that we have seen; somebody else's edit in between answers 412.
etag=$(sed -n 's/^[Ee][Tt]ag: *\("[0-9]*"\).*/\1/p' "$headers")
echo "patch at $etag:"
call PATCH "/properties/$reference" --header "If-Match: $etag" --data '{"title": "House with a big garden"}'
echo

echo "history:"
call GET "/properties/$reference/history"
echo
