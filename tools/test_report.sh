# The book-keeping of brio-test: runs parts, times them, adds up their tests. Sourced.

reports=build/reports
declare -A seconds_of=([build]=0 [test]=0 [check]=0 [setup]=0)
passed=0 failed=0 skipped=0
summary=()

report_counts() {  # part, passed, failed, skipped: written by parts that make no JUnit file
  printf '%s %s %s\n' "$2" "$3" "${4:-0}" >"$reports/$1.counts"
}

# Attribute of the outermost <testsuite> of a JUnit file, as ctest and pytest write them. 0 when absent.
junit_attribute() {  # file, name
  local value
  value=$(tr '\n\t' '  ' <"$1" | grep -o '<testsuite [^>]*>' | head -1 | grep -o " $2=\"[0-9]*\"" | tr -dc 0-9)
  echo "${value:-0}"
}

read_counts() {  # part -> "passed failed skipped", nothing if the part left no counts
  local all bad skips
  if [ -f "$reports/$1.counts" ]; then cat "$reports/$1.counts"; return; fi
  [ -f "$reports/$1.xml" ] || return
  all=$(junit_attribute "$reports/$1.xml" tests)
  bad=$(($(junit_attribute "$reports/$1.xml" failures) + $(junit_attribute "$reports/$1.xml" errors)))
  skips=$(($(junit_attribute "$reports/$1.xml" skipped) + $(junit_attribute "$reports/$1.xml" disabled)))
  echo "$((all - bad - skips)) $bad $skips"
}

# part NAME KIND COMMAND...: KIND build or setup (no tests inside: only a failure counts), check
# (one test) or test (leaves counts).
part() {
  local name=$1 kind=$2 start=$SECONDS status=0 counts p=0 f=0 s=0 took; shift 2
  say "$name"
  rm -f "$reports/$name.xml" "$reports/$name.counts"
  "$@" || status=$?
  took=$((SECONDS - start))
  seconds_of[$kind]=$((seconds_of[$kind] + took))
  counts=$(read_counts "$name")
  [ -n "$counts" ] && read -r p f s <<<"$counts"
  [ "$kind" = check ] && [ $status -eq 0 ] && p=1
  [ $status -ne 0 ] && [ "$f" -eq 0 ] && f=1  # it broke without naming a test
  [ "$kind" = test ] && [ $((p + f)) -eq 0 ] && f=1  # a part that ran nothing proves nothing
  passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
  summary+=("$(printf '%-14s %5d passed %4d failed %4d skipped %8s' "$name" "$p" "$f" "$s" "$(clock $took)")")
}

clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

closing_report() {
  say "Summary"
  printf '%s\n' "${summary[@]}"
  printf 'build %s of 22:00, tests %s of 18:00 (2 cores)\n' "$(clock "${seconds_of[build]}")" \
    "$(clock $((seconds_of[test] + seconds_of[check])))"
  printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
}
