# Markdown tables from all lines of summary.jsonl (run with --slurp --raw-output). Only matrices that all ways of a table
# were run on count in it; means are geometric.

def geomean: if length == 0 then null else (map(log) | add / length | exp) end;
def digits($n): if . == null then ""
  else pow(10; $n) as $unit | (. * $unit + 0.5 | floor) as $all | ($all / $unit | floor | tostring) as $whole
    | if $n == 0 then $whole
      else $whole + "." + ($all % $unit | tostring | (("0" * ($n - length)) // "") + .) end
  end;
# Two or three significant digits.
def times: if . == null then "" elif . >= 100 then digits(0) elif . >= 10 then digits(1)
  elif . >= 0.1 then digits(2) else digits([9, 1 - (log10 | floor)] | min) end;
def percent: if . == null then "" else "\(. * 100 | digits(1)) %" end;
# A table from its rows, heads first, which are lists of cells: columns that are empty in all other rows are left out.
# Below a text; nothing where there are no other rows.
def line: "| " + (map(tostring) | join(" | ")) + " |";
def drawn($text): . as $rows | if length < 2 then empty else
  [range(.[0] | length) | select(. as $c | any($rows[1:][]; .[$c] != ""))] as $columns
  | map([.[$columns[]]]) | $text, (.[0] | line), ("|" + ("---|" * ($columns | length))), (.[1:][] | line) end;
def having($names): map(select(.ways as $w | $names | all(. as $n | $w[$n] != null)));
def speedups($way): map(.ways[$way].speedup);
def ratio($a; $b): map(.ways[$a].speedup / .ways[$b].speedup);
def by_problem: group_by(.problem);
def named: .[0].problem + (if .[0].model == "learned" then "" else " (closed-form model)" end);
# Of one matrix: time of N calls of fixed_csr over that of finding the plan, packing and N calls of it.
def all_in($way; $calls): .csr_ns * $calls / (.ways[$way] | .tune_ns + .pack_ns + $calls * .kernel_ns);
def once_tuned($way; $calls): .csr_ns * $calls / (.ways[$way] | .pack_ns + $calls * .kernel_ns);
def calls: [1, 10, 100, 10000];
def efforts: ["none", "quick", "normal", "full"];

# Speedup of the plan of --effort normal over another way's, and on how many matrices it is not behind by 2 %.
def against($way): having(["normal", $way]) | if length == 0 then "" else
  ratio("normal"; $way) | "\(geomean | times) (\(map(select(. > 0.98)) | length) of \(length))" end;

def ways_rows:
  ["problem", "matrices", "over `fixed_csr`", "least", "over format only", "over schedule only",
   "over the closed-form model"],
  (by_problem[] | having(["normal"]) | select(length > 0) | [named, length, (speedups("normal") | geomean | times),
    (speedups("normal") | min | times), against("format"), against("schedule"), against("closed")]);

# Of the efforts, those that were run on any of these matrices.
def efforts_run: . as $all | efforts | map(select(. as $e | $all | any(.ways[$e] != null)));
# For each effort of $of that was run what `mean` gives, whose input is [matrices, effort]; else nothing.
def of_efforts($of; mean): . as $all | efforts_run as $run
  | $of | map(. as $e | if any($run[]; . == $e) then [$all, $e] | mean else "" end);

def efforts_rows:
  ["problem", "matrices"] + (efforts | map("`\(.)`")) + ["`none` of `full`", "`quick` of `full`", "`normal` of `full`"],
  (by_problem[] | having(efforts_run) | select(length > 0 and efforts_run != [])
    | [named, length] + of_efforts(efforts; .[1] as $e | .[0] | speedups($e) | geomean | times)
      + (if any(efforts_run[]; . == "full")
         then of_efforts(efforts[:3]; .[1] as $e | .[0] | ratio($e; "full") | geomean | percent) else ["", "", ""] end));

# What a plan costs before its first call, in calls of fixed_csr.
def costs_rows:
  ["problem", "matrices", "packing"] + (efforts | map("`\(.)`")),
  (by_problem[] | having(efforts_run) | select(length > 0 and efforts_run != [])
    | [named, length, (map(select(.ways.normal.pack_ns > 0) | .ways.normal.pack_ns / .csr_ns) | geomean | times)]
      + of_efforts(efforts; .[1] as $e | .[0] | map((.ways[$e] | .tune_ns + .pack_ns) / .csr_ns) | geomean | times));

def calls_rows:
  ["problem", "calls"] + (efforts | map("`\(.)`")) + ["`--calls N`", "its plan, once tuned", "kept CSR"],
  (by_problem[] | having(efforts + (calls | map("calls-\(.)"))) | select(length > 0) | . as $all
    | calls[] | . as $n | "calls-\(.)" as $chosen
    | [($all | named), $n] + (efforts | map(. as $e | $all | map(all_in($e; $n)) | geomean | times))
      + ($all | [(map(all_in($chosen; $n)) | geomean | times), (map(once_tuned($chosen; $n)) | geomean | times),
                 "\(map(select(.ways[$chosen].is_baseline)) | length) of \(length)"]));

# Of one problem.
def matrices_rows:
  ["matrix", "nonzeros", "format only", "schedule only", "both", "both, closed-form model", "`none`", "`quick`", "`full`"],
  (sort_by(.nnz)[] | [.matrix, .nnz]
    + (.ways as $w | ["format", "schedule", "normal", "closed", "none", "quick", "full"]
       | map($w[.].speedup | times)));

def summary:
  ([ways_rows] | drawn("Tables 4 and 5 of the paper: both together (learned model, `--effort normal`) over one half alone and over "
    + "`fixed_csr`, geometric\nmeans; in brackets on how many matrices it is not more than 2 % behind.\n")),
  ([efforts_rows] | drawn("\nOver `fixed_csr` by effort:\n"));

def details:
  ([costs_rows] | drawn("\nTuning and packing, in calls of `fixed_csr`:\n")),
  ([calls_rows] | drawn("\nN calls of `fixed_csr` over tuning, packing and N calls of the plan. `--calls N` is what the verdict "
    + "chose, its own time\nincluded; \"once tuned\" leaves out the time of tuning:\n")),
  "\nTable 1 of the paper, speedups over `fixed_csr` of each matrix:",
  (by_problem[] | "\n\(named):", ([matrices_rows] | drawn("")));

summary, if $with_details then details else empty end
