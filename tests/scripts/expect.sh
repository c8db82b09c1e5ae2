# Sourced by the tests of scripts; writes the files out and err in the current folder.

# expect CODE TEXT COMMAND...: the command ends with this code, and stderr holds the text.
expect() {
  local wanted=$1 text=$2 code=0
  shift 2
  "$@" >out 2>err || code=$?
  if [ $code -ne "$wanted" ] || [[ $(cat err) != *"$text"* ]]; then
    echo "scripts: code $code, not $wanted, or no '$text': $*" >&2
    cat err >&2
    exit 1
  fi
}
