# Reads what `cargo test` printed. Writes, separated by tabs:
#   count   PASSED  FAILED  IGNORED    all "test result:" lines added up; a test that printed "SKIPPED test NAME: why"
#                                      counts as ignored and not as passed
#   failed  SELECTION  NAME            one test that failed; SELECTION is the option of cargo that selects its program,
#                                      or "-" where its name alone cannot select it again
#   broken  PROGRAM                    a program that began and did not live to print its result
function close_program() {
  if (program != "") print "broken", program
  program = ""
}

BEGIN { OFS = "\t" }

/^ +(Running (unittests )?|Doc-tests )[^ ]+/ {
  close_program()
  program = $0
  sub(/^ +/, "", program)
  in_list = names = 0
  source = $2 == "unittests" ? $3 : $2
  selection = "-"
  if ($1 == "Running" && $2 == "unittests") {
    if (source ~ /^examples\//) selection = "--examples"
    else selection = source ~ /(^|\/)lib\.rs$/ ? "--lib" : "--bins"
  } else if ($1 == "Running" && source ~ /^tests\//) {
    split(source, part, "/")
    sub(/\.rs$/, "", part[2])
    selection = "--test " part[2]
  }
  next
}

# The names stand below the last of these headings; below an earlier one stands what the tests printed.
/^failures:$/ { in_list = 1; names = 0; next }

in_list && /^    [^ ]/ { name[++names] = substr($0, 5) }

/SKIPPED test [^ ]+: / { skipped++ }

/^test result: / {
  passed += $4; failed += $6; ignored += $8
  if ($6 > 0) {
    for (i = 1; i <= $6; i++) {
      if (names == $6 && program != "") print "failed", selection, name[i]
      else print "failed", "-", "a test of " (program == "" ? "this phase" : program)
    }
  }
  program = ""
  in_list = names = 0
}

END {
  close_program()
  print "count", passed - skipped, failed + 0, ignored + skipped
}
