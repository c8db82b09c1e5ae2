# One line of summary.jsonl: what each way of tuning found on one matrix, and what that is worth in the common contest.
# Input: the contest's plan document; $ways: [{way, plan, is_baseline, tune_ns, only_ranked}]; $model: "learned" or "closed-form".
# Times in nanoseconds; `speedup` is over fixed_csr in the same rounds, `tune_ns` goes from matrix and model in memory to a
# compiled kernel: a run that only ranked has not compiled its plan, which the contest did unless it was compiled ahead.
# $compiled: nanoseconds that each contest, this one or one that was ended, took to compile a plan.
(.candidates | map({key: .plan, value: .}) | from_entries) as $timed
| .baseline.median_ns as $csr_ns
| {
    problem: (.op + " " + .type + (if .op == "spmv" then "" elif .op == "sddmm" then " K=\(.rhs)" else " J=\(.rhs)" end)),
    model: $model,
    matrix: .matrix.name,
    nnz: .matrix.nnz,
    csr_ns: $csr_ns,
    ways: ($ways | map({key: .way, value: (
      {plan, is_baseline, tune_ns} +
      if .is_baseline then {speedup: 1, pack_ns: 0, kernel_ns: $csr_ns}
      else $timed[.plan] as $c
        | if $c.status == "ok" then {speedup: $c.speedup, pack_ns: $c.pack_ns, kernel_ns: ($csr_ns / $c.speedup),
                                      tune_ns: (.tune_ns + if .only_ranked then ([$compiled[][$c.plan] // 0] | max) else 0 end)}
          else error("\(.way): the plan is \($c.status // "missing") in the contest: \(.plan)") end
      end)}) | from_entries)
  }
