# One line of summary.jsonl: what each way of tuning found on one matrix, and what that is worth in the common contests.
# Input (run with --slurp): the contests' plan documents; $ways: [{way, plan, is_baseline, tune_ns, only_ranked}]; $model:
# "learned" or "closed-form". Times in nanoseconds; figures of several contests are geometric means; `speedup` is over
# fixed_csr in the same rounds, `tune_ns` goes from matrix and model in memory to a compiled kernel: a run that only ranked
# has not compiled its plan, which a contest did unless it was compiled ahead. $compiled: nanoseconds that each contest,
# these and those that were ended, took to compile a plan.
def geomean: map(log) | add / length | exp;
. as $contests
| (map(.baseline.median_ns) | geomean) as $csr_ns
| .[0]
| {
    problem: (.op + " " + .type + (if .op == "spmv" then "" elif .op == "sddmm" then " K=\(.rhs)" else " J=\(.rhs)" end)),
    model: $model,
    matrix: .matrix.name,
    nnz: .matrix.nnz,
    csr_ns: $csr_ns,
    ways: ($ways | map({key: .way, value: (
      {plan, is_baseline, tune_ns} +
      if .is_baseline then {speedup: 1, pack_ns: 0, kernel_ns: $csr_ns}
      else . as $way
        | [$contests[] | first(.candidates[] | select(.plan == $way.plan)) // {status: "missing"}] as $timed
        | if all($timed[]; .status == "ok") then ($timed | map(.speedup) | geomean) as $speedup
            | {$speedup, pack_ns: ($timed | map(.pack_ns) | geomean), kernel_ns: ($csr_ns / $speedup),
               tune_ns: (.tune_ns + if .only_ranked then ([$compiled[][$way.plan] // 0] | max) else 0 end)}
          else error("\(.way): the plan is \($timed | map(.status) | join(", ")) in the contests: \(.plan)") end
      end)}) | from_entries)
  }
